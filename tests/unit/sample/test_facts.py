"""The sample agent's built-in knowledge is consistent, as it stands in its graph."""

from __future__ import annotations

from pathlib import Path

import pytest

from bioeval_tui.graphs.embedded import EmbeddedGraph, available
from bioeval_tui.sample.agent.service import run_sample_agent

pytestmark = pytest.mark.skipif(available() is not None, reason=str(available()))


async def test_every_fact_has_a_source_and_names_known_drugs_and_every_patient_is_synthetic(
    tmp_path: Path,
) -> None:
    graph = EmbeddedGraph(tmp_path / "graph.db")
    async with run_sample_agent(graph):
        drugs = await graph.query("MATCH (d:Drug) RETURN d.name AS name, d.source AS source")
        # A drug that only an interaction or a patient names would have no source.
        assert [name for name, source in drugs.rows if not source] == []
        pairs = await graph.query(
            "MATCH (a:Drug)-[i:INTERACTS_WITH]->(b:Drug) RETURN a.name AS a, b.name AS b, i.source"
            " AS source"
        )
        assert pairs.rows
        assert [row for row in pairs.rows if not row[2] or row[0] == row[1]] == []
        assert len({frozenset(row[:2]) for row in pairs.rows}) == len(pairs.rows), (
            "each is listed once"
        )
        variants = await graph.query("MATCH (v:Variant) RETURN v.name AS name, v.source AS source")
        assert variants.rows
        assert [name for name, source in variants.rows if not source] == []
        patients = await graph.query(
            "MATCH (p:Patient) RETURN p.id AS id, p.synthetic AS synthetic"
        )
        assert patients.rows
        assert [
            name
            for name, synthetic in patients.rows
            if not synthetic or not name.startswith("SYN-")
        ] == []
    await graph.aclose()

"""Assertion expressions and Cypher."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path

from hypothesis import strategies as st

from bioeval_tui.base.errors import QueryError
from bioeval_tui.protocols import AssertionView, PeerError
from tests.fuzz.kinds.base import ROOT, Kind
from tests.fuzz.mutate import bytes_of, tokens_of
from tests.fuzz.watch import Watch


def _text(case: bytes) -> str:
    try:
        return case.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return case.decode("utf-8", "replace")


class Expressions(Kind):
    """An expression is parsed and asked of a state, as after a turn."""

    def __init__(self, folder: Path, watch: Watch) -> None:
        super().__init__(folder, watch)
        state = json.loads((ROOT / "tests/contract/expressions_state.json").read_text("utf-8"))
        self.view = AssertionView(state["objectContext"], state["evaluation"])
        lines = (ROOT / "tests/contract/expressions.txt").read_text("utf-8").splitlines()
        hostile = (ROOT / "tests/contract/expressions_hostile.txt").read_text("utf-8").splitlines()
        texts = [line.partition(" ⇒ ")[0] for line in [*lines, *hostile]]
        self.texts = [text.encode() for text in texts if text and not text.startswith("# ")]

    def cases(self) -> st.SearchStrategy[bytes]:
        tokens = tokens_of(
            "objectContext", "evaluation.transcript", ".any { ", "it", " }", "(", ")", "[", "]",
            "?.", "!!", "?:", "..", "->", "${",
            "$", '"', "'", "\\u0000", "if (", " else ", " in ", " && ", " to ", "listOf(", "mapOf(",
            ".map { it }", ".sumOf { it.size }",
            "Regex(", ".repeat(", "2147483647", "-9223372036854775808", "1e400", "0.0 / 0", "%",
            "- ", "!", "'\\u", ".fold(1) { a, b -> a * b }",
            ".flatMap { listOf(it, it) }", "RegexOption.IGNORE_CASE", ".format(", ".toInt()",
            ".windowed(", ".chunked(0)", "Int.MAX_VALUE",
        )  # fmt: skip
        small = st.lists(st.sampled_from(tokens), min_size=1, max_size=30).map(b" ".join)
        # Few broken ones can be answered, so some are left whole.
        return bytes_of(self.texts, tokens) | small | st.sampled_from(self.texts)

    def always(self) -> Sequence[bytes]:
        return [
            text * 3_000
            for text in (
                b"(",
                b"!",
                b"-",
                b"listOf(",
                b"{",
                b"[",
                b'"${',
                b"a.",
                b"it?.",
                b"1 + ",
                b"if (",
                b"\\",
            )
        ]

    def run(self, case: bytes) -> str:
        from bioeval_tui.evaluation.assertions import check_expression

        result = check_expression(_text(case), self.view)
        json.dumps(result.observed)
        return "refused" if result.error else "answered"

    def close(self) -> None:
        """Nothing was started."""


class Cypher(Kind):
    """A text is asked of an embedded graph as an assertion, and given to it as a setup would be."""

    def __init__(self, folder: Path, watch: Watch) -> None:
        super().__init__(folder, watch)
        from bioeval_tui.graphs.embedded import EmbeddedGraph
        from tests.unit.graphs import test_cypher as known

        self.loop = asyncio.new_event_loop()
        self.graph = EmbeddedGraph(folder / "graph.db")
        filled = (
            "UNWIND range(1, 50) AS i CREATE (:Drug {name: 'd' + i, i: i})-[:TARGETS {n:"
            " i}]->(:Gene {i: i})"
        )
        self.loop.run_until_complete(self.graph.execute(filled))
        self.digest = self._digest()
        asked = [*known.READING, *known.RIGHTLY_ANSWERED]
        asked += [
            query[0] if isinstance(query, tuple) else query
            for query in (*known.WRITING, *known.REFUSED, *known.SILENTLY_WRONG)
        ]
        self.texts = [query.encode() for query in asked]
        self.count = 0

    def _digest(self) -> str:
        return self.loop.run_until_complete(self.graph.snapshot()).digest

    def cases(self) -> st.SearchStrategy[bytes]:
        tokens = tokens_of(
            "MATCH (n)", " RETURN ", "n", "DETACH DELETE n", " SET n.x = 1", "CREATE (n)",
            "MERGE (n:X)", " WITH ", " WHERE ", "UNWIND range(1, 9) AS i ",
            "CALL { ", " }", "LOAD CSV FROM 'file:///etc/passwd' AS l", "UNION ", "(", ")", "[",
            "]", "{", "}", "$p", "`", "'", '"', "/*", "*/", "//", ";",
            "count(*)", "collect(n)", "-[*1..3]->", "-[r:TARGETS]->", "=~ '.*'",
            "CASE WHEN 1 THEN 2 END", "exists((n)--())", "toString(", "1/0",
            "range(1, 1000000000)", "datetime()", "shortestPath(", "\\u0027",
            "reduce(a = 0, x IN [1] | a + x)", "[x IN n | x]", "CALL db.labels()", "id(n)",
        )  # fmt: skip
        small = st.lists(st.sampled_from(tokens), min_size=1, max_size=20).map(b" ".join)
        return bytes_of(self.texts, tokens) | small

    def always(self) -> Sequence[bytes]:
        return [
            b"RETURN " + text * 3_000 + b"1"
            for text in (
                b"(",
                b"[",
                b"{",
                b"NOT ",
                b"-",
                b"1 + ",
                b"'",
                b"/*",
                b"a.",
                b"CASE WHEN ",
            )
        ]

    def run(self, case: bytes) -> str:
        from bioeval_tui.graphs import cypher

        text = _text(case)
        column = 0
        try:
            cypher.check_setup(text)
        except QueryError as error:
            column = error.column
        assert 0 <= column <= len(text) + 1
        try:
            rows = self.loop.run_until_complete(self.graph.query(text, {"p": 1}, timeout_s=0.5))
        except QueryError:
            outcome = "refused"
        except PeerError as error:
            outcome = "stopped" if "longer than" in str(error) else f"graph: {str(error)[:80]}"
        else:
            json.dumps(rows.rows)
            outcome = "answered"
        self.count += 1
        if self.count % 20 == 0:
            assert self._digest() == self.digest, "a query changed the graph"
        return outcome

    def close(self) -> None:
        assert self._digest() == self.digest, "a query changed the graph"
        self.loop.run_until_complete(self.graph.aclose())
        self.loop.close()

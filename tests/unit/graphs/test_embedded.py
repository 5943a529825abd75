"""The embedded graph's file: opening, sharing between processes, and errors."""

from __future__ import annotations

import asyncio
import importlib.util
import stat
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bioeval_tui.base.errors import QueryError
from bioeval_tui.graphs import embedded
from bioeval_tui.graphs.embedded import Allowance, EmbeddedFile, EmbeddedGraph, available
from bioeval_tui.protocols import PeerError

pytestmark = pytest.mark.skipif(available() is not None, reason=str(available()))

WRITER = """
import asyncio, sys
from pathlib import Path
from bioeval_tui.graphs.embedded import EmbeddedGraph

async def main():
    graph = EmbeddedGraph(Path(sys.argv[1]))
    for i in range(25):
        await graph.execute("CREATE (:Written {by: $by, i: $i})", {"by": sys.argv[2], "i": i})
    await graph.aclose()

asyncio.run(main())
"""


@pytest.fixture
async def graph(tmp_path: Path) -> AsyncIterator[EmbeddedGraph]:
    graph = EmbeddedGraph(tmp_path / "graph.db")
    yield graph
    await graph.aclose()


async def test_a_graph_is_opened_at_the_first_query(graph: EmbeddedGraph) -> None:
    assert not graph.path.exists()
    await graph.query("RETURN 1 AS one")
    assert graph.path.exists()


@pytest.mark.skipif(sys.platform == "win32", reason="file modes are POSIX")
async def test_graph_files_are_private_to_their_owner(tmp_path: Path) -> None:
    graph = EmbeddedGraph(tmp_path / "new" / "graph.db")
    await graph.execute("CREATE (:Drug)")
    modes = {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "new").iterdir()}
    await graph.aclose()
    assert modes == {0o600}
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o700


async def test_data_is_there_after_reopening(tmp_path: Path) -> None:
    first = EmbeddedGraph(tmp_path / "graph.db")
    await first.execute("CREATE (:Drug {name: 'warfarin'})")
    await first.aclose()
    second = EmbeddedGraph(tmp_path / "graph.db")
    assert (await second.query("MATCH (d:Drug) RETURN d.name AS n")).rows == (("warfarin",),)
    await second.aclose()


@pytest.mark.long
async def test_processes_that_create_the_same_graph_at_once_lose_nothing(
    graph: EmbeddedGraph,
) -> None:
    writers = [
        await asyncio.create_subprocess_exec(sys.executable, "-c", WRITER, str(graph.path), name)
        for name in ("agent", "engine", "other")
    ]
    assert [await writer.wait() for writer in writers] == [0, 0, 0]
    rows = await graph.query(
        "MATCH (w:Written) RETURN w.by AS writer, count(*) AS n ORDER BY writer"
    )
    assert rows.rows == (("agent", 25), ("engine", 25), ("other", 25))


async def test_a_graph_sees_what_another_wrote_with_new_labels(graph: EmbeddedGraph) -> None:
    await graph.execute("CREATE (:Drug {name: 'x'})")
    assert (await graph.query("MATCH (d:Drug) RETURN d.dose AS d")).rows == ((None,),)
    other = EmbeddedGraph(graph.path)
    await other.execute("MATCH (d:Drug) SET d.dose = 5")
    await other.aclose()
    assert (await graph.query("MATCH (d:Drug) RETURN d.dose AS d")).rows == ((5,),)


async def test_a_graph_that_another_process_has_locked_is_busy(tmp_path: Path) -> None:
    import apsw

    graph = EmbeddedGraph(tmp_path / "graph.db", busy_timeout_s=0.05)
    await graph.execute("CREATE (:Drug)")
    holder = apsw.Connection(str(graph.path))
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(PeerError, match="locked by another process") as raised:
        await graph.execute("CREATE (:Drug)")
    holder.execute("ROLLBACK")
    holder.close()
    assert raised.value.retryable
    await graph.execute("CREATE (:Drug)")
    await graph.aclose()


async def test_a_file_that_is_not_a_graph_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("just some notes, not a database at all\n" * 100)
    graph = EmbeddedGraph(path)
    with pytest.raises(PeerError, match="is not a graph file"):
        await graph.query("RETURN 1 AS one")
    await graph.aclose()
    assert path.read_text().startswith("just some notes")


async def test_an_unusable_path_is_one_sentence(tmp_path: Path) -> None:
    graph = EmbeddedGraph(tmp_path)
    with pytest.raises(PeerError, match="cannot be opened"):
        await graph.query("RETURN 1 AS one")
    await graph.aclose()


async def test_a_result_that_is_too_large_is_refused(graph: EmbeddedGraph) -> None:
    with pytest.raises(QueryError, match="5,000,000 bytes"):
        await graph.query("RETURN reduce(s = 'x', i IN range(1, 40) | s + s) AS s")
    assert (await graph.query("RETURN 1 AS one")).rows == ((1,),)


async def test_a_syntax_error_has_its_column_in_the_text(graph: EmbeddedGraph) -> None:
    with pytest.raises(QueryError) as raised:
        await graph.query("MATCH (n)\nWHERE n.a = RETURN n")
    assert raised.value.column == len("MATCH (n)\nWHERE n.a = ") + 1


async def test_a_parameter_that_json_cannot_hold_is_refused(graph: EmbeddedGraph) -> None:
    with pytest.raises(QueryError, match="parameter"):
        await graph.query("RETURN $x AS x", {"x": float("nan")})


async def test_sqlite_stops_a_write_that_passed_the_checks(
    graph: EmbeddedGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    for check in ("check_read_only", "check_embedded"):
        monkeypatch.setattr(f"bioeval_tui.graphs.embedded.{check}", lambda *_: None)
    await graph.execute("CREATE (:Drug {name: 'x'})")
    with pytest.raises(QueryError):
        await graph.query("MATCH (d:Drug) DETACH DELETE d")
    with pytest.raises(QueryError):
        await graph.query("MATCH (d:Drug) SET d.name = 'y'")
    assert (await graph.query("MATCH (d:Drug) RETURN d.name AS n")).rows == (("x",),)


class Until(Allowance):
    """Time that is over at the nth look, so that a statement is stopped at the same place each
    time.
    """

    def __init__(self, looks: int) -> None:
        super().__init__(60)
        self.left = looks

    def is_over(self) -> bool:
        self.left -= 1
        return self.left < 0


def test_an_interrupted_write_leaves_nothing_behind(tmp_path: Path) -> None:
    """An interrupt that meets an INSERT ends the transaction, and the extension goes on
    inserting.
    """
    file = EmbeddedFile(tmp_path / "graph.db", busy_timeout_s=1)
    for looks in range(2, 62):
        with pytest.raises(PeerError, match="60 s"):
            file.write("UNWIND range(1, 5000) AS i CREATE (:Half {i: i})", None, Until(looks))
        count = file.read("MATCH (n:Half) RETURN count(n) AS n", None, Allowance(60))
        assert count.rows == ((0,),), f"stopped at look {looks}"
    file.write("CREATE (:Half {i: 0})", None, Allowance(60))
    assert file.read("MATCH (n:Half) RETURN count(n) AS n", None, Allowance(60)).rows == ((1,),)
    file.close()


async def test_a_snapshot_of_many_nodes_reads_every_page(graph: EmbeddedGraph) -> None:
    await graph.execute("UNWIND range(1, 5000) AS i CREATE (:N {i: i})")
    before = await graph.snapshot()
    await graph.execute("MATCH (n:N {i: 4999}) SET n.i = -1")
    assert before.labels == {"N": 5000}
    assert (await graph.snapshot()).digest != before.digest


def test_where_no_wheel_exists_the_error_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(
        embedded.importlib.util,
        "find_spec",
        lambda name: None if name == "graphqlite" else find(name),
    )
    assert "needs graphqlite: install with `" in str(available())


def test_a_library_version_that_loses_types_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded.importlib.metadata, "version", lambda _: "3.54.1.0")
    assert "3.54.1" in str(available())


async def test_without_its_library_the_graph_is_unavailable(
    graph: EmbeddedGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedded, "available", lambda: "no wheel here")
    with pytest.raises(PeerError, match="no wheel here"):
        await graph.query("RETURN 1 AS one")

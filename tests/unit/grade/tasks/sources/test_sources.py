"""Data sources, with a local server and stand-ins for their clients; without these, one sentence of
advice.
"""

from __future__ import annotations

import io
import json
import sys
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from bioeval_tui.base.errors import ExitCode, InputError
from bioeval_tui.grade.tasks import downloads
from bioeval_tui.grade.tasks.downloads import (
    POLARIS_PYTHON,
    Addresses,
    KaggleSource,
    PolarisSource,
    ProteinGymSource,
    competition,
    read_board,
)
from bioeval_tui.grade.tasks.source_types import get_source
from bioeval_tui.grade.tasks.sources import BoardRow, SourceError


class Server:
    """A web server on this machine: `answers` maps a path to the (status, body) pairs that it gives
    in turn.
    """

    def __init__(self) -> None:
        self.answers: dict[str, list[tuple[int, bytes]]] = {}
        self.asked: list[str] = []
        self.redirects: dict[str, str] = {}
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.asked.append(self.path)
                if self.path in outer.redirects:
                    self.send_response(302)
                    self.send_header("Location", outer.redirects[self.path])
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                    return
                queue = outer.answers.get(self.path, [(404, b"")])
                status, body = queue.pop(0) if len(queue) > 1 else queue[0]
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *arguments: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.01}
        )
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setattr(downloads, "BACKOFF_S", 0.0)
    running = Server()
    yield running
    running.close()


def zipped(**files: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, text in files.items():
            archive.writestr(name.replace("__", "/") + ".csv", text)
    return buffer.getvalue()


def raw_folder(tmp_path: Path, task: str = "BLAT_ECOLX") -> Path:
    raw = tmp_path / "proteingym-dms" / task / "raw"
    raw.mkdir(parents=True)
    return raw


# ProteinGym


def gym(server: Server) -> ProteinGymSource:
    server.answers.setdefault(
        "/tables/DMS_substitutions.csv", [(200, b"DMS_id,target_seq\nA,MKV\n")]
    )
    return ProteinGymSource(
        Addresses(f"{server.url}/archives", f"{server.url}/tables", f"{server.url}/boards")
    )


SINGLES = "/archives/cv_folds_singles_substitutions.zip"
MULTIPLES = "/archives/cv_folds_multiples_substitutions.zip"
BOARD = "/boards/substitutions/Spearman/DMS_substitutions_Spearman_DMS_level.csv"


def test_the_archive_is_downloaded_once_for_all_assays(server: Server, tmp_path: Path) -> None:
    server.answers[SINGLES] = [
        (200, zipped(folds__BLAT_ECOLX="mutant\nA1C\n", folds__GFP="mutant\nM1K\n"))
    ]
    first, second = raw_folder(tmp_path), raw_folder(tmp_path, "GFP")
    gym(server).download({"benchmark_id": "BLAT_ECOLX"}, first)
    gym(server).download({"benchmark_id": "GFP"}, second)
    assert (first / "BLAT_ECOLX.csv").read_text() == "mutant\nA1C\n"
    assert (second / "GFP.csv").read_text() == "mutant\nM1K\n"
    assert server.asked == ["/tables/DMS_substitutions.csv", SINGLES]
    # Published preparers read the table of assays two folders above raw.
    assert (first.parent.parent / "DMS_substitutions.csv").is_file()


def test_a_download_is_redirected_through_the_proxy_for_the_next_host(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "all_proxy", "no_proxy", "NO_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    server.redirects["/first"] = "http://data.example.org/second"
    server.redirects["http://data.example.org/second"] = f"{server.url}/third"
    server.answers["/third"] = [(200, b"here")]
    monkeypatch.setenv("HTTP_PROXY", server.url)
    assert downloads.fetch_text(f"{server.url}/first", "by hand") == "here"
    assert server.asked == ["/first", "http://data.example.org/second", "/third"]
    monkeypatch.setenv("HTTP_PROXY", "socks5://ann:word@127.0.0.1:1")
    said = (
        r"data\.example\.org cannot be called through the proxy socks5://127\.0\.0\.1:1 of"
        r" HTTP_PROXY, .*; by hand"
    )
    with pytest.raises(SourceError, match=said):
        downloads.fetch_text(f"{server.url}/first", "by hand")


def test_multiple_mutants_and_indels_have_their_own_archives(
    server: Server, tmp_path: Path
) -> None:
    server.answers[SINGLES] = [(200, zipped(A="x"))]
    server.answers[MULTIPLES] = [(200, zipped(B="pair"))]
    server.answers["/archives/cv_folds_indels.zip"] = [(200, zipped(C_indels="gap"))]
    server.answers["/tables/DMS_indels.csv"] = [(200, b"DMS_id\n")]
    for assay, text in (("B", "pair"), ("C_indels", "gap")):
        raw = raw_folder(tmp_path, assay)
        gym(server).download({"benchmark_id": assay}, raw)
        assert (raw / f"{assay}.csv").read_text() == text


def test_files_downloaded_by_hand_need_no_network(tmp_path: Path) -> None:
    raw = raw_folder(tmp_path)
    shared = tmp_path / "proteingym-dms"
    (shared / "DMS_substitutions.csv").write_text("DMS_id\n")
    (shared / "cv_folds_singles_substitutions.zip").write_bytes(zipped(BLAT_ECOLX="mutant\n"))
    nowhere = "http://127.0.0.1:9"
    ProteinGymSource(Addresses(nowhere, nowhere, nowhere)).download(
        {"benchmark_id": "BLAT_ECOLX"}, raw
    )
    assert (raw / "BLAT_ECOLX.csv").exists()


def test_an_unknown_assay_is_an_error_in_the_config(server: Server, tmp_path: Path) -> None:
    server.answers[SINGLES] = server.answers[MULTIPLES] = [(200, zipped(A="x"))]
    server.answers[BOARD] = [(200, b",m1\nA,0.5\n")]
    with pytest.raises(InputError, match=r"have no assay B, which data_source\.benchmark_id names"):
        gym(server).download({"benchmark_id": "B"}, raw_folder(tmp_path))
    with pytest.raises(InputError, match=r"leaderboard has no assay B"):
        gym(server).leaderboard({"benchmark_id": "B"})


def test_the_leaderboard_is_one_line_of_the_table_best_first(server: Server) -> None:
    server.answers[BOARD] = [(200, b"DMS_id,low,none,high\nA,0.25,,0.75\nB,1,1,1\n")]
    board = gym(server).leaderboard({"benchmark_id": "A"})
    assert board == [BoardRow("high", 0.75, "2024-01-01"), BoardRow("low", 0.25, "2024-01-01")]


@pytest.mark.parametrize("statuses", [(503, 429), (408, 500), (425, 504), (502,)])
def test_a_busy_server_is_retried(server: Server, statuses: tuple[int, ...]) -> None:
    server.answers[BOARD] = [*((status, b"") for status in statuses), (200, b",m\nA,0.5\n")]
    assert gym(server).leaderboard({"benchmark_id": "A"})[0].score == 0.5
    assert len(server.asked) == len(statuses) + 1


@pytest.mark.parametrize("status", [404, 403, 503])
def test_a_refused_download_says_where_to_put_the_file(
    server: Server, tmp_path: Path, status: int
) -> None:
    server.answers[SINGLES] = [(status, b"")]
    raw = raw_folder(tmp_path)
    with pytest.raises(
        SourceError, match=rf"answered {status} .*; put the file at .*singles_substitutions\.zip"
    ) as caught:
        gym(server).download({"benchmark_id": "A"}, raw)
    assert caught.value.exit_code == ExitCode.NOT_MEASURED
    assert not list((tmp_path / "proteingym-dms").glob("*.zip*")), "no half of an archive stays"


def test_a_download_without_network_says_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(downloads, "BACKOFF_S", 0.0)
    nowhere = "http://127.0.0.1:9"
    source = ProteinGymSource(Addresses(nowhere, nowhere, nowhere))
    with pytest.raises(
        SourceError, match=r"127\.0\.0\.1:9 cannot be reached \(.*\); put the file at"
    ):
        source.download({"benchmark_id": "A"}, raw_folder(tmp_path))


def test_a_damaged_archive_is_named(server: Server, tmp_path: Path) -> None:
    server.answers[SINGLES] = [(200, b"not a zip")]
    with pytest.raises(
        SourceError,
        match=(
            r"singles_substitutions\.zip: the zip file is damaged or incomplete \(.*\); delete it"
        ),
    ):
        gym(server).download({"benchmark_id": "A"}, raw_folder(tmp_path))


# Kaggle


class FakeKaggle:
    """The part of Kaggle's client that is used, of version 2.2."""

    def __init__(self) -> None:
        self.error: BaseException | None = None
        self.board = (
            "Rank,TeamId,TeamName,LastSubmissionDate,Score\n"
            "1,7,\u202eone,2020-01-01,0.9\n"
            "2,8,two,2020-01-02,0.8\n"
        )

    def authenticate(self) -> None:
        print("talking on stdout")

    def _raise(self) -> None:
        if self.error is not None:
            raise self.error

    def competition_download_files(self, competition: str, path: str, quiet: bool = True) -> None:
        self._raise()
        Path(path, f"{competition}.zip").write_bytes(zipped(train="id\n"))

    def competition_leaderboard_download(
        self, competition: str, path: str, quiet: bool = True
    ) -> None:
        self._raise()
        Path(path, f"{competition}.zip").write_bytes(
            zipped(**{f"{competition}-publicleaderboard": self.board})
        )


@pytest.fixture
def kaggle(monkeypatch: pytest.MonkeyPatch) -> FakeKaggle:
    module = ModuleType("kaggle")
    module.api = FakeKaggle()  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "kaggle", module)
    client: FakeKaggle = module.api
    return client


CONFIG = {"type": "kaggle", "benchmark_id": "kaggle/stanford-covid-vaccine"}


def test_kaggle_gives_one_archive_and_keeps_stdout_clean(
    kaggle: FakeKaggle, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    archive = KaggleSource().download(CONFIG, tmp_path)
    assert archive == tmp_path / "stanford-covid-vaccine.zip"
    assert capsys.readouterr().out == ""


def test_kaggles_whole_leaderboard_is_read(kaggle: FakeKaggle) -> None:
    board = KaggleSource().leaderboard(CONFIG)
    assert [(row.score, row.submission_date) for row in board] == [
        (0.9, "2020-01-01"),
        (0.8, "2020-01-02"),
    ]
    assert "\u202e" not in board[0].team_name


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (
            RuntimeError("You must accept this competition's rules"),
            r"accept the rules on https://www\.kaggle\.com/c/",
        ),
        (SimpleNamespace, r"accept the rules"),
        (
            OSError("timed out"),
            r"the request to Kaggle for stanford-covid-vaccine failed: OSError: timed out; or put",
        ),
        (SystemExit(1), r"the request to Kaggle"),
    ],
)
def test_a_refusal_by_kaggle_is_one_sentence(
    kaggle: FakeKaggle, tmp_path: Path, error: Any, expected: str
) -> None:
    if error is SimpleNamespace:
        error = RuntimeError("Forbidden")
        error.response = SimpleNamespace(status_code=403)
    kaggle.error = error
    with pytest.raises(SourceError, match=expected):
        KaggleSource().download(CONFIG, tmp_path)


def test_without_the_kaggle_client_the_error_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "kaggle", None)
    with pytest.raises(
        SourceError,
        match=r"client is not installed: `.*kaggle.*`, or put stanford-covid-vaccine\.zip",
    ):
        KaggleSource().download(CONFIG, tmp_path)


def test_without_kaggle_credentials_the_error_says_where_to_get_them(
    kaggle: FakeKaggle, monkeypatch: pytest.MonkeyPatch
) -> None:
    def leave() -> None:
        raise SystemExit(1)

    monkeypatch.setattr(kaggle, "authenticate", leave)
    with pytest.raises(SourceError, match=r"needs an access token: create one on"):
        KaggleSource().leaderboard(CONFIG)


@pytest.mark.parametrize("slug", ["..", "../..", "a b", "", "x?y=z"])
def test_a_competition_id_that_is_not_a_plain_name_is_refused(slug: str) -> None:
    with pytest.raises(InputError, match=r"^data_source\.competition_id"):
        competition({"competition_id": slug})


# Polaris

CLIENT = """
class Part:
    def __init__(self, text): self.text = text
    def as_dataframe(self): return self
    def to_csv(self, path, index): path.write_text(self.text)

class Benchmark:
    target_cols = ["Y"]
    def get_train_test_split(self): return Part("smiles,Y\\nC,1\\n"), None
    def _get_test_sets(self, hide_targets): return {"test": Part("smiles,Y\\nCC,2\\n")}

def load_benchmark(name):
    if name != "tdcommons/caco2-wang":
        raise ValueError("no such benchmark: " + name)
    return Benchmark()
"""


@pytest.fixture
def polaris(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "client"
    folder.mkdir()
    (folder / "polaris.py").write_text(CLIENT)
    monkeypatch.setenv("PYTHONPATH", str(folder))
    monkeypatch.setenv(POLARIS_PYTHON, sys.executable)


def test_polaris_data_is_read_by_a_separate_interpreter(polaris: None, tmp_path: Path) -> None:
    assert PolarisSource().download({"benchmark_id": "tdcommons/caco2-wang"}, tmp_path) is None
    assert (tmp_path / "polaris_train_data.csv").read_text() == "smiles,Y\nC,1\n"
    assert (tmp_path / "polaris_test_data.csv").read_text() == "smiles,Y\nCC,2\n"
    assert json.loads((tmp_path / "polaris_benchmark.json").read_text()) == {"target_cols": ["Y"]}


def test_a_refusal_by_polaris_is_one_sentence(polaris: None, tmp_path: Path) -> None:
    expected = (
        r"^Polaris did not return a/b: ValueError: no such benchmark: a/b; sign in .*or put"
        r" polaris_train_data\.csv"
    )
    with pytest.raises(SourceError, match=expected) as caught:
        PolarisSource().download({"benchmark_id": "a/b"}, tmp_path)
    assert "\n" not in str(caught.value)


def test_without_polaris_the_error_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv(POLARIS_PYTHON, raising=False)
    with pytest.raises(
        SourceError, match=r"install polaris-lib==0\.13\.0 .* BIOEVAL_POLARIS_PYTHON .*or put"
    ):
        PolarisSource().download({"benchmark_id": "a/b"}, tmp_path)


def test_an_empty_package_is_not_taken_for_polaris(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv(POLARIS_PYTHON, raising=False)
    monkeypatch.setitem(sys.modules, "polaris", ModuleType("polaris"))
    with pytest.raises(SourceError, match=r"install polaris-lib"):
        PolarisSource().download({"benchmark_id": "a/b"}, tmp_path)


def test_a_missing_interpreter_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(POLARIS_PYTHON, str(tmp_path / "python"))
    with pytest.raises(SourceError, match=r"^BIOEVAL_POLARIS_PYTHON cannot be used"):
        PolarisSource().download({"benchmark_id": "a/b"}, tmp_path)


PAGE = """
<table><tr><th>Key</th><th>Value</th></tr><tr><td>a</td><td>b</td></tr></table>
<table data-slot="table">
<thead><tr><th>#</th><th>Name</th><th>Contributors</th><th>mean_absolute_error</th></tr></thead>
<tbody>
<tr><td>1</td><td><p>best <b>model</b></p></td><td>x</td>
<td><div>0.276 &plusmn; 0.01</div></td></tr>
<tr><td>2</td><td>next</td><td>y</td><td>0.3</td></tr>
<tr><td>3</td><td>broken</td><td>y</td><td>–</td></tr>
</tbody></table>
"""


def test_the_leaderboard_is_read_from_the_page(server: Server) -> None:
    server.answers["/benchmarks/tdcommons/caco2-wang"] = [(200, PAGE.encode())]
    board = PolarisSource(server.url).leaderboard({"benchmark_id": "tdcommons/caco2-wang"})
    assert board == [BoardRow("best model", 0.276), BoardRow("next", 0.3)]


def test_a_page_without_a_leaderboard_says_what_to_do(server: Server) -> None:
    server.answers["/benchmarks/a/b"] = [(200, b"<html>sign in</html>")]
    with pytest.raises(SourceError, match=r"has no readable leaderboard; put leaderboard\.csv"):
        PolarisSource(server.url).leaderboard({"benchmark_id": "a/b"})


def test_unexpected_pages_give_no_leaderboard() -> None:
    for page in (
        "",
        "<table>",
        "<td>1</td>",
        "<table><tr><th>Name</th></tr><tr><td>x</td></tr></table>",
    ):
        assert read_board(page) == []


# Those without downloads


@pytest.mark.parametrize("kind", ["builtin", "manual"])
def test_built_in_and_manual_sources_download_nothing(kind: str, tmp_path: Path) -> None:
    source = get_source({"type": kind})
    assert source.download({}, tmp_path) is None
    assert source.leaderboard({}) == []


def test_a_task_without_a_source_is_manual(tmp_path: Path) -> None:
    assert get_source(None).download({}, tmp_path) is None

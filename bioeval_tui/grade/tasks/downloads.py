"""The sources that download the data of tasks: Kaggle, Polaris and ProteinGym.

Kaggle's competitions come through its own client (the extra `kaggle`), and so do the benchmarks of
Polaris (https://polarishub.io): polaris-lib 0.13 wants older releases of pyarrow and zarr than this
program, so the two cannot share an environment, and `BIOEVAL_POLARIS_PYTHON` names the Python that
has it.

A few archives contain all assays of ProteinGym (https://proteingym.org); a task needs one file of
one of them. They are downloaded once, into the parent of the tasks' folders, where the published
preparers also look for the table of assays.
"""

from __future__ import annotations

import contextlib
import csv
import importlib
import io
import math
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from html.parser import HTMLParser
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import urlsplit

import httpx2
from tenacity import Retrying, retry_if_exception, stop_after_attempt, wait_exponential

from bioeval_tui.base.addresses import url_problem
from bioeval_tui.base.archives import ArchiveError, open_archive
from bioeval_tui.base.errors import InputError, UsageError
from bioeval_tui.base.files import Target, below, writing_whole
from bioeval_tui.base.installation import install_command
from bioeval_tui.base.isolation import find_installed, script_command
from bioeval_tui.base.proxies import proxy_for
from bioeval_tui.base.settings import plain_environment
from bioeval_tui.base.text import clean_line
from bioeval_tui.grade.tasks.sources import BoardRow, SourceError, required

ATTEMPTS = 3
BACKOFF_S = 0.2
TIMEOUT_S = 30.0
MAX_TEXT_BYTES = 50_000_000


def download(url: str, target: Target, hint: str) -> Path:
    """Download `url` to `target` and return it; `hint` says what to do by hand if that fails.

    Raises:
        SourceError: the host cannot be reached or refuses.
        StorageError: the disk is full, or the folder cannot be written.
    """

    def save(response: httpx2.Response) -> None:
        with writing_whole(target) as file:
            for chunk in response.iter_bytes(1 << 16):
                file.write(chunk)

    _get(url, hint, save)
    return target


def fetch_text(url: str, hint: str) -> str:
    """Return the text at `url`.

    Raises:
        SourceError: the host cannot be reached or refuses.
    """
    texts: list[str] = []

    def keep(response: httpx2.Response) -> None:
        body = bytearray()
        for chunk in response.iter_bytes(1 << 16):
            body += chunk
            if len(body) > MAX_TEXT_BYTES:
                host = clean_line(urlsplit(url).netloc)
                raise SourceError(
                    f"{host} sent more than {MAX_TEXT_BYTES:,} bytes for {clean_line(url)}; {hint}"
                )
        texts.append(body.decode(response.encoding or "utf-8", "replace"))

    _get(url, hint, keep)
    return texts[-1]


class _ByProxies(httpx2.BaseTransport):
    """Sends each request through the proxy for its own URL, if any; a redirect may lead to a host
    with another one.
    """

    def __init__(self) -> None:
        self._transports: dict[str | None, httpx2.HTTPTransport] = {}
        self._tls = httpx2.create_ssl_context()

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        proxy = proxy_for(str(request.url))
        if proxy not in self._transports:
            self._transports[proxy] = httpx2.HTTPTransport(verify=self._tls, proxy=proxy)
        return self._transports[proxy].handle_request(request)

    def close(self) -> None:
        for transport in self._transports.values():
            transport.close()


def _get(url: str, hint: str, use: Callable[[httpx2.Response], None]) -> None:
    def passing(error: BaseException) -> bool:
        if isinstance(error, httpx2.HTTPStatusError):
            return error.response.status_code in (408, 425, 429, 500, 502, 503, 504)
        return isinstance(error, httpx2.TransportError)

    if problem := url_problem(url):
        raise SourceError(f"{problem}; {hint}")
    host = clean_line(urlsplit(url).netloc)
    try:
        for attempt in Retrying(
            retry=retry_if_exception(passing),
            stop=stop_after_attempt(ATTEMPTS),
            wait=wait_exponential(multiplier=BACKOFF_S, max=5),
            reraise=True,
        ):
            with (
                attempt,
                httpx2.Client(transport=_ByProxies(), timeout=TIMEOUT_S, trust_env=False) as client,
                client.stream("GET", url, follow_redirects=True) as response,
            ):
                response.raise_for_status()
                use(response)
    except httpx2.HTTPStatusError as error:
        raise SourceError(
            f"{host} answered {error.response.status_code} for {clean_line(url)}; {hint}"
        ) from None
    except httpx2.ProxyError as error:
        raise SourceError(
            f"the proxy for {host} cannot be used ({clean_line(str(error))}); {hint}"
        ) from None
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        reason = clean_line(str(error)) or type(error).__name__
        raise SourceError(f"{host} cannot be reached ({reason}); {hint}") from None
    except UsageError as error:
        raise SourceError(f"{error}; {hint}") from None


class KaggleSource:
    """Files and public leaderboards of competitions; the slug is `competition_id`, or the end of
    `benchmark_id`.
    """

    def download(self, config: Mapping[str, Any], raw: Path) -> Path | None:
        """Download all files of the competition as one archive into `raw` and return it.

        Raises:
            SourceError: Kaggle cannot be reached, rejects the request, or returns anything but one
                archive.
        """
        slug = competition(config)
        by_hand = (
            f"or put {slug}.zip from https://www.kaggle.com/c/{slug}/data into {raw}, unpacked"
        )
        api = _client(by_hand)
        _ask(lambda: api.competition_download_files(slug, path=str(raw), quiet=True), slug, by_hand)
        archives = sorted(raw.glob("*.zip"))
        if len(archives) != 1:
            raise SourceError(
                f"Kaggle returned {len(archives)} archives for {slug} instead of one; {by_hand}"
            )
        return archives[0]

    def leaderboard(self, config: Mapping[str, Any]) -> list[BoardRow]:
        """Return the whole public leaderboard, best first, as Kaggle orders it."""
        slug = competition(config)
        by_hand = "or put leaderboard.csv beside the task's config.yaml"
        api = _client(by_hand)
        with tempfile.TemporaryDirectory() as folder:
            _ask(
                lambda: api.competition_leaderboard_download(slug, path=folder, quiet=True),
                slug,
                by_hand,
            )
            return list(chain.from_iterable(map(_board, sorted(Path(folder).iterdir()))))


def competition(config: Mapping[str, Any]) -> str:
    """Return the competition's slug.

    Raises:
        InputError: neither `competition_id` nor `benchmark_id` is given, or it is not a slug.
    """
    key = "competition_id" if "competition_id" in config else "benchmark_id"
    slug = required(config, key, "kaggle").rpartition("/")[2]
    if not slug.replace("-", "").isalnum():
        raise InputError(
            f"data_source.{key}: `{clean_line(slug)}` is not the name of a competition"
        )
    return slug


def _client(by_hand: str) -> Any:
    # The package signs in when it is imported, and some versions leave the program if they cannot.
    # It also prints on stdout, which is for data.
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            module = importlib.import_module("kaggle")
            module.api.authenticate()
    except ModuleNotFoundError:
        raise SourceError(
            f"Kaggle's client is not installed: `{install_command(['kaggle'], 'kaggle')}`,"
            f" {by_hand}"
        ) from None
    except (SystemExit, OSError, ValueError, AttributeError):
        raise SourceError(
            "Kaggle needs an access token: create one on https://www.kaggle.com/settings and save"
            f" it as ~/.kaggle/access_token, {by_hand}"
        ) from None
    return module.api


def _ask(call: Callable[[], Any], slug: str, by_hand: str) -> None:
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            call()
    except (Exception, SystemExit) as error:
        status = getattr(error, "status", None) or getattr(
            getattr(error, "response", None), "status_code", None
        )
        if status == 403 or "must accept" in str(error):
            raise SourceError(
                f"accept the rules on https://www.kaggle.com/c/{slug}/rules first, then prepare"
                f" again, {by_hand}"
            ) from None
        if status == 404:
            raise SourceError(
                f"Kaggle has no competition {slug}; check data_source in config.yaml"
            ) from None
        kind = type(error).__name__
        raise SourceError(
            f"the request to Kaggle for {slug} failed: {kind}: {clean_line(str(error))}; {by_hand}"
        ) from None


def _board(path: Path) -> list[BoardRow]:
    if path.suffix == ".zip":
        with open_archive(path) as file:
            texts = [
                file.read(name).decode("utf-8-sig") for name in file.names if name.endswith(".csv")
            ]
    else:
        texts = [path.read_text(encoding="utf-8-sig")]
    rows = []
    for text in texts:
        for row in csv.DictReader(io.StringIO(text)):
            score = row.get("Score") or row.get("score")
            name = row.get("TeamName") or row.get("teamName") or ""
            date = row.get("LastSubmissionDate") or row.get("submissionDate") or ""
            if score:
                rows.append(BoardRow(clean_line(name), float(score), clean_line(date)))
    return rows


HUB = "https://polarishub.io"
POLARIS_PYTHON = "BIOEVAL_POLARIS_PYTHON"
POLARIS_TIMEOUT_S = 1800
SCRIPT = Path(__file__).with_name("polaris_download.py")
# It has its own folder, because Python first looks for modules beside a script, and would import
# ours instead of theirs.
TRAIN, TEST = "polaris_train_data.csv", "polaris_test_data.csv"


class PolarisSource:
    """Training and test data of a benchmark; `benchmark_id` is `owner/name`."""

    def __init__(self, hub: str = HUB) -> None:
        self.hub = hub

    def download(self, config: Mapping[str, Any], raw: Path) -> Path | None:
        """Write `polaris_train_data.csv` and, with targets, `polaris_test_data.csv` into `raw`.

        Raises:
            SourceError: there is no Python with Polaris, or Polaris does not return the data.
        """
        benchmark_id = required(config, "benchmark_id", "polaris")
        by_hand = f"or put {TRAIN} and {TEST} into {raw}"
        command = script_command(str(SCRIPT), benchmark_id, str(raw), python=_interpreter(by_hand))
        try:
            done = subprocess.run(  # noqa: S603 (the user's own interpreter, no shell)
                command,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=POLARIS_TIMEOUT_S,
                env=plain_environment(keep=("POLARIS", "AUTH0")),
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise SourceError(
                f"{POLARIS_PYTHON} cannot be used: {clean_line(str(error))}; {by_hand}"
            ) from None
        if done.returncode != 0 or not (raw / TEST).is_file():
            lines = [line for line in done.stderr.splitlines() if line.strip()] or [
                "no reason given"
            ]
            raise SourceError(
                f"Polaris did not return {clean_line(benchmark_id)}: {clean_line(lines[-1])}; sign"
                f" in with `polaris login`, {by_hand}"
            )
        return None

    def leaderboard(self, config: Mapping[str, Any]) -> list[BoardRow]:
        """Return the leaderboard from the benchmark's page, in the page's order (its main metric,
        best first).

        Raises:
            SourceError: the page cannot be reached, or has no readable leaderboard.
        """
        benchmark_id = required(config, "benchmark_id", "polaris")
        hint = "put leaderboard.csv beside the task's config.yaml"
        url = f"{self.hub}/benchmarks/{benchmark_id}"
        board = read_board(fetch_text(url, hint))
        if not board:
            raise SourceError(f"{url} has no readable leaderboard; {hint}")
        return board


def _interpreter(by_hand: str) -> str | None:
    """Return the Python that has the client, None for this one."""
    chosen = os.environ.get(POLARIS_PYTHON)
    if chosen:
        return chosen
    if find_installed("polaris") is not None:
        return None
    raise SourceError(
        "Polaris' client needs an environment of its own: install polaris-lib==0.13.0 in one with"
        f" Python 3.12 and set {POLARIS_PYTHON} to its python, {by_hand}"
    )


def read_board(page: str) -> list[BoardRow]:
    """Return the rows of the first table of a page that has a column of names and one of numbers
    after it.
    """
    parser = _HtmlTables()
    parser.feed(page)
    for header, *rows in (table for table in parser.tables if len(table) > 1):
        heads = [clean_line(cell).lower() for cell in header]
        name = next((i for i, head in enumerate(heads) if "name" in head or "model" in head), None)
        metric = next((i for i, head in enumerate(heads) if head and not _OTHER.search(head)), None)
        if name is None or metric is None:
            continue
        board = [
            BoardRow(clean_line(row[name]), value)
            for row in rows
            if len(row) > max(name, metric) and (value := _leading_number(row[metric])) is not None
        ]
        if board:
            return board
    return []


_OTHER = re.compile(r"^#|rank|name|model|contributor|reference|date|owner")


def _leading_number(text: str) -> float | None:
    match = re.match(r"\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", text.replace("−", "-"))
    value = float(match.group()) if match else math.nan
    if math.isfinite(value):
        return value
    return None


class _HtmlTables(HTMLParser):
    """Collects the text of all cells: tables → rows → cells."""

    def __init__(self) -> None:
        super().__init__()
        self.tables: list[list[list[str]]] = []
        self._in_cell = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "table":
            self.tables.append([])
        elif tag == "tr" and self.tables:
            self.tables[-1].append([])
        elif tag in ("td", "th") and self.tables and self.tables[-1]:
            self.tables[-1][-1].append("")
            self._in_cell = True

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th"):
            self._in_cell = False

    def handle_data(self, data: str) -> None:
        if self._in_cell:
            self.tables[-1][-1][-1] += data


_ARCHIVES = "https://marks.hms.harvard.edu/proteingym/ProteinGym_v1.3"
_TABLES = "https://zenodo.org/records/15293562/files"
_BOARDS = (
    "https://raw.githubusercontent.com/OATML-Markslab/ProteinGym/refs/heads/main/benchmarks"
    "/DMS_supervised"
)
DATE = "2024-01-01"
"""The date of the published leaderboards, because ProteinGym gives none."""


@dataclass(frozen=True, slots=True)
class Addresses:
    """Where ProteinGym's files are: folders of archives and of tables of assays, and the root of
    leaderboards.
    """

    archives: str = _ARCHIVES
    tables: str = _TABLES
    boards: str = _BOARDS


class ProteinGymSource:
    """Assays and supervised Spearman correlations of ProteinGym; `benchmark_id` is the assay."""

    def __init__(self, addresses: Addresses | None = None) -> None:
        self.addresses = addresses or Addresses()

    def download(self, config: Mapping[str, Any], raw: Path) -> Path | None:
        """Put the assay's CSV file into `raw`, and the table of assays into the folder above the
        task's.

        Raises:
            InputError: the archives have no such assay.
            SourceError: an archive cannot be downloaded or is incomplete.
        """
        assay = required(config, "benchmark_id", "proteingym-dms")
        shared = raw.parent.parent  # raw is <data>/<folder>/<task>/raw
        family, archives = _family(assay)
        self._once(f"{self.addresses.tables}/DMS_{family}.csv", shared)
        for name in archives:
            archive = self._once(f"{self.addresses.archives}/{name}.zip", shared)
            if _extract(archive, assay, below(raw, f"{assay}.csv")):
                return None
        looked = " and ".join(f"{name}.zip" for name in archives)
        raise InputError(
            f"{looked} in {shared} have no assay {clean_line(assay)}, which"
            " data_source.benchmark_id names"
        )

    def _once(self, url: str, folder: Path) -> Path:
        target = below(folder, PurePosixPath(url).name)
        if not target.is_file():
            download(url, target, f"put the file at {target}")
        return target

    def leaderboard(self, config: Mapping[str, Any]) -> list[BoardRow]:
        """Return the models' correlations on the assay, best first; models without one are left
        out.

        Raises:
            InputError: the published leaderboard has no such assay.
            SourceError: the leaderboard cannot be downloaded.
        """
        assay = required(config, "benchmark_id", "proteingym-dms")
        family, _ = _family(assay)
        url = f"{self.addresses.boards}/{family}/Spearman/DMS_{family}_Spearman_DMS_level.csv"
        hint = "put the leaderboard of the task beside its config.yaml as leaderboard.csv"
        rows = list(csv.reader(io.StringIO(fetch_text(url, hint))))
        line = next((row for row in rows[1:] if row and row[0] == assay), None)
        if line is None:
            raise InputError(f"ProteinGym's leaderboard has no assay {clean_line(assay)}")
        scores = [
            (clean_line(team), _number(value))
            for team, value in zip(rows[0][1:], line[1:], strict=False)
        ]
        board = [BoardRow(team, score, DATE) for team, score in scores if score is not None]
        return sorted(board, key=lambda row: -row.score)


def _family(assay: str) -> tuple[str, list[str]]:
    if "indels" in assay.lower():
        return "indels", ["cv_folds_indels"]
    return "substitutions", ["cv_folds_singles_substitutions", "cv_folds_multiples_substitutions"]


def _extract(archive: Path, assay: str, target: Target) -> bool:
    """Copy the assay's file out of the archive; return False if it is not there."""
    try:
        with open_archive(archive) as file:
            member = next(
                (item for item in file.names if PurePosixPath(item).name == f"{assay}.csv"), None
            )
            if member is None:
                return False
            with file.open(member) as source, writing_whole(target) as out:
                shutil.copyfileobj(source, out)
    except ArchiveError as problem:
        raise SourceError(f"{archive}: {problem}; delete it and prepare again") from None
    return True


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    if math.isfinite(value):
        return value
    return None

"""Kaggle competitions, through Kaggle's own client (the extra `kaggle`)."""

from __future__ import annotations

import contextlib
import csv
import importlib
import io
import tempfile
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from bioeval_tui.errors import InputError
from bioeval_tui.grade.tasks.sources.base import BoardRow, HumanRow, SourceError, required
from bioeval_tui.installation import install_command
from bioeval_tui.text import clean_line


class KaggleSource:
    """Files and public leaderboards of competitions; the slug is `competition_id`, or the end of `benchmark_id`."""

    def download(self, config: Mapping[str, Any], raw: Path) -> Path | None:
        """Download all files of the competition as one archive into `raw` and return it.

        Raises:
            SourceError: Kaggle cannot be reached, rejects the request, or returns anything but one archive.
        """
        slug = competition(config)
        by_hand = f"or put {slug}.zip from https://www.kaggle.com/c/{slug}/data into {raw}, unpacked"
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
            _ask(lambda: api.competition_leaderboard_download(slug, path=folder, quiet=True), slug, by_hand)
            return [row for path in sorted(Path(folder).iterdir()) for row in _board(path)]

    def human_baselines(self, config: Mapping[str, Any]) -> list[HumanRow]:
        """Return nothing, because Kaggle does not mark people's scores."""
        return []


def competition(config: Mapping[str, Any]) -> str:
    """Return the competition's slug.

    Raises:
        InputError: neither `competition_id` nor `benchmark_id` is given, or it is not a slug.
    """
    key = "competition_id" if "competition_id" in config else "benchmark_id"
    slug = required(config, key, "kaggle").rpartition("/")[2]
    if not slug.replace("-", "").isalnum():
        raise InputError(f"data_source.{key}: `{clean_line(slug)}` is not the name of a competition")
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
            f"Kaggle's client is not installed: `{install_command(['kaggle'], 'kaggle')}`, {by_hand}"
        ) from None
    except (SystemExit, OSError, ValueError, AttributeError):
        raise SourceError(
            "Kaggle needs an access token: create one on https://www.kaggle.com/settings and save it as "
            f"~/.kaggle/access_token, {by_hand}"
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
                f"accept the rules on https://www.kaggle.com/c/{slug}/rules first, then prepare again, {by_hand}"
            ) from None
        if status == 404:
            raise SourceError(f"Kaggle has no competition {slug}; check data_source in config.yaml") from None
        kind = type(error).__name__
        raise SourceError(
            f"the request to Kaggle for {slug} failed: {kind}: {clean_line(str(error))}; {by_hand}"
        ) from None


def _board(path: Path) -> list[BoardRow]:
    if path.suffix == ".zip":
        with zipfile.ZipFile(path) as file:
            texts = [file.read(name).decode("utf-8-sig") for name in file.namelist() if name.endswith(".csv")]
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

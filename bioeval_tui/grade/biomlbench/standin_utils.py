"""`biomlbench.utils` for graders and preparers that import it: the names that tasks use."""

from __future__ import annotations

import importlib
import json
import logging
import sys
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from bioeval_tui.grade.files.tables import read_exactly

__all__ = [
    "compress",
    "extract",
    "get_logger",
    "get_module_dir",
    "get_repo_dir",
    "get_runs_dir",
    "get_timestamp",
    "import_fn",
    "is_compressed",
    "is_empty",
    "load_answers",
    "load_yaml",
    "purple",
    "read_csv",
    "read_jsonl",
]


def get_module_dir() -> Path:
    """Return the folder `biomlbench` of the checkout whose tasks are graded; without one, that of these stand-ins."""
    roots = [Path(root).resolve().parent for root in sys.modules["biomlbench.tasks"].__path__]
    return next((folder for folder in roots if folder.name == "biomlbench"), Path(__file__).parent)


def get_repo_dir() -> Path:
    """Return the checkout's folder."""
    return get_module_dir().parent


def get_runs_dir() -> Path:
    """Return the checkout's folder of runs."""
    return get_repo_dir() / "runs"


def get_logger(name: str, level: int = logging.INFO, filename: Path | None = None) -> logging.Logger:
    """Return a logger. Unlike the published one, it does not change the program's logging configuration."""
    return logging.getLogger(name)


def read_csv(*args: Any, **kwargs: Any) -> pd.DataFrame:
    """Call pandas.read_csv with round-trip precision; an empty file gives an empty table."""
    try:
        return read_exactly(*args, **kwargs)
    except pd.errors.EmptyDataError:
        return pd.DataFrame()


def read_jsonl(file_path: str, skip_commented_out_lines: bool = False) -> list[Any]:
    """Return the JSON value of each line; on request without blank lines and those starting `#` or `//`."""
    with Path(file_path).open(encoding="utf-8") as file:
        lines = [line.strip() for line in file]
    if skip_commented_out_lines:
        lines = [line for line in lines if line and not line.startswith(("#", "//"))]
    return [json.loads(line) for line in lines]


def load_answers(path_to_answers: Path) -> Any:
    """Read answers from CSV or JSONL.

    Raises:
        ValueError: the file is neither CSV nor JSONL.
    """
    path = Path(path_to_answers)
    if path.suffix == ".csv":
        return read_csv(path)
    if path.suffix == ".jsonl":
        return read_jsonl(str(path))
    raise ValueError(f"answers of this kind are not supported: {path} (.csv or .jsonl)")


def load_yaml(fpath: Path) -> Any:
    """Read a YAML file, safely."""
    return yaml.safe_load(Path(fpath).read_text(encoding="utf-8"))


def get_timestamp() -> str:
    """Return the time in UTC as `YYYY-MM-DDTHH-MM-SS-GMT`."""
    return time.strftime("%Y-%m-%dT%H-%M-%S-GMT", time.gmtime())


def import_fn(fn_import_string: str) -> Callable[..., Any]:
    """Return the function that `module:function` names."""
    module, _, name = fn_import_string.partition(":")
    function: Callable[..., Any] = getattr(importlib.import_module(module), name)
    return function


def is_compressed(fpath: Path) -> bool:
    """Whether a file's name says that it is an archive."""
    return Path(fpath).suffix in {".zip", ".tar", ".gz", ".tgz", ".rar", ".7z"}


def is_empty(dir: Path) -> bool:
    """Whether a folder is empty."""
    return not any(Path(dir).iterdir())


def extract(compressed: Path, dst: Path, recursive: bool = False) -> None:
    """Unpack a zip archive into a folder, archives inside it too if `recursive`.

    Raises:
        NotImplementedError: the archive is not a zip file.
    """
    compressed, dst = Path(compressed), Path(dst)
    if compressed.suffix != ".zip":
        raise NotImplementedError(f"only .zip can be unpacked here: {compressed.name}")
    with zipfile.ZipFile(compressed) as archive:
        archive.extractall(dst)
    if recursive:
        for inner in [item for item in dst.iterdir() if item.suffix == ".zip"]:
            extract(inner, inner.parent / inner.stem, recursive=True)


def compress(src: Path, compressed: Path, exist_ok: bool = False) -> None:
    """Pack the files below a folder into a zip archive.

    Raises:
        AssertionError: `src` is no folder, or the archive exists and may not.
        NotImplementedError: the archive is not to be a zip file.
    """
    src, compressed = Path(src), Path(compressed)
    if not src.is_dir():
        raise AssertionError(f"Expected a directory, but got `{src}`.")
    if compressed.exists() and not exist_ok:
        raise AssertionError(f"Compressed file `{compressed}` already exists.")
    if compressed.suffix != ".zip":
        raise NotImplementedError(f"only .zip can be packed here: {compressed.name}")
    files = [path for path in src.rglob("*") if path.is_file()]
    with zipfile.ZipFile(compressed, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in files:
            archive.write(file, arcname=file.relative_to(src))


def purple(text: str) -> str:
    """Return `text` unchanged, without colour."""
    return text

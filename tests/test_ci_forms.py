"""What runs in a workspace of other people's files, as the action, the workflows, the image and
docs/ci.md have it, imports and builds nothing from there: it has keys in its environment.

Without `-I`, `python -`, `-c` and `-m` look into the working folder first, and so does a Python
that reads its program from a pipe. `uv run`, `pip install .` and the like build or run whatever
project lies there.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]
OWN = "$GITHUB_ACTION_PATH"
"""Where the action itself is: not in the workspace."""
PYTHON = re.compile(r"(?:\S*/)?(?:python|pypy)[\d.]*(?:\.exe)?|py")
BUILDERS = frozenset(
    ["uv", "uvx", "pipx", "poetry", "hatch", "pdm", "tox", "nox", "make", "pytest"]
)
"""Programs that run, or read the settings of, the project in the working folder."""
WITH_VALUE = frozenset(["-W", "-X", "--index-url", "--extra-index-url", "-i", "--python"])
SEPARATORS = re.compile(r"&&|\|\||[;|&\n]|\$\(|<\(|[()`]")


def scripts() -> Iterator[tuple[str, str]]:
    """Yield every shell script that runs in somebody's workspace, and where it stands."""
    for path in (ROOT / "action.yml", *sorted((ROOT / ".github" / "workflows").iterdir())):
        for at, script in found_in(yaml.safe_load(path.read_text(encoding="utf-8"))):
            yield f"{path.relative_to(ROOT)}: {at}", script
    image = (ROOT / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    for line in re.findall(r"^(?:RUN|CMD|ENTRYPOINT) (.*)", image, re.MULTILINE):
        yield "Dockerfile", line
    page = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
    for kind, block in re.findall(r"```(\w*)\n(.*?)```", page, re.DOTALL):
        if kind == "yaml":
            yield from (
                (f"docs/ci.md: {at}", script) for at, script in found_in(yaml.safe_load(block))
            )
        elif kind != "python":
            yield "docs/ci.md", block


def found_in(value: Any, at: str = "") -> Iterator[tuple[str, str]]:
    """Yield the scripts of a workflow: `run` of GitHub's, `script` and `before_script` of GitLab's,
    …
    """
    if isinstance(value, dict):
        for key, part in value.items():
            if key == "run" or str(key).endswith("script"):
                yield f"{at}.{key}", "\n".join(part) if isinstance(part, list) else str(part)
            else:
                yield from found_in(part, f"{at}.{key}")
    elif isinstance(value, list):
        for number, part in enumerate(value):
            yield from found_in(part, f"{at}[{number}]")


def commands(script: str) -> Iterator[list[str]]:
    """Yield the words of each command of a script, also of those in `$(…)`, without what is quoted
    in a here-document.
    """
    script = script.replace("\\\n", " ")
    script = re.sub(
        r"<<-?\s*(['\"]?)(\w+)\1(.*?)\n.*?^\s*\2$", r"\3", script, flags=re.DOTALL | re.MULTILINE
    )
    for command in SEPARATORS.split(script):
        line = re.sub(r"""(?<!\S)\w+=(?:"[^"]*"|'[^']*'|\S*)\s""", "", command.strip())
        try:
            words = shlex.split(line, comments=True)
        except ValueError:  # a quotation around a command: `"$(python …)"`
            words = line.replace('"', " ").replace("'", " ").split()
        if words:
            yield words


def wrong(script: str) -> list[str]:
    """Return the commands of a script that import or build from the working folder."""
    return [" ".join(words) for words in commands(script) if _is_wrong(words)]


def _is_wrong(words: list[str]) -> bool:
    for place, word in enumerate(words):
        if PYTHON.fullmatch(word):
            return not _is_isolated(words[place + 1 :])
        if word in BUILDERS and (place == 0 or words[place - 1] in ("sudo", "env", "exec", "time")):
            return True
        if re.fullmatch(r"(?:\S*/)?pip[\d.]*", word) and words[place + 1 : place + 2] == [
            "install"
        ]:
            return not all(_is_elsewhere(one) for one in _arguments(words[place + 2 :]))
    return False


def _is_isolated(after: list[str]) -> bool:
    """Return whether a Python of these arguments is isolated, and what it then installs comes from
    elsewhere.
    """
    for place, word in enumerate(after):
        if word in ("--version", "-V", "--help", "-h"):
            return True
        if not word.startswith("-") or word == "-":
            return False
        if "I" in word.partition("m")[0].partition("c")[0]:
            named = after[place + 1 :]
            return "pip" not in named or not _is_wrong(named[named.index("pip") :])
    return False


def _arguments(words: list[str]) -> list[str]:
    """Return what `pip install` is to install, and the options that name a file of the
    workspace.
    """
    kept, skip = [], False
    for word in words:
        if skip:
            skip = False
        elif word in WITH_VALUE:
            skip = True
        elif word.startswith((">", "2>")):
            break
        elif not word.startswith("-") or re.match(
            r"-[rec]|--(requirement|editable|constraint|group)", word
        ):
            kept.append(word)
    return kept


def _is_elsewhere(argument: str) -> bool:
    """Return whether something to install is named in an index, at an address, or the action
    itself.
    """
    return (
        argument == OWN
        or re.fullmatch(r"(git\+)?https://\S+|[A-Za-z][\w.\[\]-]*(==\S+)?", argument) is not None
    )


def own(script: str) -> str:
    """Return a script without the commands that run this checkout's own project, which its tests
    are there for.
    """
    return re.sub(
        r"^uv (sync|run --no-sync (bioeval-tui|pytest))\b.*$", "", script, flags=re.MULTILINE
    )


def test_nothing_imports_or_builds_from_the_workspace() -> None:
    read = list(scripts())
    assert {at.partition(":")[0] for at, _ in read} >= {
        *("action.yml", ".github/workflows/tests.yml", "Dockerfile", "docs/ci.md"),
    }
    assert (
        sum(any(map(PYTHON.fullmatch, words)) for _, script in read for words in commands(script))
        >= 5
    )
    found = {}
    for at, script in read:
        if at == "Dockerfile":
            # /src has only what was copied there
            script = script.replace("pip install --no-cache-dir .", "")
        checked = own(script) if at.startswith(".github") else script
        if commanded := wrong(checked):
            found[at] = commanded
    assert found == {}


@pytest.mark.parametrize(
    "line",
    [
        *("python - <<'END'\nimport shutil\nEND", "python <<END\nimport shutil\nEND",
            "python < script.py"),
        *("python3 -c 'import shutil'", "python -m pip install uv",
            'python3.12 -W error -m build "$X"'),
        *('echo "folder=$(python -m pip cache dir)"',
            '"$pythonLocation/bin/python" -u -m pip cache dir'),
        *("curl --silent https://x.org/a.py | python", "X=1 sudo python3 -E -s -m pip list",
            "py -3 -m pip list"),
        *("true && \\\n  python \\\n  -m pip list", "if python -c 'x'; then true; fi",
            "python setup.py", "python"),
        *("pip install .", "pip install -e .", "pip install -r requirements.txt",
            "pip3 install ./tool", "pip install '.[x]'"),
        *("python -I -m pip install .", "python -Im pip install --quiet -r requirements.txt",
            "uv run python -I -c 'x'"),
        *("uv sync", "uvx thing", "pytest", "pip install git+https://x.org/y@1 && make"),
    ],
)  # fmt: skip
def test_a_form_that_imports_or_builds_from_the_workspace_is_found(line: str) -> None:
    assert wrong(line)


@pytest.mark.parametrize(
    "line",
    [
        *("python -I - >> out <<'END'\nimport shutil; python -m x\nEND",
            "python3 -Im pip cache dir", "python --version"),
        *('echo "key=$(python -I -c \'import sys; print(sys.argv[1])\' "$A")"',
            "python -I -W error -c 'x'"),
        *(f'python -I -m pip install --quiet "{OWN}"',
            "pip install git+https://HOST/OWNER/REPOSITORY@COMMIT"),
        *("pip install --quiet bioeval-tui==0.1.0", "bioeval-tui run eval/*.yml --repeat 5",
            "docker run python:3.12"),
    ],
)  # fmt: skip
def test_a_form_that_does_not_is_allowed(line: str) -> None:
    assert not wrong(line)

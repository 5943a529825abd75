"""The structure of the package: no import cycles, few imports inside functions, one way to start
processes.

Imports inside functions and under TYPE_CHECKING count: they tie two files together as any other
import does.
"""

from __future__ import annotations

import ast
import functools
import re
from collections import Counter
from pathlib import Path

import grimp  # import-linter brings it: the same graph as `lint-imports` judges
import pytest

from tests.sources import PACKAGE, modules, nodes

MOST_FUNCTION_LEVEL_IMPORTS = 162
"""How many imports may stand inside functions: each buys start-up time, or a package that a system
may not have.
"""

STATEMENTS = (ast.stmt, ast.ExceptHandler, ast.match_case)
"""What statements stand in; no expression has any."""
BROAD = ("Exception", "BaseException")


def import_circles() -> list[list[str]]:
    """Return each group of modules in which every one imports every other, directly or through the
    others.
    """
    graph = grimp.build_graph(PACKAGE.name, cache_dir=None)
    below = {
        module: graph.find_upstream_modules(module)  # what it imports, directly or not
        for module in graph.modules
    }
    circles = {
        frozenset({module, *(other for other in below[module] if module in below[other])})
        for module in below
    }
    return sorted(sorted(circle) for circle in circles if len(circle) > 1)


@functools.cache
def function_level_imports() -> Counter[str]:
    """Return for each file of the package how many import statements stand inside its functions."""
    found: Counter[str] = Counter()

    def walk(node: ast.AST, name: str, inside: bool) -> None:
        # no expression has statements
        for part in (
            "body",
            "orelse",
            "finalbody",
            "handlers",
            "cases",
        ):
            for child in getattr(node, part, ()):
                found[name] += inside and isinstance(child, ast.Import | ast.ImportFrom)
                walk(
                    child, name, inside or isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef)
                )

    for name, module in modules().items():
        walk(module, name, inside=False)
    return +found


def test_no_modules_import_each_other() -> None:
    assert import_circles() == [], "these modules import each other, directly or through others"


def test_few_imports_are_inside_functions() -> None:
    found = function_level_imports()
    assert found.total() <= MOST_FUNCTION_LEVEL_IMPORTS, found.most_common(10)


IMPORTED_BY_NAME = {
    "__init__.py": "the library, when its first name is looked up",
    "cli/common_options.py": "the table of commands",
    "peers/function_calls.py": "a job's Python functions",
    "grade/__init__.py": "the names that the published package has",
    "grade/batch/item_grader.py": "what graders with code import",
    "base/clusters.py": "distributed, if it is installed",
    "grade/biomlbench.py": "what a published task names",
    "grade/tasks/downloads.py": "kaggle, if it is installed",
    "grade/tasks/task_code.py": "a task's own code",
    "base/portable.py": "what a system may not have",
    "tui/keys.py": "the table of screens",
}
"""No rule about imports sees these: what else the package imports of itself is written as an
import.
"""


def test_modules_are_imported_by_name_only_from_tables_and_for_others() -> None:
    found = {
        path
        for path, here in nodes().items()
        for node in here
        if (isinstance(node, ast.Attribute) and node.attr in ("import_module", "__import__"))
        or (isinstance(node, ast.Name) and node.id in ("import_module", "__import__"))
    }
    assert found == IMPORTED_BY_NAME.keys()


def test_imports_inside_functions_say_why() -> None:
    """A comment on the import or above it, once for each file, says what it is that does not wait
    for it.
    """
    silent = []
    for name in function_level_imports():
        lines = (PACKAGE / name).read_text(encoding="utf-8").splitlines()
        places = [at for at, line in enumerate(lines) if re.match(r"\s+(import|from) [\w.]+", line)]
        if not any("  # " in lines[at] or lines[at - 1].lstrip().startswith("# ") for at in places):
            silent.append(name)
    assert silent == []


def test_handlers_of_every_error_say_why() -> None:
    """What is caught whole and not raised again has a comment on its line or the next: whose code
    may raise anything.
    """
    silent = []
    for name, here in nodes().items():
        lines = (PACKAGE / name).read_text(encoding="utf-8").splitlines()
        for node in here:
            if (
                not isinstance(node, ast.ExceptHandler)
                or ast.unparse(node.type or ast.Name("Exception")) not in BROAD
            ):
                continue
            raised_again = isinstance(node.body[-1], ast.Raise) and node.body[-1].exc is None
            if not raised_again and "# " not in "".join(lines[node.lineno - 1 : node.lineno + 1]):
                silent.append(f"{name}:{node.lineno}")
    assert silent == []


def test_only_one_module_knows_which_python_runs() -> None:
    users = {
        name
        for name, here in nodes().items()
        for node in here
        if (isinstance(node, ast.Attribute) and node.attr in ("executable", "_base_executable"))
        or (isinstance(node, ast.ImportFrom) and node.module == "sys")
    }
    users.discard("base/installation.py")  # names it in a command that a user types
    assert users == {"base/isolation.py"}


NEVER_DEEP = {
    "base/text.py": "a beginning that is cut at the depth",
    "peers/models/evaluator.py": "one text",
}
"""Where JSON is read that cannot be nested."""


def test_whoever_reads_what_may_be_no_json_also_expects_that_it_is_nested_too_deeply() -> None:
    """That is a RecursionError, and no ValueError: a file of a few kB would end the program."""
    silent = set()
    for name, here in nodes().items():
        for node in here:
            if not isinstance(node, ast.Try):
                continue
            reads = {ast.unparse(part.func) for part in calls_in(node.body)}
            caught = {
                kind.id
                for handler in node.handlers
                for kind in ast.walk(handler.type or ast.Name("BaseException"))
                if isinstance(kind, ast.Name)
            }
            is_silent = "ValueError" in caught and not caught & {"RecursionError", *BROAD}
            if is_silent and reads & {"json.loads", "json.load"}:
                silent.add(name)
    assert silent == NEVER_DEEP.keys()


def calls_in(body: list[ast.stmt]) -> list[ast.Call]:
    """Return the calls in statements."""
    parts = (part for statement in body for part in ast.walk(statement))
    return [part for part in parts if isinstance(part, ast.Call)]


def test_yaml_of_others_is_loaded_in_one_way() -> None:
    """Its loaders recurse until the process ends, and follow aliases of aliases."""
    found = {
        path
        for path, here in nodes().items()
        for node in here
        if isinstance(node, ast.Attribute)
        and ast.unparse(node).startswith(("yaml.load", "yaml.sa"))
        if node.attr in ("load", "load_all", "safe_load", "safe_load_all")
    }
    assert found == {
        "base/yaml_positions.py",
        "evaluation/conversation/sentinels.py",  # a file of our own
        "grade/biomlbench.py",  # a published function, which raises what it does there
    }


def test_links_are_resolved_in_one_way() -> None:
    """`Path.resolve` raises RuntimeError of links in a circle before Python 3.13: `real` of
    `base/files.py` does not.
    """
    found = {
        path
        for path, here in nodes().items()
        for node in here
        if isinstance(node, ast.Attribute) and node.attr == "resolve"
    }
    assert found == set()


PADDED_BY_CHARACTERS = {
    "base/consoles.py": "only a column that is ASCII: ten times as fast",
    "expressions/stdlib/strings.py": "Kotlin's functions, which count characters",
    "jobs/template.py": "words of its own, in a file",
    "base/streams.py": "the sign that is written for one letter of two cells",
}
"""Where a text is padded by what is no terminal's cell."""


def pads_by_characters(node: ast.AST) -> bool:
    """Return whether this pads what may be a text by its characters: a width for numbers ends with
    their type, as `:3d`.
    """
    match node:
        case ast.Attribute(attr="ljust" | "rjust" | "center"):
            return True
        case ast.FormattedValue(format_spec=ast.JoinedStr(values=parts)):
            form = "".join(part.value if isinstance(part, ast.Constant) else "{}" for part in parts)
            return re.fullmatch(r"(.?[<>^=](\{\}|\d+))|[1-9]\d*", form) is not None
    return False


def test_texts_are_padded_by_cells() -> None:
    """By characters, a name in Chinese moves all that stands to the right of it."""
    found = {path for path, here in nodes().items() if any(map(pads_by_characters, here))}
    assert found == PADDED_BY_CHARACTERS.keys(), "use fitted or padded of widths"


@pytest.mark.parametrize(
    ("code", "pads"),
    [
        ("name.ljust(8)", True),
        ("f'{name:<20}'", True),
        ("f'{name:.^{width}}'", True),
        ("f'{name:9}'", True),
        ("f'{name:>{width - 2}}'", True),
        ("f'{share:3d} {score:8.2f} {count:,} {name!s} {at:%H:%M}'", False),
    ],
)
def test_such_padding_is_found(code: str, pads: bool) -> None:
    assert any(map(pads_by_characters, ast.walk(ast.parse(code)))) == pads


def test_no_other_module_starts_a_python_process() -> None:
    names = {
        "multiprocessing", "ProcessPoolExecutor", "system", "popen", "execv", "execve", "execvp",
        "execvpe", "spawnv",
    }  # fmt: skip
    for path, node in ((path, node) for path, here in nodes().items() for node in here):
        match node:
            case ast.Attribute(value=ast.Name(id="os"), attr=name) if name in names:
                raise AssertionError(f"{path}:{node.lineno}: {name}")
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                found = names & {alias.name for alias in aliases}
                assert not found, f"{path}:{node.lineno}: {found}"
            case ast.keyword(arg="shell"):
                raise AssertionError(f"{path}:{node.value.lineno}: shell=…")


def test_only_one_module_opens_zips_to_read_them() -> None:
    """What is damaged or too large in one is a sentence there
    (`tests/unit/record/importing/test_archives.py`).
    """
    may = {
        "base/archives.py",
        "bundled/inspect/writing.py",  # writes one
        "grade/biomlbench.py",  # a published function, which raises what it does there
    }
    opens = ("ZipFile", "is_zipfile")
    users = {
        name
        for name, here in nodes().items()
        for node in here
        if (isinstance(node, ast.Name) and node.id.endswith(opens))
        or (isinstance(node, ast.Attribute) and node.attr.endswith(opens))
    }
    assert users == may


def test_nothing_starts_the_program_by_its_name() -> None:
    for folder in ("bioeval_tui", "benchmarks", "scripts"):
        for path, node in ((path, node) for path, here in nodes(folder).items() for node in here):
            if isinstance(node, (ast.List, ast.Tuple, ast.Call)):
                items = node.args if isinstance(node, ast.Call) else node.elts
                words = [item.value for item in items if isinstance(item, ast.Constant)]
                assert "bioeval_tui" not in words or "-m" not in words, (
                    f"{folder}/{path}:{node.lineno}: use program_command"
                )


def names_in(path: Path) -> set[str]:
    """Return every name that a module defines or imports."""
    found = set()
    for node in nodes()[path.relative_to(PACKAGE).as_posix()]:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            found |= {alias.asname or alias.name for alias in node.names}
    return found


@pytest.mark.parametrize("folder", ["benchmarks", "scripts"])
def test_what_no_other_test_runs_imports_names_that_exist(folder: str) -> None:
    wrong = []
    for path, node in ((path, node) for path, here in nodes(folder).items() for node in here):
        if not isinstance(node, ast.ImportFrom) or not (node.module or "").startswith(
            "bioeval_tui."
        ):
            continue
        place = PACKAGE.parent / str(node.module).replace(".", "/")
        file = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
        known = names_in(file) if file.is_file() else set()
        lazy = "__getattr__" in known
        wrong += [
            f"{folder}/{path}:{node.lineno}: {node.module}.{alias.name}"
            for alias in node.names
            if not (
                alias.name in known
                or lazy
                or (place / f"{alias.name}.py").exists()
                or (place / alias.name).is_dir()
            )
        ]
    assert wrong == []


EXPRESSION_LIBRARY = "expressions/"
"""Its functions without a docstring are those of Kotlin, listed in docs/assertions.md; they raise
ExpressionError.
"""


def raising_functions() -> list[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """Return the public functions with a `raise` of their own; not those of commands, whose
    docstring is their help.
    """
    found: list[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]] = []

    def walk(node: ast.Module | ast.ClassDef, place: str) -> None:
        for child in node.body:
            if isinstance(child, ast.ClassDef) and not child.name.startswith("_"):
                walk(child, place)
            elif isinstance(
                child, ast.FunctionDef | ast.AsyncFunctionDef
            ) and not child.name.startswith("_"):
                decorators = " ".join(ast.unparse(one) for one in child.decorator_list)
                if "command(" not in decorators and any(map(raises_itself, child.body)):
                    found.append((f"{place}:{child.name}", child))

    nodes()  # which parses the package
    for name, module in modules().items():
        walk(module, name)
    return found


def raises_itself(node: ast.AST) -> bool:
    """Return whether a new error is raised here, outside of nested functions."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
        return False
    if isinstance(node, ast.Raise) and node.exc is not None:
        return not ast.unparse(node.exc).startswith("NotImplementedError")
    parts = (part for part in ast.iter_child_nodes(node) if isinstance(part, STATEMENTS))
    return any(map(raises_itself, parts))


def test_docstrings_list_the_errors_that_a_function_raises() -> None:
    silent = []
    for place, function in raising_functions():
        said = ast.get_docstring(function) or ""
        if "raise" not in said.lower() and not (place.startswith(EXPRESSION_LIBRARY) and not said):
            silent.append(place)
    assert silent == []


NOT_OURS = re.compile(
    r"(?:pip3?|pipx|uv tool|uv"
    r" pip|uv|poetry|conda)\s+(?:install|add)\b(?:\s+-\S+)*\s+['\"]?bioeval-tui\b"
    r"|\buvx\s+(?:--from\s+)?['\"]?bioeval-tui\b|\bpipx"
    r" run\s+bioeval-tui\b|\b(?:uses|image):\s*\S*bioeval-tui/"
    r"|\bdocker (?:pull|run)\b[^\n]*?\s[\w.-]+/bioeval-tui\b"
    r"|(?:https?|ssh|git)://[^\s/]*bioeval|https?://[^\s)>\"']*/bioeval-tui\b|git@\S*bioeval-tui",
)
"""What sends people to a package, a repository or a site of this program's name, none of which is
ours.
"""


def published_texts() -> list[Path]:
    root = PACKAGE.parent
    text = {".md", ".yml", ".yaml", ".toml", ".cff", ".ipynb", ".py"}
    pages = [path for path in root.iterdir() if path.suffix in text or path.name == "Dockerfile"]
    for folder in ("docs", ".github", "sample_jobs", "sample_submissions", PACKAGE.name):
        pages += [path for path in (root / folder).rglob("*") if path.suffix in text]
    return pages


def test_nobody_is_sent_to_a_name_that_is_not_ours() -> None:
    found = [
        f"{path.name}: {match[0]}"
        for path in published_texts()
        for match in NOT_OURS.finditer(path.read_text(encoding="utf-8"))
    ]
    assert found == []


@pytest.mark.parametrize(
    "line",
    [
        "run: pip install bioeval-tui",
        "pip install -U 'bioeval-tui[kaggle]'",
        "uv tool install bioeval-tui --with langgraph",
        "uvx bioeval-tui demo",
        "- uses: bioeval-tui/bioeval-tui@main",
        "https://github.com/bioeval-tui/bioeval-tui/tree/main/docs",
        "https://bioeval-tui.readthedocs.io",
        "docker run --rm ghcr.io/bioeval-tui demo",
    ],
)
def test_such_names_are_found(line: str) -> None:
    assert NOT_OURS.search(line)

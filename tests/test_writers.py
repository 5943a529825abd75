"""Only `terminal` and `consoles` print, and only `files` writes files and makes folders.

What they promise (cleaned text; whole files, synced, a full disk said to be one, and nothing
outside of the folder that was named) holds for what goes through them.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

import pytest

from tests import sources

PRINTERS = {"base/terminal.py", "base/consoles.py"}
WRITERS = {"base/files.py"}

MAY_PRINT = {
    "base/confined.py": "a child that renders a template, or looks up a path, answers its parent",
    "sample/local_model.py": (
        "a process with two packages and nothing of this program says where it listens"
    ),
}
MAY_WRITE = {
    "base/archives.py": "unpacks an archive into an empty folder of this program",
    "evaluation/wiring/doctor.py": "tries whether a file can be made, and removes it",
    "cli/main.py": (
        "appends to a log that `files` has opened; /dev/null takes the place of a pipe whose reader"
        " is gone"
    ),
    "base/consoles.py": "/dev/null takes the place of a pipe whose reader is gone",
    "evaluation/engine/processes.py": "an engine appends to its log, which `files` has opened",
    "peers/function_calls.py": "as a script, it answers this program through a pipe",
    "grade/batch/containment.py": "/dev/null in place of what a grader could read",
    "grade/batch/output.py": (
        "appends to the journal of a batch, which `files` has opened, and is truncated to whole"
        " lines"
    ),
    "grade/batch/worker.py": "/dev/null in place of what a grader could write to",
    "grade/batch/worker_protocol.py": "the page that a worker shares with its program",
    "grade/batch/worker_template.py": "the pipe to a worker that was forked",
    "grade/biomlbench.py": "unpacks for a published preparer, into its own folder",
    "grade/h5ad.py": "anndata writes by path, to one that `files` gives it",
    "grade/ledger.py": "appends to the ledger, which `files` has opened; reading it needs a lock",
    "grade/tasks/split.py": (
        "copies a task's public folder into a draft, which is moved into place when it is whole"
    ),
    "grade/tasks/polaris_download.py": "runs in another Python, without this package",
    "record/overlay.py": (
        "appends to an overlay, which `files` has opened, and is truncated to whole lines"
    ),
    "record/recorder.py": "truncates a recording, which `files` has opened, to whole lines",
    "record/importing/into_runs.py": "fills a file that `files` has opened",
    "record/moving.py": (
        "fills a file that `files` has opened; puts a link in the place of a recording that was"
        " moved"
    ),
    "bundled/inspect/writing.py": "a zip file in memory",
}
MAY_CHANGE = {
    "evaluation/engine/processes.py": "deletes the specification of an engine that it stopped",
    "evaluation/wiring/start.py": "an engine deletes its specification when it has read it",
    "grade/batch/output.py": "deletes the journal of a finished batch",
    "grade/batch/worker_process.py": "makes a folder in a temporary one",
    "grade/tasks/prepare.py": (
        "puts a draft in the place of prepared data; empties the folder of a download that failed"
    ),
    "record/catalogue.py": "deletes a damaged list of runs, and keeps it private",
    "record/overlay.py": "deletes the overlay of a run that was just deleted",
    "record/runs.py": "deletes the mark of a run in progress",
    "record/deleting.py": "deletes runs and the trash",
    "record/importing/into_runs.py": "deletes what is left of an import that failed",
    "record/moving.py": "moves a recording",
    "tui/data/run_list.py": "moves runs to the trash and back",
}
"""Who else makes folders, or moves, deletes and changes what has a name."""

_PRINTING_NAMES = {"print", "pprint"}
_PRINTING = {("click", "echo"), ("click", "secho"), ("rich", "print"), ("rich", "print_json")}
_STREAMS = {"stdout", "stderr", "__stdout__", "__stderr__"}
_METHODS = {
    "write_text", "write_bytes", "touch", "to_parquet", "to_pickle", "to_excel", "write_h5ad",
    "savefig",
    "extractall", "extract", "symlink_to", "hardlink_to",
}  # fmt: skip
_CHANGES = {
    "mkdir", "makedirs", "unlink", "rmdir", "rmtree", "removedirs", "rename", "renames", "chmod",
    "lchmod", "chown",
    "link", "symlink", "link_to",
}  # fmt: skip
_COPIES = {"copy", "copy2", "copyfile", "copytree", "move"}


def nodes(source: str) -> Iterator[ast.AST]:
    return ast.walk(ast.parse(source))


def prints(node: ast.AST) -> bool:
    """Say whether it prints: `print`, `click.echo`, or what writes to a standard stream."""
    match node:
        case ast.Call(func=ast.Name(id=name)):
            return name in _PRINTING_NAMES
        case ast.Call(func=ast.Attribute(value=ast.Name(id=owner), attr=name)):
            return (owner, name) in _PRINTING
        case ast.Attribute(
            value=ast.Attribute(attr=stream), attr="write" | "writelines" | "buffer"
        ):
            # `console.file.write` goes around its cleaning
            return stream in _STREAMS or stream == "file"
    return False


def _mode(call: ast.Call, place: int) -> str:
    given = [
        *call.args[place : place + 1],
        *(word.value for word in call.keywords if word.arg == "mode"),
    ]
    return str(given[0].value) if given and isinstance(given[0], ast.Constant) else "r"


def writes(call: ast.AST) -> bool:
    """Say whether a call makes or changes a file by its path, in any way but those of `files`."""
    if not isinstance(call, ast.Call):
        return False
    changes = set("wax+").intersection
    match call.func:
        case ast.Name(id="open"):
            return bool(changes(_mode(call, 1)))
        case (
            ast.Name(id="ZipFile")
            | ast.Attribute(attr="ZipFile" | "File", value=ast.Name(id="zipfile" | "h5py"))
        ):
            return bool(changes(_mode(call, 1)))
        case ast.Attribute(value=ast.Name(id="os"), attr="open"):
            return "O_RDONLY" not in ast.unparse(call) and "O_PATH" not in ast.unparse(call)
        case ast.Attribute(value=ast.Name(id="os"), attr="fdopen" | "truncate" | "ftruncate"):
            name = call.func.attr  # type: ignore[union-attr]
            return name != "fdopen" or bool(changes(_mode(call, 1)))
        case ast.Attribute(value=ast.Name(id="shutil"), attr=name):
            return name in _COPIES
        case ast.Attribute(value=ast.Name(id="io" | "codecs"), attr="open"):
            return bool(changes(_mode(call, 1)))
        case ast.Attribute(value=ast.Name(id="tempfile"), attr="NamedTemporaryFile" | "mkstemp"):
            return True
        case ast.Attribute(attr="open"):
            return bool(changes(_mode(call, 0)))
        case ast.Attribute(attr="to_csv"):
            return bool(call.args)  # without a path they return the text
        case ast.Attribute(attr=name):
            return name in _METHODS
    return False


def changes(node: ast.AST) -> bool:
    """Say whether it makes a folder, or moves, deletes or changes what has a name, in any way but
    those of `files`.
    """
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id="os"), attr=name)):
            return name in {*_CHANGES, "remove", "replace"}
        case ast.Call(func=ast.Attribute(attr=name), keywords=words):
            # as frames do
            return name in _CHANGES and not {"columns", "axis"} & {word.arg for word in words}
    return False


def makes_target(node: ast.AST) -> bool:
    """Say whether it takes a path for one that may be written to, without asking `files`."""
    match node:
        case ast.Call(func=ast.Name(id="Target" | "Folder")):
            return True
        case ast.Call(func=ast.Name(id="cast"), args=[kind, _]):
            return ast.unparse(kind).strip("'\"") in ("Target", "Folder")
    return False


def found(is_one: Callable[[ast.AST], bool], inside: set[str]) -> dict[str, list[int]]:
    """Return for each file of the package, but those, the lines of what does so."""
    places = {
        name: [getattr(node, "lineno", 0) for node in filter(is_one, here)]
        for name, here in sources.nodes().items()
        if name not in inside
    }
    return {name: lines for name, lines in places.items() if lines}


def test_only_two_modules_print() -> None:
    places = found(prints, PRINTERS)
    assert {name: lines for name, lines in places.items() if name not in MAY_PRINT} == {}


def test_only_one_module_writes_files() -> None:
    places = found(writes, WRITERS)
    assert {name: lines for name, lines in places.items() if name not in MAY_WRITE} == {}


def test_only_one_module_makes_folders_and_few_move_or_delete() -> None:
    places = found(changes, WRITERS)
    assert {name: lines for name, lines in places.items() if name not in MAY_CHANGE} == {}


def test_only_one_module_says_where_may_be_written() -> None:
    assert found(makes_target, WRITERS) == {}


def test_every_exception_is_still_needed() -> None:
    assert sorted(found(prints, PRINTERS)) == sorted(MAY_PRINT)
    assert sorted(found(writes, WRITERS)) == sorted(MAY_WRITE)
    assert sorted(found(changes, WRITERS)) == sorted(MAY_CHANGE)


@pytest.mark.parametrize(
    "code",
    ["path.mkdir()", "os.makedirs(p)", "path.unlink()", "os.remove(p)", "os.replace(a, b)",
        "path.rename(b)",
    "shutil.rmtree(p)", "path.chmod(0o600)", "os.link(a, b)"],
)  # fmt: skip
def test_every_way_to_make_move_or_delete_is_detected(code: str) -> None:
    assert any(map(changes, nodes(code)))


@pytest.mark.parametrize(
    "code",
    [
        "print('x')", "click.echo('x', err=True)", "sys.stdout.write('x')",
        "sys.stderr.writelines(['x'])",
        "sys.stdout.buffer.write(b'x')", "console.file.write('x')",
    ],
)  # fmt: skip
def test_every_way_to_print_is_detected(code: str) -> None:
    assert any(map(prints, nodes(code)))


@pytest.mark.parametrize(
    "code",
    [
        "open(p, 'w')", "open(p, mode='ab')", "path.open('r+b')", "path.open(mode='x')",
        "path.write_text('x')",
        "path.write_bytes(b'x')", "frame.to_csv(path)", "shutil.copyfile(a, b)",
        "os.open(p, os.O_WRONLY)",
        "os.fdopen(d, 'w')", "zipfile.ZipFile(p, 'w')", "h5py.File(p, 'w')", "tempfile.mkstemp()",
        "archive.extractall(p)", "io.open(p, 'a')", "path.touch()",
    ],
)  # fmt: skip
def test_every_way_to_write_is_detected(code: str) -> None:
    assert any(map(writes, nodes(code)))


@pytest.mark.parametrize(
    "code",
    [
        "open(p)",
        "path.open('rb')",
        "frame.to_csv()",
        "os.open(p, os.O_RDONLY)",
        "zipfile.ZipFile(p)",
    ],
)
def test_reading_a_file_is_allowed(code: str) -> None:
    assert not any(map(writes, nodes(code)))

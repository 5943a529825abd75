"""YAML to plain values with their positions, so that every problem can name its line and column."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NoReturn

import yaml

from bioeval_tui.base.errors import Problem
from bioeval_tui.base.peer_limits import MAX_VALUES
from bioeval_tui.base.text import clean_line

MAX_NODES = 30_000
MAX_DEPTH = 50
TOO_LARGE = f"too large or too deep: at most {MAX_NODES:,} values and {MAX_DEPTH} levels"

Path = tuple[str | int, ...]
_TAG = "tag:yaml.org,2002:"
# The parser in C is ten times as fast. Its composer recurses without a limit, so depth is counted
# before it.
LONGEST_NUMBER = 40
"""Maximum length of a number in characters.

Longer ones cost time, and `1:30:00` would be a number of base 60.
"""
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, slots=True)
class Place:
    """The position of a scalar or collection; lines and columns count from 1.

    `style` is YAML's quoting.
    """

    line: int
    column: int
    style: str | None = None

    def inside(self, text: str, column: int) -> tuple[int, int]:
        """Return the line and column of the `column`th character (from 1) of a scalar's `text`.

        Exact for plain and quoted scalars on one line; block scalars give the right line.
        """
        if self.style in ("|", ">"):
            return self.line + 1 + text.count("\n", 0, max(0, column - 1)), 0
        return self.line, self.column + (1 if self.style else 0) + max(0, column - 1)


@dataclass
class YamlDocument:
    """The values of a file, with the position of each key and value by path."""

    value: Any
    keys: dict[Path, Place] = field(default_factory=dict)
    values: dict[Path, Place] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def place(self, path: Path, *, key: bool = False) -> Place:
        """Return the position of `path`, or of its nearest known ancestor."""
        table = self.keys if key else self.values
        while path:
            if path in table:
                return table[path]
            path = path[:-1]
            table = self.values
        return self.values.get((), Place(0, 0))


def read_yaml(text: str, file: str, needs: str) -> YamlDocument:
    """Parse `text`.

    Syntax errors, duplicate keys and unsupported tags are problems, never exceptions.

    `needs` says what to write into an empty file, as the end of a sentence.
    """
    document = YamlDocument(None)
    try:
        _refuse_depth(text)
        node = yaml.compose(text, Loader=_LOADER)
    except yaml.MarkedYAMLError as error:
        document.problems.append(syntax_problem(error, text, file))
        return document
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        document.problems.append(Problem(f"not valid YAML: {clean_line(str(error))}", file))
        return document
    if node is None:
        document.problems.append(Problem(f"the file is empty; {needs}", file))
        return document
    try:
        document.value = _Builder(document, file).build(node, ())
    except _NotHeldError as error:
        # Of what was read until then, keys would be said to be missing that come later.
        document.problems = [error.problem]
    return document


def load_yaml(text: str | bytes, loader: Any = _LOADER) -> Any:
    """Return the values of a document without their positions, as the safe `loader` makes them.

    The loaders themselves recurse without a limit, which ends the process, and aliases of aliases
    make a few lines larger than any memory for whoever looks at all values.

    Raises:
        yaml.YAMLError: it is no YAML, nested too deeply or too large, or an alias of itself.
        ValueError: a number or a date is invalid.
    """
    open_sizes, sizes = [0], {}
    anchors: list[str | None] = []
    event: Any
    for event in yaml.parse(text, Loader=_LOADER):
        problem = ""
        if isinstance(event, yaml.CollectionEndEvent):
            size, anchor = open_sizes.pop() + 1, anchors.pop()
            sizes[anchor] = size
            open_sizes[-1] += size
        elif isinstance(event, yaml.CollectionStartEvent):
            open_sizes.append(0)
            anchors.append(event.anchor)
        elif isinstance(event, yaml.AliasEvent):
            if event.anchor in anchors:
                problem = "contains an alias of itself, so it has no end"
            open_sizes[-1] += sizes.get(event.anchor, 1)
        elif isinstance(event, yaml.ScalarEvent):
            open_sizes[-1] += 1
        if len(anchors) > MAX_DEPTH or open_sizes[-1] > MAX_VALUES:
            problem = f"too large or too deep: at most {MAX_VALUES:,} values and {MAX_DEPTH} levels"
        if problem:
            raise yaml.MarkedYAMLError(problem=problem, problem_mark=event.start_mark)
    return yaml.load(text, Loader=loader)  # noqa: S506 (a safe loader)  # nosec B506


def syntax_problem(error: yaml.MarkedYAMLError, text: str, file: str) -> Problem:
    """Return what is wrong with the syntax of `text`, and what would be right where that is known,
    with line and column.
    """
    mark = error.problem_mark or error.context_mark
    if mark is None:
        return Problem(f"not valid YAML: {_parser_words(error)}", file)
    words = _what_is_right(error, text, mark) or _parser_words(error)
    return Problem(f"not valid YAML: {words}", file, mark.line + 1, mark.column + 1)


def _parser_words(error: yaml.MarkedYAMLError) -> str:
    return clean_line(" ".join(part for part in (error.problem, error.context) if part))


def _what_is_right(error: yaml.MarkedYAMLError, text: str, mark: yaml.Mark) -> str:
    """Return the sentence for an error that people often make; empty for any other."""
    problem = error.problem or ""
    lines = text.splitlines()
    line = lines[mark.line] if mark.line < len(lines) else ""
    found = line[mark.column : mark.column + 1]
    if found == "\t" or "tab character" in problem:
        return "a tab where the line is indented: YAML is indented with spaces"
    if "cannot start any token" in problem and found.strip():
        return f"a text that begins with {clean_line(found)} must be in quotes"
    if "undefined alias" in problem:
        return "no & names this alias: a text that begins with * must be in quotes"
    if "mapping values are not allowed" in problem:
        return "a key inside a value: a text with a colon and a space must be in quotes"
    return ""


def _refuse_depth(text: str) -> None:
    """Raise `YAMLError` for a document that is nested too deeply or too large."""
    depth = nodes = 0
    event: Any
    for event in yaml.parse(text, Loader=_LOADER):
        nodes += isinstance(event, yaml.NodeEvent)
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(
            event, yaml.CollectionEndEvent
        )
        if depth > MAX_DEPTH or nodes > 2 * MAX_NODES:
            raise yaml.MarkedYAMLError(problem=TOO_LARGE, problem_mark=event.start_mark)


class _NotHeldError(Exception):
    """A document is larger or deeper than can be held."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.message)
        self.problem = problem


class _Builder:
    def __init__(self, document: YamlDocument, file: str) -> None:
        self.document = document
        self.file = file
        self.nodes = 0
        self.open: dict[int, Path] = {}
        """Where the collections are that are being read, by their ids: an alias of one has no end.
        """

    def build(self, node: yaml.Node, path: Path) -> Any:
        mark = node.start_mark
        style = node.style if isinstance(node, yaml.ScalarNode) else None
        self.document.values[path] = Place(mark.line + 1, mark.column + 1, style)
        self.nodes += 1
        if id(node) in self.open:
            self._give_up(
                node, self.open[id(node)], "contains an alias of itself, so it has no end"
            )
        if self.nodes > MAX_NODES or len(path) > MAX_DEPTH:
            self._give_up(node, path[:1], TOO_LARGE)  # fifty levels would not be read
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node, path)
        self.open[id(node)] = path
        if isinstance(node, yaml.MappingNode):
            value: Any = self._mapping(node, path)
        else:
            value = [self.build(item, (*path, index)) for index, item in enumerate(node.value)]
        del self.open[id(node)]
        return value

    def _mapping(self, node: yaml.MappingNode, path: Path) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for key_node, value_node in node.value:
            if not isinstance(key_node, yaml.ScalarNode) or key_node.tag == _TAG + "merge":
                self._problem(
                    key_node, path, "a key must be plain text (merge keys are not supported)"
                )
                continue
            key = key_node.value
            if key in values:
                first = self.document.keys[(*path, key)].line
                self._problem(key_node, (*path, key), f"duplicate key, first given in line {first}")
                continue
            mark = key_node.start_mark
            self.document.keys[(*path, key)] = Place(mark.line + 1, mark.column + 1)
            values[key] = self.build(value_node, (*path, key))
        return values

    def _scalar(self, node: yaml.Node, path: Path) -> Any:
        text = str(node.value)
        kind = node.tag.removeprefix(_TAG)
        if kind in ("str", "timestamp", "binary", "value"):
            return text
        if kind in ("int", "float") and (len(text) > LONGEST_NUMBER or ":" in text):
            self._problem(
                node,
                path,
                f"`{clean_line(text, 40)}` is not a short decimal number; put text in quotes",
            )
            return None
        try:
            return yaml.SafeLoader("").construct_object(node, deep=True)
        except (yaml.YAMLError, ValueError):
            self._problem(node, path, f"the tag {clean_line(node.tag, 60)} is not supported")
            return None

    def _problem(self, node: yaml.Node, path: Path, message: str) -> None:
        self.document.problems.append(self._placed(node, path, message))

    def _give_up(self, node: yaml.Node, path: Path, message: str) -> NoReturn:
        raise _NotHeldError(self._placed(node, path, message))

    def _placed(self, node: yaml.Node, path: Path, message: str) -> Problem:
        mark = node.start_mark
        return Problem(message, self.file, mark.line + 1, mark.column + 1, show_path(path))


def show_path(path: Path) -> str:
    """Return `tasks[0].acceptanceCriteria` for `("tasks", 0, "acceptanceCriteria")`."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += ("." if text else "") + clean_line(part, 80)
    return text

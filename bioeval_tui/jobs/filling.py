"""Templates in a job's texts (placeholders, `{{ … }}`), filled from the rows of its cases.

A placeholder is a Jinja expression in the program's sandbox. It can neither run long nor grow
large, because only these are allowed: columns, their parts, a few filters, and conditions. No
loops, calls or arithmetic. The value of a placeholder is data, never a template. In an expression,
in Cypher and in FHIRPath it is a complete literal (text is quoted); in a pattern it is matched
literally, and in a FHIR query it cannot leave its place in the path or its parameter.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import quote

from jinja2 import Template, TemplateError, TemplateSyntaxError, Undefined, nodes
from markupsafe import Markup

from bioeval_tui.base.text import clean_line
from bioeval_tui.base.yaml_positions import Path as FieldPath
from bioeval_tui.jobs.sandbox import Sandbox
from bioeval_tui.languages.speech import split_sentences

FILLED = (
    "greetings", "tasks", "facts", "placeboFacts", "rubric", "seeds", "setups", "assertions",
)  # fmt: skip
"""The parts of a job whose texts may have placeholders, in addition to the evaluator's `lines` and
`voice`.
"""
MAX_TEXT = 200_000
"""Maximum length of a text after filling in, in characters."""
_TYPED = frozenset({"expected", "arguments", "resource"})
"""Under these keys, numbers and booleans keep their type; elsewhere they become text."""
Language = Literal["text", "expression", "cypher", "pattern", "fhir", "fhirpath"]
_LANGUAGES: dict[str | int, Language] = {
    "expression": "expression",
    "where": "expression",
    "cypher": "cypher",
    "when": "pattern",
    "pattern": "pattern",
}
_AT: dict[tuple[str | int, ...], Language] = {
    ("assertions", "fhir"): "fhir",
    ("assertions", "path"): "fhirpath",
    ("setups", "fhir", "path"): "fhir",
}
"""The languages of the texts at a place of the job, without the index of its item."""
_WHOLE = re.compile(r"\s*\{\{((?:(?!\{\{|\}\}).)*)\}\}\s*", re.DOTALL)
_NUMBER = re.compile(r"\s*\d{1,3}[.)]\s+")
_QUOTED = re.compile(r"""(["'])\s*\{\{""")
_ALLOWED = (
    nodes.Template, nodes.Output, nodes.TemplateData, nodes.Name, nodes.Getattr, nodes.Getitem,
    nodes.Const, nodes.Slice,
    nodes.Neg, nodes.If, nodes.CondExpr, nodes.Compare, nodes.Operand, nodes.Test, nodes.And,
    nodes.Or, nodes.Not,
    nodes.Filter, nodes.List, nodes.Tuple,
)  # fmt: skip
_FILTERS = frozenset(
    {
        "capitalize",
        "default",
        "first",
        "float",
        "int",
        "join",
        "last",
        "length",
        "lower",
        "safe",
        "sentences",
        "split",
        "title",
        "trim",
        "unnumbered",
        "upper",
    }
)
_TESTS = frozenset(
    {"defined", "divisibleby", "even", "in", "none", "number", "odd", "string", "true", "false"}
)
_WRONG = (ArithmeticError, LookupError, TypeError, ValueError, RecursionError, AttributeError)
"""The exceptions of a filter for an unsuitable value."""


class _PlaceholderSandbox(Sandbox):
    """A sandbox in which `case.items` is the column of that name, never a method."""

    def __init__(self, finalize: Callable[[Any], Any] | None = None) -> None:
        super().__init__(finalize)
        self.filters |= {
            "sentences": _sentences,
            "split": _pieces,
            "unnumbered": _unnumbered,
        }

    def getattr(self, obj: Any, attribute: str) -> Any:
        """Return a column, or a part of one."""
        if isinstance(obj, dict):
            return self.getitem(obj, attribute)
        return super().getattr(obj, attribute)

    def getitem(self, obj: Any, argument: Any) -> Any:
        """Return a column, or a part of one."""
        if not isinstance(obj, dict):
            return super().getitem(obj, argument)
        if argument in obj:
            return obj[argument]
        return self.undefined(f"the row has no `{argument}`")


def _pieces(text: str, mark: str) -> list[str]:
    """Return the parts of a text between marks, without blank ones: several facts that stand in one
    column.
    """
    return [piece.strip() for piece in str(text).split(mark) if piece.strip()]


def _sentences(text: str) -> list[str]:
    """Return the sentences of a text, with their full stops: each is a fact of a vignette."""
    return list(split_sentences(str(text)))


def _unnumbered(texts: Iterable[str]) -> list[str]:
    """Return the texts of a list without their numbers: `1. The patient smokes.`"""
    return [_NUMBER.sub("", str(text), count=1) for text in texts]


class PlaceholderError(Exception):
    """A placeholder is invalid, or a row cannot fill it; the message says why."""


@dataclass(frozen=True, slots=True)
class PlaceholderText:
    """A text with placeholders: its path in the job, its columns, and the function that fills
    it.
    """

    path: FieldPath
    columns: frozenset[str]
    fill: Callable[[Mapping[str, Any]], Any]


def find_texts(job: Any) -> Iterator[tuple[FieldPath, str]]:
    """Yield every text of a job's data that may have placeholders, with its path."""
    if not isinstance(job, dict):
        return
    evaluator = job.get("evaluator")
    if isinstance(evaluator, dict):
        said = {key: evaluator[key] for key in ("voice", "lines") if key in evaluator}
        yield from _texts(said, ("evaluator",))
    for part in FILLED:
        yield from _texts(job.get(part), (part,))


def _texts(value: Any, path: FieldPath) -> Iterator[tuple[FieldPath, str]]:
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _texts(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _texts(item, (*path, index))


def has_placeholders(text: str) -> bool:
    """Return whether a text has placeholders."""
    return "{{" in text or "{%" in text


def read_placeholders(path: FieldPath, text: str) -> PlaceholderText:
    """Parse a text with placeholders.

    Raises:
        PlaceholderError: it is not a valid template, or it does more than fill placeholders.
    """
    language = _language(path)
    environment = _PlaceholderSandbox(finalize=_FINALIZE[language])
    try:
        tree = environment.parse(text)
    except TemplateSyntaxError as problem:
        raise PlaceholderError(
            f"line {problem.lineno} of this text is not a valid template:"
            f" {clean_line(problem.message or '')}"
        ) from None
    except (RecursionError, ValueError):
        raise PlaceholderError("this text is not a valid template") from None
    columns = _columns(tree)
    if language in ("expression", "cypher", "fhirpath") and _QUOTED.search(text):
        raise PlaceholderError(
            "{{ … }} inserts a whole literal with its quotes here: don't write quotes around it"
        )
    whole = _WHOLE.fullmatch(text) if language == "text" else None
    if whole is not None:
        value = environment.compile_expression(whole[1], undefined_to_none=False)
        return PlaceholderText(
            path, columns, lambda context: _value(_evaluate(value, context), path)
        )
    template = environment.from_string(tree)
    return PlaceholderText(path, columns, lambda context: _render(template, context))


def _language(path: FieldPath) -> Language:
    """Return the language of the text at a place of the job."""
    place = (*path[:1], *path[2:])
    if place in _AT:
        return _AT[place]
    if path[0] == "setups" and "resource" in path:
        return "text"
    return next((_LANGUAGES[part] for part in reversed(path) if part in _LANGUAGES), "text")


def _columns(tree: nodes.Template) -> frozenset[str]:
    """Return the columns that a template uses; raise for anything that is not allowed."""
    columns, joins = set(), 0
    for node in tree.find_all(nodes.Node):
        if not isinstance(node, _ALLOWED):
            what = type(node).__name__.lower()
            raise PlaceholderError(
                f"{{{{ … }}}} takes a column, a part of one, or a filter; `{what}` is not allowed"
            )
        if isinstance(node, nodes.Name) and node.name not in ("case", "persona"):
            raise PlaceholderError(
                "only {{ case.COLUMN }} and {{ persona.name }} can be used here; there is"
                f" no `{node.name}`"
            )
        if isinstance(node, nodes.Filter):
            if node.name not in _FILTERS:
                raise PlaceholderError(
                    f"the filter `{node.name}` is not allowed here;"
                    f" {', '.join(sorted(_FILTERS))} are"
                )
            joins += node.name == "join"
            if node.name == "join" and not all(_is_short(arg) for arg in node.args):
                raise PlaceholderError("`join` takes a text of at most 10 characters")
        if isinstance(node, nodes.Test) and node.name not in _TESTS:
            raise PlaceholderError(
                f"the test `{node.name}` is not allowed here; {', '.join(sorted(_TESTS))} are"
            )
        if isinstance(node, nodes.Getattr | nodes.Getitem) and isinstance(node.node, nodes.Name):
            column = (
                node.attr if isinstance(node, nodes.Getattr) else getattr(node.arg, "value", None)
            )
            if node.node.name == "case" and isinstance(column, str):
                columns.add(column)
    if joins > 1:
        raise PlaceholderError("a text may use `join` only once")
    return frozenset(columns)


def _evaluate(value: Callable[..., Any], context: Mapping[str, Any]) -> Any:
    try:
        return value(**context)
    except TemplateError as problem:
        raise PlaceholderError(clean_line(problem.message or str(problem))) from None
    except _WRONG as problem:
        raise PlaceholderError(clean_line(str(problem))) from None


def _is_short(node: nodes.Expr) -> bool:
    return isinstance(node, nodes.Const) and isinstance(node.value, str) and len(node.value) <= 10


def _render(template: Template, context: Mapping[str, Any]) -> str:
    parts: list[str] = []
    length = 0
    try:
        for part in template.generate(context):
            length += len(part)
            if length > MAX_TEXT:
                raise PlaceholderError(f"it becomes longer than {MAX_TEXT:,} characters")
            parts.append(part)
    except TemplateError as problem:
        raise PlaceholderError(clean_line(problem.message or str(problem))) from None
    except _WRONG as problem:
        raise PlaceholderError(clean_line(str(problem))) from None
    return "".join(parts)


def _value(value: Any, path: FieldPath) -> Any:
    """Return the value of a text that is a single placeholder: a list inside a list, otherwise text
    or, if allowed, a number.

    In a list, a missing value is no item: some rows have fewer facts than others.
    """
    is_item = isinstance(path[-1], int)
    if isinstance(value, list) and is_item:
        return value
    if _TYPED.intersection(map(str, path)) or (isinstance(value, dict) and is_item):
        return value
    if is_item and (value is None or (isinstance(value, str) and not value)):
        return []
    return _plain_text(value)


def fill_job(
    job: Mapping[str, Any],
    placeholders: Mapping[FieldPath, PlaceholderText],
    context: Mapping[str, Any],
) -> dict[str, Any]:
    """Return a job's data with every placeholder filled.

    An item of a list may become several items.

    Raises:
        Unfilled: with the text that could not be filled, and why.
    """

    def fill(value: Any, path: FieldPath) -> Any:
        if path in placeholders:
            try:
                return placeholders[path].fill(context)
            except PlaceholderError as error:
                raise UnfilledError(placeholders[path], str(error)) from None
        if isinstance(value, dict):
            return {key: fill(item, (*path, key)) for key, item in value.items()}
        if isinstance(value, list):
            made: list[Any] = []
            for index, item in enumerate(value):
                found = fill(item, (*path, index))
                several = (*path, index) in placeholders and isinstance(found, list)
                made += found if several else [found]
            return made
        return value

    return {key: fill(value, (key,)) for key, value in job.items()}


class UnfilledError(Exception):
    """A row that cannot fill a text."""

    def __init__(self, placeholder: PlaceholderText, why: str) -> None:
        super().__init__(why)
        self.placeholder = placeholder


def _plain_text(value: Any) -> str:
    match value:
        case Undefined():
            raise PlaceholderError(clean_line(value._undefined_message))
        case str():
            return value
        case bool():
            if value:
                return "true"
            return "false"
        case int() | float():
            return f"{value}"
        case None:
            raise PlaceholderError(
                "the value in this row is missing; `default('…', true)` replaces such values"
            )
        case dict():
            named = ", ".join(clean_line(key, 40) for key in list(value)[:5])
            raise PlaceholderError(
                "the value in this row is an object, but text or a number is required; name one of"
                f" its keys: {named}"
            )
        case _:
            raise PlaceholderError(
                "the value in this row is a list, but text or a number is required; `| join(', ')`"
                " makes it a text, `[0]` is its first item"
            )


def _literal(value: Any) -> str:
    if isinstance(value, Markup):  # `| safe`
        return str(value)
    if value is None:
        return "null"
    text = _plain_text(value)
    if isinstance(value, bool | int | float):
        return text
    return json.dumps(text, ensure_ascii=False)


def _kotlin_literal(value: Any) -> str:
    literal = _literal(value)
    if isinstance(value, Markup):
        return literal
    return literal.replace("$", "\\$")  # `$name` is a template there


def _fhirpath_literal(value: Any) -> str:
    if value is None:
        return "{}"
    if isinstance(value, Markup | bool | int | float):
        return _literal(value)
    text = _plain_text(value)
    for mark, escape in (("\\", "\\\\"), ("'", "\\'"), ("\n", "\\n"), ("\r", "\\r"), ("\t", "\\t")):
        text = text.replace(mark, escape)
    return f"'{text}'"


def _encoded(value: Any) -> str:
    if isinstance(value, Markup):
        return str(value)
    return quote(_plain_text(value), safe="")


def _escaped(value: Any) -> str:
    if isinstance(value, Markup):
        return str(value)
    return re.escape(_plain_text(value))


_FINALIZE: dict[Language, Callable[[Any], Any]] = {
    "text": _plain_text,
    "expression": _kotlin_literal,
    "cypher": _literal,
    "pattern": _escaped,
    "fhir": _encoded,
    "fhirpath": _fhirpath_literal,
}

"""The table of a job's cases: CSV, JSON, JSONL or Parquet, read into rows with ids, of which a run
chooses some.

`cases.py` fills the job from the rows. A format has one function that yields its rows (`_READERS`);
everything after that is the same for all: names are checked, and each row gets an id.
"""

from __future__ import annotations

import codecs
import csv
import difflib
import json
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any, BinaryIO

from bioeval_tui.base.errors import JobError, Problem, UsageError
from bioeval_tui.base.peer_limits import MAX_BLANK_LINES
from bioeval_tui.base.text import clean_line, clean_value, excess_of, json_problem, plural
from bioeval_tui.record.run_options import SAMPLE, sample_of

MAX_BYTES = 256 << 20
MAX_LINE = 4 << 20
MOST_ROWS = 100_000
MOST_PROBLEMS = 100
MAX_DOCUMENT = 64 << 20
"""Maximum size of a table that is one JSON document, which is read as a whole."""

_RANGE = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?")


@dataclass(frozen=True, slots=True)
class CaseRow:
    """One row: its number (from 1), the line in which it begins (0 in a Parquet file), its id, and
    its columns.
    """

    number: int
    line: int
    id: str
    values: dict[str, Any]


@dataclass(frozen=True, slots=True)
class CaseTable:
    """The rows of a file that make cases; `columns` are those of all rows, in their order."""

    path: Path
    columns: tuple[str, ...]
    rows: tuple[CaseRow, ...]

    def problem(self, row: CaseRow, column: str, message: str) -> Problem:
        """Return a problem of a row, in the column where that is known."""
        where = _row_number(row.line, row.number)
        return Problem(
            where + clean_line(message), clean_line(str(self.path)), row.line, 0, clean_line(column)
        )

    def places(self) -> tuple[str, ...]:
        """Return the expressions of the texts and numbers that every row has, in their order:
        `case.visit.complaint`. Only the first `MOST_SEARCHED` rows are looked at.
        """
        searched = [
            dict.fromkeys(islice(_places("case", row.values), MOST_PLACES))
            for row in self.rows[:MOST_SEARCHED]
        ]
        if not searched:
            return ()
        return tuple(place for place in searched[0] if all(place in row for row in searched))


def read_cases(path: Path, id_column: str | None) -> CaseTable:
    """Read a table of cases.

    Raises:
        JobError: with everything that is wrong: file, line, column, and what would be right.
    """
    shown = clean_line(str(path))
    if path.suffix.lower() not in _READERS:
        raise _wrong(f"the extension of a table of cases must be {', '.join(_READERS)}", shown)
    try:
        if not path.is_file():
            raise _wrong("there is no such file of cases", shown)
        if path.stat().st_size > MAX_BYTES:
            raise _wrong(f"larger than {MAX_BYTES >> 20} MB", shown)
        rows = list(_clean_rows(_READERS[path.suffix.lower()](path), shown))
    except OSError as error:
        raise _wrong(f"cannot be read: {error.strerror}", shown) from None
    if not rows:
        raise _wrong("the table has no rows; each row is a case", shown)
    columns = tuple(dict.fromkeys(chain.from_iterable(values for _, values in rows)))
    if id_column is not None and id_column not in columns:
        raise _wrong(
            f"there is no column {id_column!r} for the ids{near(id_column, columns)}", shown
        )
    return CaseTable(path, columns, tuple(_identify(rows, id_column, shown)))


def _clean_rows(
    rows: Iterator[tuple[int, dict[str, Any]]], shown: str
) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, (line, values) in enumerate(rows, start=1):
        if number > MOST_ROWS:
            raise _wrong(f"more than {MOST_ROWS:,} rows", shown, line)
        try:
            yield line, clean_value(values, MAX_LINE)
        except RecursionError:
            raise _wrong("nested too deeply", shown, line) from None


def _identify(
    rows: Sequence[tuple[int, dict[str, Any]]], id_column: str | None, shown: str
) -> Iterator[CaseRow]:
    """Yield the rows with their ids; raise at the end for ids that are missing, not text or not
    unique.

    Until then rows with such an id are yielded, too, so that all problems are found at once.
    """
    problems: list[Problem] = []
    first: dict[str, int] = {}
    for number, (line, values) in enumerate(rows, start=1):
        value = str(number) if id_column is None else values.get(id_column)
        name = clean_line(str(value), 80).strip() if isinstance(value, str | int) else ""
        where = _row_number(line, number)
        if not name or isinstance(value, bool):
            message = f"{where}the id must be text or a whole number"
            problems.append(Problem(message, shown, line, 0, id_column or ""))
        elif name in first:
            before = rows[first[name] - 1][0]
            used = f"line {before}" if before else f"row {first[name]}"
            message = f"{where}the id {name!r} is already used in {used}; ids must be unique"
            problems.append(Problem(message, shown, line, 0, id_column or ""))
        first.setdefault(name, number)
        if len(problems) >= MOST_PROBLEMS:
            break
        yield CaseRow(number, line, name, values)
    if problems:
        raise JobError("\n".join(map(str, problems)), tuple(problems))


@dataclass(frozen=True, slots=True)
class CaseChoice:
    """The selection of cases from the command line: another file, and rows, ids and the size of a
    sample (`1-20,case_7,sample:5`).
    """

    file: str | None = None
    only: str | None = None
    sample: int | None = None
    seed: int | None = None
    """The seed; None for the job's own, otherwise 0, so that every run draws the same cases."""
    first: int | None = None
    """Maximum number of cases that are checked."""


def choose_rows(table: CaseTable, choice: CaseChoice, seed: int | None) -> tuple[CaseRow, ...]:
    """Return the selected rows, in the file's order. `seed` is the job's.

    Raises:
        UsageError: a selected row does not exist.
    """
    rows, sample_size = table.rows, choice.sample
    if choice.only is not None:
        parts = [part for part in map(str.strip, choice.only.split(",")) if part]
        ids = {row.id for row in rows}
        # A row whose id begins with `sample:` could not be chosen otherwise.
        sizes = [part for part in parts if part.startswith(SAMPLE) and part not in ids]
        named = [part for part in parts if part not in sizes]
        is_sample_of_all = bool(sizes) and not named
        if not is_sample_of_all:
            rows = _named_rows(table, named)
        if sizes:
            if sample_size is not None:
                sizes.append(sample_of(sample_size))
            sample_size = _only_size(sizes)
    if sample_size is None:
        return rows
    if sample_size > len(rows):
        raise UsageError(
            f"sample: there are {plural(len(rows), 'case')}, fewer than {sample_size:,}"
        )
    drawn_with = next((each for each in (choice.seed, seed) if each is not None), 0)
    # The same seed also draws greetings and the order of the conditions (`RunPlan`): what follows
    # it keeps each of these draws from following another.
    random_rows = random.Random(f"{drawn_with}/cases")  # noqa: S311 - nothing secret is drawn
    return tuple(rows[at] for at in sorted(random_rows.sample(range(len(rows)), sample_size)))


def _only_size(sizes: Sequence[str]) -> int:
    """Return the number in the only one of `sizes`, such as `sample:50`.

    Raises:
        UsageError: there are several, or it is not a whole number from 1.
    """
    size = sizes[0].removeprefix(SAMPLE).strip()
    if len(sizes) > 1 or not (size.isdecimal() and int(size)):
        raise UsageError(f"--cases: give the size of the sample once, such as {SAMPLE}50")
    return int(size)


def _named_rows(table: CaseTable, parts: Sequence[str]) -> tuple[CaseRow, ...]:
    """Return the rows with these ids, or in these ranges of rows."""
    rows = table.rows
    wanted: set[int] = set()
    numbers = {row.id: row.number for row in rows}
    for part in parts:
        span = _RANGE.fullmatch(part)
        if part in numbers:
            wanted.add(numbers[part])
        elif span and 1 <= int(span[1]) <= int(span[2] or span[1]) <= len(rows):
            wanted.update(range(int(span[1]), int(span[2] or span[1]) + 1))
        else:
            problem = (
                f"--cases: {clean_line(part, 60)} is neither an id nor a range of rows; "
                f"{table.path.name} has {plural(len(rows), 'row')}"
            )
            for close in difflib.get_close_matches(part, numbers, 1, 0.6):
                problem += f"; did you mean {clean_line(close, 60)}?"
            raise UsageError(problem)
    if not wanted:
        raise UsageError("--cases: give rows or ids, such as 1-20,case_7")
    return tuple(row for row in rows if row.number in wanted)


MOST_SEARCHED = 1_000
"""How many rows are searched for what all of them have."""
MOST_PLACES = 1_000
DEEPEST_PLACE = 8
_ATTRIBUTE = re.compile(r"[A-Za-z_]\w*", re.ASCII)


def _places(place: str, value: Any, depth: int = DEEPEST_PLACE) -> Iterator[str]:
    """Yield the expressions of what can be filled into a text: texts and numbers, and lists of
    them.
    """
    if isinstance(value, dict) and depth:
        for key, item in value.items():
            name = f"[{json.dumps(key, ensure_ascii=False)}]"
            if _ATTRIBUTE.fullmatch(key):
                name = f".{key}"
            yield from _places(place + name, item, depth - 1)
    elif (
        isinstance(value, list)
        and value
        and all(isinstance(item, str | int | float) for item in value)
    ):
        yield f"{place} | join(', ')"
    elif isinstance(value, int | float) or (isinstance(value, str) and value.strip()):
        yield place


def near(name: str, columns: Sequence[str]) -> str:
    """Return the column that was probably meant, or the existing columns."""
    close = difflib.get_close_matches(name, columns, 1, 0.6)
    named = ", ".join(clean_line(column, 60) for column in columns[:20])
    if close:
        return f"; did you mean {clean_line(close[0], 60)!r}?"
    return f"; the columns are {named}"


def _csv_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    shown, begins = clean_line(str(path)), 1
    csv.field_size_limit(MAX_LINE)  # a text may be longer than the usual 128 KB
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.reader(file, strict=True)
        try:
            header = [name.strip() for name in next(reader, [])]
            _check_header(header, shown)
            begins = reader.line_num + 1
            blank = 0
            for fields in reader:
                line, begins = begins, reader.line_num + 1
                if not fields:  # an empty line
                    blank += 1
                    _check_blank(blank, shown, line)
                    continue
                if len(fields) != len(header):
                    here, named = plural(len(fields), "field"), plural(len(header), "column")
                    problem = f"{here} where the first line names {named}"
                    if len(fields) > len(header):
                        problem += "; put a text with a comma in quotes"
                    raise _wrong(problem, shown, line)
                row = dict(zip(header, fields, strict=True))
                row.pop("", None)  # the number of the row, as pandas writes it
                yield line, row
        except csv.Error as error:
            raise _wrong(f"not CSV: {clean_line(str(error))}", shown, begins) from None
        except UnicodeDecodeError:
            raise _wrong("not UTF-8 text; save the table as UTF-8", shown, begins) from None


def _check_header(header: Sequence[str], shown: str) -> None:
    separator = next((mark for mark in ";\t" if len(header) == 1 and mark in header[0]), "")
    if separator:
        named = "tabs" if separator == "\t" else f"{separator!r}"
        raise _wrong(f"the columns are separated by {named}; separate them by commas", shown, 1)
    seen: set[str] = set()
    for column, name in enumerate(header, start=1):
        numbers_rows = not name and column == 1 < len(header)
        if not name and not numbers_rows:
            raise _wrong(
                f"column {column} has no name in the first line; name or remove it", shown, 1
            )
        if name in seen:
            raise _wrong(f"two columns are called {clean_line(name, 60)!r}", shown, 1)
        seen.add(name)


def _json_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the rows of JSON Lines or of one JSON document, whatever the file's name: lines are
    whole objects, one after another.
    """
    with path.open("rb") as file:
        whole = (line.strip() for line in iter(lambda: file.readline(MAX_LINE + 1), b""))
        begin = filter(None, islice(whole, MAX_BLANK_LINES))
        first, second = islice(chain(begin, (b"", b"")), 2)
        file.seek(0)
        # A document that is written over several lines begins with a line that does not end its
        # first object.
        in_lines = first.removeprefix(codecs.BOM_UTF8).startswith(b"{") and (
            first.endswith(b"}") or len(first) > MAX_LINE
        )
        if in_lines and second:
            yield from _rows_of_lines(file, clean_line(str(path)))
        else:
            yield from _rows_of_document(file, clean_line(str(path)), one_line=in_lines)


def _rows_of_lines(file: BinaryIO, shown: str) -> Iterator[tuple[int, dict[str, Any]]]:
    line = blank = 0
    while data := file.readline(MAX_LINE + 1):
        line += 1
        if len(data) > MAX_LINE:
            raise _wrong(f"a line is longer than {MAX_LINE >> 20} MB", shown, line)
        if data.strip():
            yield line, _row(_read_json(data.rstrip(), shown, line), shown, line)
        else:
            blank += 1
            _check_blank(blank, shown, line)


def _check_blank(count: int, shown: str, line: int) -> None:
    """Raise `JobError` if a table has too many blank lines, which take as long to read as
    others.
    """
    if count > MAX_BLANK_LINES:
        raise _wrong(f"more than {MAX_BLANK_LINES:,} lines are blank", shown, line)


def _rows_of_document(
    file: BinaryIO, shown: str, *, one_line: bool
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the rows of a list, of the only list in an object, of an object of columns, or one
    row.
    """
    data = file.read(MAX_DOCUMENT + 1)
    if len(data) > MAX_DOCUMENT:
        raise _wrong(
            f"one document larger than {MAX_DOCUMENT >> 20} MB; write one object a line", shown
        )
    if not data.strip():
        return
    rows = _read_json(data, shown)
    if not isinstance(rows, list):
        rows = _rows_of_object(rows, shown, one_line=one_line)
    line = 1 if one_line and len(rows) == 1 else 0
    yield from ((line, _row(row, shown, line, number)) for number, row in enumerate(rows, start=1))


def _rows_of_object(document: Any, shown: str, *, one_line: bool) -> list[Any]:
    if not isinstance(document, dict):
        raise _wrong("a list of objects, or one object a line, is needed", shown)
    if rows := _wrapped_rows(document):
        return rows
    lists = {key: value for key, value in document.items() if isinstance(value, list)}
    of_objects = [
        key
        for key, value in lists.items()
        if value and all(isinstance(each, dict) for each in value)
    ]
    lengths = {len(value) for value in lists.values()}
    if lists and len(lists) == len(document) and len(lengths) == 1 and not of_objects:
        return [
            dict(zip(lists, values, strict=True)) for values in zip(*lists.values(), strict=True)
        ]
    if named := _probable_rows(document, of_objects, one_line=one_line):
        shown_names = ", ".join(clean_line(key, 40) for key in named[:3])
        message = (
            f"one object, with objects under {shown_names}; write the rows as a list of objects, or"
            " one object a line"
        )
        raise _wrong(message, shown)
    return [document]


def _wrapped_rows(document: dict[str, Any]) -> list[Any]:
    """Return the list of objects to which single keys lead, as in `{"data": {"items": [{…},
    {…}]}}`; empty without one.
    """
    inner: Any = document
    while isinstance(inner, dict) and len(inner) == 1:
        (inner,) = inner.values()
    if isinstance(inner, list) and all(isinstance(each, dict) for each in inner):
        return inner
    return []


def _probable_rows(
    document: dict[str, Any], of_objects: Sequence[str], *, one_line: bool
) -> Sequence[str]:
    """Return the keys under which the rows of an object probably are, so that it is not taken for a
    single row.
    """
    objects = [key for key, value in document.items() if isinstance(value, dict)]
    alike = {frozenset(document[key]) for key in objects}
    if len(objects) > 1 and len(objects) == len(document) and (len(alike) == 1 or not one_line):
        return objects
    if one_line:
        return []
    return of_objects


def _read_json(data: bytes, shown: str, line: int = 0) -> Any:
    try:
        value = _load_row(data)
    except json.JSONDecodeError as error:
        raise _wrong(
            f"not JSON: {clean_line(error.msg)}", shown, line or error.lineno, error.colno
        ) from None
    except (ValueError, RecursionError) as error:
        raise _wrong(json_problem(error), shown, line) from None
    return value


def _row_number(line: int, number: int) -> str:
    """Return how a message names a row whose line in the file is unknown; nothing for others."""
    if line or not number:
        return ""
    return f"row {number}: "


def _row(values: Any, shown: str, line: int, number: int = 0) -> dict[str, Any]:
    where = _row_number(line, number)
    if excess := excess_of(values):
        raise _wrong(f"{where}{excess}; leave out what the job does not use", shown, line)
    if not isinstance(values, dict):
        raise _wrong(
            f'{where}a row must be an object, such as {{"id": "a", "age": 61}}', shown, line
        )
    return values


def _load_row(data: str | bytes) -> Any:
    """Return a row; pandas and others write NaN where a value is missing, which JSON does not
    have.
    """
    return json.loads(data, parse_constant=lambda name: None if name == "NaN" else name)


def _parquet_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    from pyarrow import ArrowException, parquet  # half a second that no other table waits for

    shown = clean_line(str(path))
    try:
        with parquet.ParquetFile(path) as file:
            about = file.metadata
            if about.num_rows > MOST_ROWS:
                raise _wrong(f"more than {MOST_ROWS:,} rows", shown)
            if (
                sum(about.row_group(at).total_byte_size for at in range(about.num_row_groups))
                > MAX_BYTES
            ):
                raise _wrong(f"larger, when unpacked, than {MAX_BYTES >> 20} MB", shown)
            for batch in file.iter_batches(batch_size=1000):
                # As JSON, so that dates and numbers read as those of the other two kinds of file.
                yield from (
                    (0, _load_row(json.dumps(row, default=str))) for row in batch.to_pylist()
                )
    except (ArrowException, ValueError) as error:
        raise _wrong(f"not a Parquet file: {clean_line(str(error), 200)}", shown) from None


_READERS = {".csv": _csv_rows, ".json": _json_rows, ".jsonl": _json_rows, ".parquet": _parquet_rows}


def _wrong(message: str, file: str, line: int = 0, column: int = 0) -> JobError:
    problem = Problem(message, file, line, column)
    return JobError(str(problem), (problem,))

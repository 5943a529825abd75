"""Reads a rules file; every error is one sentence with its line."""

from __future__ import annotations

import re
import secrets
from collections import Counter
from pathlib import Path
from typing import Any

from bioeval_tui.errors import InputError, Problem
from bioeval_tui.files import write_new
from bioeval_tui.patterns import pattern_problem, search
from bioeval_tui.record.masking.rules import LiteralRule, PatternRule, Rules
from bioeval_tui.settings import private_dir
from bioeval_tui.text import clean_line
from bioeval_tui.yaml_positions import Path as FieldPath
from bioeval_tui.yaml_positions import YamlDocument, read_yaml

MAX_BYTES = 1_000_000
MAX_ENTRIES = 5_000
KEYS = {"names": "PATIENT", "identifiers": "ID", "patterns": ""}
SHORTEST = {"names": 2, "identifiers": 3}
KEY_FILE = "masking.key"
_LABEL = re.compile(r"[A-Z][A-Z0-9_]{0,19}")


def load_rules(path: Path, data_dir: Path) -> Rules:
    """Read a rules file. Patterns need a key, which is stored in `data_dir` and created if it is missing.

    Raises:
        InputError: with every problem found, each with its line and what would be right.
    """
    shown = clean_line(str(path))
    document = read_yaml(_read(path, shown), shown, "give names, identifiers or patterns")
    reader = _Reader(document, shown)
    literals, patterns = reader.read()
    if reader.problems:
        raise InputError("\n".join(map(str, reader.problems)), tuple(reader.problems))
    return Rules(literals, patterns, _key(data_dir) if patterns else b"")


def _read(path: Path, shown: str) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise InputError(f"{shown}: larger than {MAX_BYTES:,} bytes, too large for a rules file")
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"{shown}: not UTF-8 text; save the rules as UTF-8") from None
    except OSError as error:
        raise InputError(f"{shown}: cannot be read: {error.strerror}; give a YAML file of rules") from None


def _key(data_dir: Path) -> bytes:
    path = private_dir(data_dir) / KEY_FILE
    if not path.exists():
        write_new(path, secrets.token_bytes(32))
    key = path.read_bytes()
    if len(key) < 32:
        raise InputError(f"{clean_line(str(path))}: not a masking key; delete the file to create a new one")
    return key


class _Reader:
    """Validates the file and records problems with their positions."""

    def __init__(self, document: YamlDocument, file: str) -> None:
        self.problems = document.problems
        self._document = document
        self._file = file
        self._counts: Counter[str] = Counter()

    def read(self) -> tuple[list[LiteralRule], list[PatternRule]]:
        """Return the file's rules."""
        value = self._document.value
        if value is None and self.problems:
            return [], []
        if not isinstance(value, dict):
            self._wrong((), f"lists are needed under the keys {', '.join(KEYS)}")
            return [], []
        literals: list[LiteralRule] = []
        patterns: list[PatternRule] = []
        for key, entries in value.items():
            if key not in KEYS:
                self._wrong(
                    (key,),
                    f"unknown key `{clean_line(str(key), 40)}`; the keys are {', '.join(KEYS)}",
                    key=True,
                )
            elif not isinstance(entries, list) or not entries:
                self._wrong((key,), "a list with at least one entry is needed here")
            elif len(entries) > MAX_ENTRIES:
                self._wrong((key,), f"{len(entries):,} entries; the limit is {MAX_ENTRIES:,}")
            elif key == "patterns":
                patterns += [
                    rule for n, entry in enumerate(entries) if (rule := self._pattern((key, n), entry))
                ]
            else:
                literals += [
                    one for n, entry in enumerate(entries) for one in self._literals((key, n), entry)
                ]
        self._twice(literals)
        return literals, patterns

    def _literals(self, path: FieldPath, entry: Any) -> list[LiteralRule]:
        kind, label = str(path[0]), KEYS[str(path[0])]
        if isinstance(entry, dict):
            if not set(entry) <= {"text", "as"} or "text" not in entry:
                self._wrong(path, "an entry has `text` and may have `as`")
                return []
            label, entry = self._label((*path, "as"), entry.get("as", label)), entry["text"]
        self._counts[label] += 1
        instead = f"[{label}-{self._counts[label]}]"
        found = []
        for text in entry if isinstance(entry, list) else [entry]:
            if not isinstance(text, str):
                self._wrong(path, "text is needed here; put a number in quotes, such as '0042'")
                continue
            literal = LiteralRule.of(text, instead, is_name=kind == "names")
            if len(literal.letters) < SHORTEST[kind]:
                self._wrong(
                    path,
                    f"too short: {SHORTEST[kind]} letters or digits at least, or half the text would be masked",
                )
                continue
            found.append(literal)
            turned = LiteralRule.last_name_first(text, instead) if literal.is_name else None
            found += [turned] if turned else []
        return found

    def _pattern(self, path: FieldPath, entry: Any) -> PatternRule | None:
        if (
            not isinstance(entry, dict)
            or set(entry) != {"pattern", "as"}
            or not isinstance(entry["pattern"], str)
        ):
            self._wrong(
                path, "`pattern` (a regular expression) and `as` (a word such as MRN) are needed here"
            )
            return None
        problem = pattern_problem(entry["pattern"])
        if problem is None and _matches_nothing(entry["pattern"]):
            problem = "the pattern matches an empty text; it must match at least one character"
        if problem is not None:
            self._wrong((*path, "pattern"), problem)
            return None
        return PatternRule(entry["pattern"], self._label((*path, "as"), entry["as"]))

    def _label(self, path: FieldPath, label: Any) -> str:
        if isinstance(label, str) and _LABEL.fullmatch(label):
            return label
        self._wrong(path, "use a word in capitals of at most 20 characters, such as PATIENT or MRN")
        return "X"

    def _twice(self, literals: list[LiteralRule]) -> None:
        known: dict[str, str] = {}
        for literal in (one for one in literals if not one.comma_at):
            if known.setdefault(literal.letters, literal.instead) != literal.instead:
                self._wrong(
                    (), f"{known[literal.letters]} and {literal.instead} are the same text; list it once"
                )

    def _wrong(self, path: FieldPath, message: str, *, key: bool = False) -> None:
        place = self._document.place(path, key=key)
        name = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).lstrip(".")
        field = "" if key else clean_line(name)
        self.problems.append(Problem(message, self._file, place.line, place.column, field))


def _matches_nothing(pattern: str) -> bool:
    return search(pattern, "") is not None

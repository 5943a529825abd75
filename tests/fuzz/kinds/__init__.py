"""What is fuzzed: each kind creates its cases and reports their outcome.

An exception is a finding. A kind is imported when it is asked for: each has a process of its own,
and what the others read files with takes seconds to load.
"""

from __future__ import annotations

from importlib import import_module

from tests.fuzz.kinds.base import Kind

KINDS = {
    "jobs": "files:Jobs",
    "csv": "submissions:CsvSubmissions",
    "h5ad": "submissions:H5adSubmissions",
    "recordings": "files:Recordings",
    "expressions": "texts:Expressions",
    "cypher": "texts:Cypher",
    "answers": "peers:Answers",
}
"""Where each kind is, by its name."""


def kind_of(name: str) -> type[Kind]:
    """Return the kind of this name."""
    module, _, found = KINDS[name].partition(":")
    kind: type[Kind] = getattr(import_module(f"{__name__}.{module}"), found)
    return kind

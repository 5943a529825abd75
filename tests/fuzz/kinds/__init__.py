"""What is fuzzed: each kind creates its cases and reports their outcome.

An exception is a finding.
"""

from __future__ import annotations

from tests.fuzz.kinds.base import Kind
from tests.fuzz.kinds.files import Jobs, Recordings
from tests.fuzz.kinds.peers import Answers
from tests.fuzz.kinds.submissions import CsvSubmissions, H5adSubmissions
from tests.fuzz.kinds.texts import Cypher, Expressions

KINDS: dict[str, type[Kind]] = {
    "jobs": Jobs,
    "csv": CsvSubmissions,
    "h5ad": H5adSubmissions,
    "recordings": Recordings,
    "expressions": Expressions,
    "cypher": Cypher,
    "answers": Answers,
}

"""FHIRPath: a path is checked by its own grammar, and evaluated in a process of its own.

The library evaluates anything: it goes on after what is no FHIRPath at all, prints what `trace`
names, and has no limits. So a path is parsed first, with nothing recovered (`grammar.py`), and what
evaluates it can be stopped (`evaluating.py`).
"""

from __future__ import annotations

from functools import lru_cache
from types import ModuleType
from typing import Any

from bioeval_tui.base.confined import Allowance, Confined, ConfinedError
from bioeval_tui.base.errors import QueryError
from bioeval_tui.base.installation import install_command, missing
from bioeval_tui.base.text import clean_line

EXTRA, PACKAGE = "fhir", "fhirpathpy"
CPU_S = 2
"""Maximum processor time of one path, in seconds; a usual one takes some milliseconds."""
WALL_S = 30.0
"""Timeout of one path, in seconds, if the system cannot limit processor time or the machine is very
busy.
"""
MODELS = {"1.0": "dstu2", "3.0": "stu3", "4.0": "r4", "4.3": "r4", "5.0": "r5"}
"""What the library calls each version of FHIR; its models know the types of fields such as
`value[x]`.
"""


def lacks_library() -> str:
    """Return which package is missing to read FHIRPath, and what installs it; empty if it is
    here.
    """
    if not missing([PACKAGE]):
        return ""
    return f"FHIRPath needs {PACKAGE}: `{install_command([PACKAGE], EXTRA)}` installs it"


@lru_cache(maxsize=512)
def check_path(text: str) -> None:
    """Check the grammar of a path, and that its functions exist.

    Raises:
        QueryError: it is wrong, too long, or the library is missing.
    """
    _grammar().parse(text)


def asks_nothing(text: str) -> bool:
    """Return whether a valid path names nothing of what it looks through, such as `true`."""
    return bool(_grammar().names_nothing(text))


def _grammar() -> ModuleType:
    if why := lacks_library():
        raise QueryError(why)
    from bioeval_tui.fhir import grammar  # half a second, and only where a job has a path

    return grammar


class Paths:
    """Evaluates paths, one after another.

    Belongs to one event loop; the process starts with the first path.
    """

    def __init__(self) -> None:
        self._confined = Confined("bioeval_tui.fhir.evaluating")

    async def evaluate(self, text: str, resources: Any, version: str) -> tuple[Any, ...]:
        """Return the values that a path finds, as JSON-like values.

        Args:
            text: the path.
            resources: the resource, Bundle or list of resources that it looks through.
            version: the version of FHIR, such as 4.0.1.

        Raises:
            QueryError: the path is wrong, does not fit what it finds, or takes too much time or
                memory.
        """
        check_path(text)
        model = MODELS.get(".".join(version.split(".")[:2]), "r4")
        asked = {"path": text, "resources": resources, "model": model}
        try:
            answer = await self._confined.ask(asked, Allowance(CPU_S, WALL_S, "evaluate"))
        except ConfinedError as error:
            raise QueryError(f"the path: {error}") from None
        if "error" in answer:
            raise QueryError(f"the path cannot be evaluated: {clean_line(str(answer['error']))}")
        return tuple(answer["values"])

    async def aclose(self) -> None:
        """End the process, if one was started."""
        await self._confined.aclose()

"""FHIRPath: a path is checked by its own grammar, and evaluated in a process of its own.

The library recovers from syntax errors and evaluates what is left, prints what `trace` names, and
has no limits. So a path is first parsed strictly (`grammar.py`), and then evaluated in a process
that can be stopped (`evaluating.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from types import ModuleType
from typing import Any

from bioeval_tui.base.confined import Allowance, Confined, ConfinedError
from bioeval_tui.base.errors import InvalidQueryError, QueryError
from bioeval_tui.base.installation import install_command, missing

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
def check_path(text: str, given: str = "") -> None:
    """Check the grammar of a path, and that its functions exist and have their arguments.

    Args:
        text: the path.
        given: the type of what it looks through, with which it may begin; empty if that is not
            known.

    Raises:
        QueryError: it is wrong, too long, or the library is missing.
    """
    _grammar().parse(text, given)


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
            InvalidQueryError: the path is wrong, whatever it looks through.
            QueryError: it does not fit what it finds, or takes too much time or memory.
        """
        try:
            check_path(text)
        except QueryError as error:
            raise InvalidQueryError(f"the path: {error.message}", error.column) from None
        model = MODELS.get(".".join(version.split(".")[:2]), "r4")
        answer = await self._answer(text, resources, model)
        if "error" not in answer:
            return tuple(answer["values"])
        for bare in _without_content(resources):
            # What fails here fails for any agent.
            whatever = await self._answer(text, bare, model)
            if "error" in whatever:
                raise InvalidQueryError(
                    f"the path cannot be evaluated, whatever the query returns: {whatever['error']}"
                )
        raise QueryError(
            f"the path cannot be evaluated on what the query returned: {answer['error']}"
        )

    async def _answer(self, text: str, resources: Any, model: str) -> dict[str, Any]:
        """Return the `values` that a path finds, or the `error`, as the end of a sentence."""
        asked = {"path": text, "resources": resources, "model": model}
        try:
            return await self._confined.ask(asked, Allowance(CPU_S, WALL_S, "evaluate"))
        except ConfinedError as error:
            return {"error": str(error)}

    async def aclose(self) -> None:
        """End the process, if one was started."""
        await self._confined.aclose()


def _without_content(resources: Any) -> Iterator[Any]:
    """Yield what a query might have returned instead: nothing, and resources without content."""
    if not isinstance(resources, dict):
        yield []
        return
    kind = resources.get("resourceType")
    if kind != "Bundle":
        yield []
        yield {"resourceType": kind}
        return
    yield {"resourceType": kind, "entry": []}
    for entry in resources.get("entry", [])[:1]:
        resource = entry.get("resource") or {}
        bare = {"resourceType": resource.get("resourceType")}
        yield {"resourceType": kind, "entry": [{"resource": bare}]}

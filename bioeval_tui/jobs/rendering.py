"""Renders untrusted templates in a process without keys or files, which can be killed.

What the sandbox (`sandbox.py`) cannot count (loops in loops, recursion, filters that multiply) is
stopped by the limits of the process (`base/confined.py`). Callers keep a `Templates`, which starts
it for the first template that is not this program's own.

This file is also the program of the process: `main` and what follows it run only there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bioeval_tui.base.confined import Allowance, Confined, ConfinedError, serve
from bioeval_tui.base.errors import UsageError
from bioeval_tui.base.text import clean_line
from bioeval_tui.jobs.sandbox import render

CPU_S = 3
"""Maximum processor time of one rendering, in seconds; a usual one takes about a millisecond."""
WALL_S = 30.0
"""Timeout of one rendering, in seconds, if the system cannot limit processor time or the machine is
very busy.
"""
_USUAL = (
    "{{ nope }}",
    "{% if %}",
    "{{ '\\n\u00e9' ~ 1.5 }}",
    "{{ [1] | pprint | upper }}",
    "{{ lipsum(n=1) | striptags }}",
)
"""Rendered before access to files ends, because Python and Jinja import some modules only when
needed.
"""


class Templates:
    """Renders untrusted templates, one after another.

    Belongs to one event loop; the process starts with the first template.
    """

    def __init__(self) -> None:
        self._confined = Confined("bioeval_tui.jobs.rendering")

    async def render(self, name: str, text: str, context: Mapping[str, Any]) -> str:
        """Render the template `text`, called `name`, with `context`.

        Raises:
            UsageError: the template is wrong, is rejected by the sandbox, or takes too much time or
                memory.
        """
        asked = {"name": name, "text": text, "context": context}
        try:
            answer = await self._confined.ask(asked, Allowance(CPU_S, WALL_S, "render"))
        except ConfinedError as error:
            raise UsageError(f"prompt `{clean_line(name, 100)}`: {error}") from None
        if "error" in answer:
            raise UsageError(str(answer["error"]))
        return str(answer["text"])

    async def aclose(self) -> None:
        """End the process, if one was started."""
        await self._confined.aclose()


# In the process.


def main() -> None:
    """Render the requests on stdin until it ends."""
    for text in _USUAL:
        _answer_request({"name": "", "text": text, "context": {}})
    serve(_answer_request)


def _answer_request(asked: dict[str, Any]) -> dict[str, Any]:
    try:
        return {"text": render(asked["name"], asked["text"], asked["context"])}
    except UsageError as error:
        return {"error": str(error)}
    except OSError:
        return {
            "error": (
                f"prompt `{clean_line(asked['name'], 100)}`: not allowed: a template opens no files"
            )
        }


if __name__ == "__main__":
    main()

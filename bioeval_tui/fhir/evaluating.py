"""The program of the process in which paths are evaluated; nothing else imports it.

It needs `fhirpathpy`: see `paths`.
"""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

from fhirpathpy import evaluate
from fhirpathpy.models import models

from bioeval_tui.base.confined import serve
from bioeval_tui.base.text import compact_json

DOES_NOT_FIT = (
    "a function or an operator is given values of a kind, or a number of values, that it does not"
    " take"
)
MAX_RESULT, MAX_RESULT_CHARACTERS = 1_000, 100_000
"""Maximum number of values that a path gives, and of characters of all of them."""


def main() -> None:
    """Evaluate the requests on stdin until it ends."""
    # Before access to files ends: some modules and models are loaded only when needed.
    for model in models:
        _answer({"path": "name.where($this = 'a' or now() > @2020).count() * 1.5", "model": model})
    _answer({"path": "1 'mg' + 'a'.matches('b')", "model": "r4"})
    serve(_answer)


def _answer(asked: dict[str, Any]) -> dict[str, Any]:
    try:
        found = evaluate(asked.get("resources", {}), asked["path"], {}, models[asked["model"]])
        values = [_plain(value) for value in found]
        if any(isinstance(value, dict) and "$error" in value for value in values):
            return {"error": DOES_NOT_FIT}  # the library's result of `single` of several
    except MemoryError:
        return {"error": "it takes too much memory"}
    except RecursionError:
        return {"error": "what it looks through is nested too deeply"}
    except KeyError as error:
        name = str(error.args[0])
        if name in ("$this", "$index", "$total"):  # outside of what sets them
            return {"error": f"`{name}` has no meaning here"}
        return {"error": DOES_NOT_FIT}
    except Exception:  # the library raises any, in its own words
        return {"error": DOES_NOT_FIT}
    if len(values) > MAX_RESULT or len(compact_json(values)) > MAX_RESULT_CHARACTERS:
        most = f"{MAX_RESULT:,} values or {MAX_RESULT_CHARACTERS:,} characters"
        return {"error": f"it gives more than {most}: reduce it, for example with count()"}
    return {"values": values}


def _plain(value: Any) -> Any:
    """Return a value of the library as JSON has it: dates, times and quantities as text."""
    match value:
        case None | bool() | int() | str():
            return value
        case Decimal():
            return int(value) if value == value.to_integral_value() else float(value)
        case float():
            return value if math.isfinite(value) else str(value)
        case dict():
            return {str(key): _plain(item) for key, item in value.items()}
        case list() | tuple():
            return [_plain(item) for item in value]
        case _:
            return str(value)


if __name__ == "__main__":
    main()

"""`"%.1f %s".format(…)`, as Java's Formatter writes it."""

from __future__ import annotations

import re
from decimal import ROUND_HALF_UP, Context, Decimal

from bioeval_tui.errors import ExpressionError
from bioeval_tui.evaluation.assertions.expressions.comparison import to_text
from bioeval_tui.evaluation.assertions.expressions.limits import Budget
from bioeval_tui.evaluation.assertions.expressions.signatures import kotlin
from bioeval_tui.evaluation.assertions.expressions.values import Char, Long, Value, type_name

_WIDE = Context(prec=2_000)
_SPECIFIER = re.compile(r"%(?:(\d+)\$)?([-0+ ,]*)(\d{1,3})?(?:\.(\d{1,3}))?([a-zA-Z%])")


@kotlin("String.format(vararg args: Any?): String")
def format_(budget: Budget, text: str, args: tuple[Value, ...]) -> str:
    following = iter(args)
    parts: list[str] = []
    start = 0
    while (percent := text.find("%", start)) >= 0:
        found = _SPECIFIER.match(text, percent)
        if found is None:
            raise ExpressionError(
                "a % in this format is not followed by a specifier such as s, d or .2f; write %% for a percent sign"
            )
        parts.append(text[start:percent])
        parts.append(_written(budget, found, following, args))
        budget.build_text(len(parts[-1]))
        start = found.end()
    budget.build_text(len(text))
    return "".join([*parts, text[start:]])


def _written(budget: Budget, found: re.Match[str], following: object, args: tuple[Value, ...]) -> str:
    place, flags, width, precision, kind = found.groups()
    if kind in "%n":
        return "%" if kind == "%" else "\n"
    try:
        value = args[int(place) - 1] if place else next(following)  # type: ignore[call-overload]
    except (StopIteration, IndexError):
        raise ExpressionError(f"the format has no value for {found.group()}") from None
    if kind in "sS":
        shown = to_text(value, budget)[: int(precision) if precision else None]
    elif kind in "bB":
        shown = ("true" if value else "false") if type(value) is bool else str(value is not None).lower()
    elif value is None:
        shown = "null"
    elif kind in "dxX" and type(value) in (int, Long) and not precision:
        shown = _signed(value, f"{abs(value):,d}" if "," in flags else f"{abs(value):d}", flags)
        shown = f"{value & (2**64 - 1 if type(value) is Long else 2**32 - 1):x}" if kind in "xX" else shown
    elif kind == "o" and type(value) in (int, Long):
        shown = f"{value & (2**64 - 1 if type(value) is Long else 2**32 - 1):o}"
    elif kind in "cC" and type(value) is Char:
        shown = str(value)
    elif kind == "f" and type(value) is float:
        shown = _fixed(value, int(precision or 6), flags)
    else:
        raise ExpressionError(
            f"{found.group()} cannot format {type_name(value)}; %s, %d, %x, %o, %f, %c and %b are supported"
        )
    shown = shown.upper() if kind in "SBXC" else shown
    size = int(width or 0)
    if "-" in flags:
        return shown.ljust(size)
    return shown.zfill(size) if "0" in flags and value is not None else shown.rjust(size)


def _fixed(value: float, digits: int, flags: str) -> str:
    if value != value or value in (float("inf"), float("-inf")):
        return "NaN" if value != value else _signed(value, "Infinity", flags)
    rounded = Decimal(repr(abs(value))).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP, _WIDE)
    return _signed(value, f"{rounded:,f}" if "," in flags else f"{rounded:f}", flags)


def _signed(value: float, shown: str, flags: str) -> str:
    if value < 0:
        return "-" + shown
    return ("+" if "+" in flags else " " if " " in flags else "") + shown

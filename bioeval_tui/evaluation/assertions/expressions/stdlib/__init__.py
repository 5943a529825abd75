"""The supported part of Kotlin's standard library. Importing this package declares all of it."""

from bioeval_tui.evaluation.assertions.expressions.stdlib import (
    building,
    elements,
    formatting,
    lists,
    maps,
    numbers,
    ordering,
    patterns,
    scoping,
    strings,
    transforming,
)

__all__ = [
    "building",
    "elements",
    "formatting",
    "lists",
    "maps",
    "numbers",
    "ordering",
    "patterns",
    "scoping",
    "strings",
    "transforming",
]

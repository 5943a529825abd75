"""The supported part of Kotlin's standard library. Importing this package declares all of it."""

from bioeval_tui.expressions.stdlib import elements, numbers, strings, transforming

__all__ = ["elements", "numbers", "strings", "transforming"]

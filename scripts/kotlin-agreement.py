"""How many expressions have the verdict of Kotlin 1.9.25.

With `--docs`, also write the table of docs/assertions.md.

uv run python scripts/kotlin-agreement.py
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from bioeval_tui.expressions.scopes import CONSTANTS  # noqa: E402
from bioeval_tui.expressions.signatures import FUNCTIONS, METHODS, PROPERTIES  # noqa: E402
from tests.contract.kotlin import verdicts  # noqa: E402

FILES = ("kotlin_expressions.json", "kotlin_more.json")
DOCS = ROOT / "docs" / "assertions.md"
START, END = (
    "<!-- functions: written by scripts/kotlin-agreement.py --docs -->",
    "<!-- end of functions -->",
)
TITLES = {
    "maps": "Creating; maps, pairs and triples",
    "elements": "Elements and parts of collections",
    "transforming": "Filtering, mapping, grouping, folding",
    "ordering": "Sorting",
    "strings": "Strings and characters",
    "patterns": "Regular expressions",
    "numbers": "Numbers",
    "scoping": "Scope functions",
}


def main() -> None:
    """Print the share of agreement of each file, and every expression without it."""
    for name in FILES:
        rows = [row for row in verdicts(name) if isinstance(row.kotlin, bool)]
        missing = [row for row in rows if not row.agrees]
        different = sum(row.ours != "error" for row in missing)
        share = 1 - len(missing) / len(rows)
        print(
            f"{name}: {len(rows) - len(missing)} of {len(rows)} ({share:.1%}), {different}"
            " different, the rest refused:"
        )
        for row in missing:
            print(f"  {row.expression}\n    {row.reason or row.ours}")
    if "--docs" in sys.argv:
        text = DOCS.read_text("utf-8")
        before, _, rest = text.partition(START)
        DOCS.write_text(
            before + START + "\n\n" + table() + "\n" + END + rest.partition(END)[2], "utf-8"
        )


def table() -> str:
    """Return the names of each part of the library, one row a part."""
    parts: dict[str, set[str]] = {module: set() for module in TITLES}
    for known in (FUNCTIONS, PROPERTIES, METHODS):
        for name, signatures in known.items():
            compute = signatures[0].compute
            # `func` of a `partial`
            parts[getattr(compute, "func", compute).__module__.rpartition(".")[2]].add(name)
    rows = [(TITLES[module], sorted(names, key=str.lower)) for module, names in parts.items()]
    rows.append(("Constants", sorted(CONSTANTS)))
    return "\n".join(
        [
            "| | names |",
            "|---|---|",
            *(f"| {title} | `{'`, `'.join(names)}` |" for title, names in rows),
            "",
        ]
    )


if __name__ == "__main__":
    main()

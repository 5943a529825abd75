"""How many expressions have the verdict of Kotlin 1.9.25. With `--docs`, also write the table of docs/assertions.md.

uv run python scripts/kotlin-agreement.py
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from bioeval_tui.evaluation.assertions.expressions.scope import CONSTANTS  # noqa: E402
from bioeval_tui.evaluation.assertions.expressions.signatures import FUNCTIONS, METHODS, PROPERTIES, Signature  # noqa: E402
from tests.contract.kotlin import GOLDEN, verdicts  # noqa: E402

FILES = ("kotlin_expressions.json", "kotlin_more.json")
DOCS = ROOT / "docs" / "assertions.md"
START, END = "<!-- functions: written by scripts/kotlin-agreement.py --docs -->", "<!-- end of functions -->"
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
            f"{name}: {len(rows) - len(missing)} of {len(rows)} ({share:.1%}), {different} different, the rest refused:"
        )
        for row in missing:
            print(f"  {row.expression}\n    {row.reason or row.ours}")
    if "--docs" in sys.argv:
        text = DOCS.read_text("utf-8")
        before, _, rest = text.partition(START)
        DOCS.write_text(before + START + "\n\n" + table() + "\n" + END + rest.partition(END)[2], "utf-8")


def table() -> str:
    """Return a table for each part of the library: name, what it works on, the shortest true example."""
    true = [
        text
        for name in FILES
        for text, verdict in json.loads((GOLDEN / name).read_text("utf-8"))
        if verdict is True
    ]
    kept = {row.expression for name in FILES for row in verdicts(name) if row.agrees}
    examples = sorted((text for text in true if text in kept and "|" not in text), key=len)
    found: dict[str, dict[str, list[Signature]]] = {module: {} for module in TITLES}
    for known in (FUNCTIONS, PROPERTIES, METHODS):
        for name, signatures in known.items():
            compute = signatures[0].compute
            module = getattr(compute, "func", compute).__module__.rpartition(".")[2]  # of a `partial`
            found[module].setdefault(name, []).extend(signatures)
    parts = []
    for module, title in TITLES.items():
        parts.append(f"#### {title}\n\n| name | called on | example |\n|---|---|---|")
        for name in sorted(found[module], key=str.lower):
            parts.append(row(name, ", ".join(receivers(found[module][name])) or "–", examples))
        parts.append("")
    parts.append("#### Constants\n\n| name | type | example |\n|---|---|---|")
    parts += [row(name, str(kind), examples) for name, (kind, _) in sorted(CONSTANTS.items())]
    return "\n".join([*parts, ""])


def row(name: str, of: str, examples: list[str]) -> str:
    """Return one line of the table."""
    example = next((text for text in examples if re.search(rf"\b{re.escape(name)}\b", text)), "")
    return f"| `{name}` | {of} | `{example}` |"


def receivers(signatures: list[Signature]) -> list[str]:
    """Return what a function works on, in plain words."""
    plain = {
        "Each": "collections, maps, texts",
        "Items": "collections, texts",
        "Flow": "collections",
        "N": "numbers",
    }
    names = [str(part.receiver.name) for part in signatures if part.receiver is not None]
    words = [plain.get(name, "anything" if len(name) == 1 else name) for name in names]
    return list(dict.fromkeys(words))


if __name__ == "__main__":
    main()

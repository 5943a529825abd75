"""Time and memory of assertion expressions: `python benchmarks/expressions.py`.

Prints the median time of the expressions of the contract tests (parse, evaluate) beside a bare
`eval` of like work, and for each hostile expression the time and the peak of memory, worst first.
Bounds: 0.5 s, 20 MB.
"""

from __future__ import annotations

import importlib.util
import statistics
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bioeval_tui.base.errors import ExpressionError
from bioeval_tui.expressions import evaluate, parse

CASES = Path(__file__).parent.parent / "tests" / "contract" / "test_expressions.py"
BOUND_S, BOUND_MB = 0.5, 20.0


def main() -> None:
    """Print both tables."""
    cases = _load()
    texts = [text for text, wanted in cases._cases() if not wanted.startswith("!")]
    parsed = [parse(text) for text in texts]
    rows = [
        ("parse", [_median(lambda t=text: parse(t)) for text in texts]),
        ("evaluate", [_median(lambda e=one: _run(e, cases.NAMES)) for one in parsed]),
    ]
    data = [{"labels": ["A", "B"], "name": "x"}] * 3
    bare = compile("any('B' in it['labels'] and it['name'] == 'x' for it in data)", "bare", "eval")
    base = _median(lambda: eval(bare, {"data": data}))
    print(f"{len(texts)} expressions; bare eval of one `any`: {base * 1e6:.1f} µs")
    for name, times in rows:
        middle = statistics.median(times)
        print(
            f"{name:9} median {middle * 1e6:6.1f} µs ({middle / base:.0f}×), slowest"
            f" {max(times) * 1e6:6.0f} µs"
        )
    _hostile(cases)


def _hostile(cases: Any) -> None:
    results = []
    for text in cases._hostile():
        seconds = min(_timed(text, cases.NAMES) for _ in range(3))
        tracemalloc.start()
        _timed(text, cases.NAMES)
        peak = tracemalloc.get_traced_memory()[1] / 1e6
        tracemalloc.stop()
        results.append((seconds, peak, text))
    over = [row for row in results if row[0] > BOUND_S or row[1] > BOUND_MB]
    print(f"{len(results)} hostile expressions, {len(over)} over {BOUND_S} s or {BOUND_MB:.0f} MB")
    for title, key in (("slowest", 0), ("largest", 1)):
        for seconds, peak, text in sorted(results, key=lambda row: -float(row[key]))[:5]:
            print(f"  {title}: {seconds * 1000:5.0f} ms {peak:6.1f} MB  {text[:70]}")


def _timed(text: str, names: Any) -> float:
    start = time.perf_counter()
    try:
        evaluate(parse(text), names)
    except ExpressionError:
        return time.perf_counter() - start
    raise SystemExit(f"not refused: {text[:100]}")


def _median(work: Callable[[], Any]) -> float:
    times = []
    for _ in range(9):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def _run(expression: Any, names: Any) -> None:
    evaluate(expression, names)


def _load() -> Any:
    spec = importlib.util.spec_from_file_location("expression_cases", CASES)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    main()

"""Corrected scores compared with ppi-python itself, which is too large for every clone.

    uv run --with ppi-python==0.2.3 pytest tests/peers/test_ppi_python.py

Without the package, `conftest.py` leaves this file out; `.ci/run` brings it.
"""

from __future__ import annotations

import numpy as np
import ppi_py
import pytest

from bioeval_tui.statistics.judges import JudgedItem, corrected_mean


@pytest.mark.parametrize(
    ("n", "n_rest", "binary", "sign"),
    [(30, 70, False, 1), (100, 1900, True, 1), (60, 61, True, -1)],
)
def test_independent_reviews_give_the_estimate_of_ppi_python(
    n: int, n_rest: int, binary: bool, sign: int
) -> None:
    rng = np.random.default_rng(n)
    truth = rng.beta(2, 2, n + n_rest)
    people = (rng.random(n + n_rest) < truth).astype(float) if binary else truth
    judge = np.clip(0.5 + sign * (truth - 0.5) + 0.1 * rng.normal(size=n + n_rest), 0, 1)
    expected = ppi_py.ppi_mean_pointestimate(people[:n], judge[:n], judge[n:])
    found = corrected_mean(
        [
            JudgedItem(f, y if i < n else None)
            for i, (f, y) in enumerate(zip(judge.tolist(), people.tolist(), strict=True))
        ],
        "random",
    )
    assert found.estimate == pytest.approx(float(expected[0]), abs=1e-9)

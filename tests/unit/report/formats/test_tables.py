"""Tables that are exported: no cell is a formula for a spreadsheet, or markup."""

from __future__ import annotations

import csv
from io import StringIO

import pytest

from tests.documents import table_of


def test_a_table_has_no_formula_and_no_markup() -> None:
    assert table_of("csv", ["a"], [["=HYPERLINK(1)"], [-1.5], [None]]) == 'a\n\'=HYPERLINK(1)\n-1.5\n""\n'
    assert table_of("md", ["a"], [["x|y [b](c) <i>"]]).splitlines()[2] == "| x\\|y \\[b\\](c) &lt;i&gt; |"


@pytest.mark.parametrize("begin", ["=", "+", "-", "@", "＝", "＠", "\n=", " =", "\t"])
def test_a_cell_that_looks_like_a_formula_gets_an_apostrophe(begin: str) -> None:
    (_, (cell,)) = csv.reader(StringIO(table_of("csv", ["a"], [[f"{begin}1+1"]])))
    assert cell == f"'{begin}1+1"

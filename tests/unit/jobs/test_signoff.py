"""The sign-off is recognised as models write it, and nowhere else."""

import pytest

from bioeval_tui.peers.goodbyes import without_signoff

FISH = "So Long, and Thanks for All the Fish"


@pytest.mark.parametrize(
    ("said", "rest"),
    [
        (FISH, ""),
        ("so long and thanks for all the fish", ""),
        ("So Long,\nand Thanks for All\nthe Fish.", ""),
        ("**So Long, and Thanks for All the Fish!**", ""),
        ("Thank you. So long and thanks for all the fish!", "Thank you."),
        ("So long, and thanks for all the fishes", None),
        ("So long, and many thanks for all the fish", None),
        ("So long!", None),
        ("", None),
    ],
)
def test_a_sign_off_is_recognised_by_its_words_in_order(said, rest):
    assert without_signoff(said, FISH) == rest


@pytest.mark.parametrize(
    ("signoff", "said"),
    [
        ("That's all, folks!", "thats all folks"),
        ("Auf Wiedersehen!", "auf\nwiedersehen"),
        ("👋", "👋"),
        ("再见。", "再见"),
    ],
)
def test_a_job_may_have_any_sign_off(signoff, said):
    assert without_signoff(said, signoff) == ""


@pytest.mark.parametrize(
    ("said", "rest"),
    [
        (f"_{FISH}_", ""),
        (f"Thank you. _{FISH}!_", "Thank you."),
        (f"{FISH} {FISH}", ""),
        (f"“Bye.” *{FISH}*… and **take care**", "“Bye.”   and **take care**"),
        (f"a{FISH}", None),
        (f"{FISH}1", None),
    ],
)
def test_emphasis_of_any_kind_belongs_to_a_sign_off(said, rest):
    assert without_signoff(said, FISH) == rest

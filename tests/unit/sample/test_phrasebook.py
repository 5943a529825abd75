"""The sample agent answers in German or Chinese where it is spoken to so, and in English
otherwise.
"""

import pytest

from bioeval_tui.sample.agent.phrasebook import CHINESE, GERMAN, find_phrasebook


@pytest.mark.parametrize(
    ("said", "book"),
    [
        ("Hallo", GERMAN),
        ("Könnten Sie mich morgen um 9 Uhr an Warfarin erinnern?", GERMAN),
        ("你好", CHINESE),
        ("Remind me to call Dr. Müller tomorrow at 9", None),
        ("Did it die with it?", None),
        ("", None),
    ],
)
def test_the_language_of_a_message_is_recognised(said, book):
    assert find_phrasebook(said) is book


def test_what_is_not_in_the_phrasebook_is_answered_in_its_language():
    assert GERMAN.translated("BRCA1 is a gene.").startswith("Das habe ich nicht verstanden")
    assert CHINESE.translated("You are welcome.") == "不客气。"

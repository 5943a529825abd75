"""Untrusted text: no control sequence survives, and cleaning twice changes nothing more."""

from __future__ import annotations

import csv
import io
import re
import sys
import unicodedata

import pytest
import regex
from hypothesis import given, strategies as st

from bioeval_tui.base.text import (
    clean,
    clean_value,
    file_title,
    is_large,
    join_names,
    mask_secret,
    needs_cleaning,
    quotation,
    shorten,
    spreadsheet_cell,
    terminal_text,
    visible_text,
)
from bioeval_tui.plugins import clean_line


@pytest.mark.parametrize(
    ("hostile", "shown"),
    [
        ("\x1b[2Jgone", "␛gone"),
        ("\x1b]52;c;aGVsbG8=\x07x", "␛x"),
        ("\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\", "␛link␛"),
        ("\x1bPq#0\x1b\\x", "␛x"),
        ("\x9b31mred", "␛red"),
        ("a\x00b\x07c", "a␀b␇c"),
        ("abc\u202edef", "abc⍰def"),
        ("zero\u200bwidth", "zero\u200bwidth"),
        ("line\r\nnext\rlast", "line\nnext\nlast"),
        ("tab\tand\nnewline", "tab\tand\nnewline"),
        ("می\u200cخواهم", "می\u200cخواهم"),
        ("क्\u200dष", "क्\u200dष"),
        ("10\u202f000 mg", "10\u202f000 mg"),
        ("Blut\u00adver\u00addünner", "Blut\u00adver\u00addünner"),
        ("\u200fالجرعة \u20665 mg\u2069\u061c", "\u200fالجرعة \u20665 mg\u2069\u061c"),
        ("tag\U000e0041", "tag⍰"),
        ("naïve Ω 漢字 👩‍⚕️ [/INST]", "naïve Ω 漢字 👩‍⚕️ [/INST]"),
    ],
)
def test_hostile_text_becomes_visible_and_ordinary_text_stays(hostile: str, shown: str) -> None:
    assert clean(hostile) == shown


@given(st.text(max_size=300))
def test_no_control_character_survives_and_cleaning_is_idempotent(text: str) -> None:
    cleaned = clean(text)
    assert clean(cleaned) == cleaned
    for character in cleaned:
        assert character in "\t\n\u200d" or unicodedata.category(character) not in (
            "Cc",
            "Cs",
        ), repr(character)
        assert character not in "\u202a\u202b\u202c\u202d\u202e"


@given(st.text(max_size=300))
def test_a_terminal_gets_no_character_that_is_not_drawn(text: str) -> None:
    shown = terminal_text(text)
    assert terminal_text(shown) == shown
    invisible = {letter for letter in shown if unicodedata.category(letter) in ("Cc", "Cf", "Cs")}
    # The joiners belong to words and emoji; others belong to the letter after them, as the signs of
    # Arabic numbers do.
    assert invisible <= set(
        "\t\n\u200c\u200d\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2"
    ) | {letter for letter in invisible if ord(letter) > 0xFFFF}


def test_direction_marks_and_soft_hyphens_are_drawn_and_left_out_of_comparisons() -> None:
    arabic = "\u200f\u2067الجرعة\u2069 Blut\u00addruck\u200b"
    assert clean(arabic) == arabic
    assert terminal_text(arabic) == "⍰⍰الجرعة⍰ Blut⍰druck⍰"
    assert visible_text(arabic) == "الجرعة Blutdruck"


def test_a_formula_is_found_behind_characters_that_nobody_sees() -> None:
    assert spreadsheet_cell("\u200b=1+1").startswith("'")
    assert spreadsheet_cell("\u200bone") == "\u200bone"


@pytest.mark.parametrize("introducer", ["\x1b]", "\x1bP", "\x9d", "\x1b[", "\x9b"])
def test_unfinished_escape_sequences_are_cleaned_in_linear_time(introducer: str) -> None:
    # With a backtracking pattern a million of these would take minutes, far past the test's time
    # limit.
    cleaned = clean(introducer * 450_000)
    assert "\x1b" not in cleaned
    assert "\x9d" not in cleaned


WORDS = [
    "น้ำผู้ใหญ่กตัญญู", "क्षेत्र संस्कृतं श्रृंखला", "ஸ்ரீ சிந்திக்கிறேன்", "বৈদ্যুতিক ক্ষুদ্র",
    "ക്ഷീണം", "అధ్యక్షుడు",
    "مُحَمَّدٌ الرَّحْمٰنِ اللّٰهُمَّ", "بِسْمِ ٱللَّهِ ٱلرَّحْمَـٰنِ", "بِرَأْسِ مؤلّف",
    "בְּרֵאשִׁ֖ית בָּרָ֣א אֱלֹהִ֑ים", "ကြိုးစား လုပ်ငန်း", "ស្ត្រី ក្រុង",
    "བསྒྲུབས ཧཱུྃ", "ཧྐྵྨླྺྼྻྂ", "Tiếng Việt nghiễm nhiên", "ᬲᬸᬓ᭄ᬲ᭄ᬫ", "👩‍❤️‍💋‍👨 👨‍👩‍👧‍👦 1️⃣",
    "n̊ṳ̄̌ Z̯̃ˤ",
    "안녕하세요 한국어 값없다", "ᄒᆞᆫ글 ᄢᅴ 나랏〮말〯ᄊᆞ미",
    "👩🏽‍❤️‍💋‍👨🏿 👩🏿‍🤝‍👨🏻 🧑🏽‍🚀 🏳️‍🌈 🇩🇪🇰🇷 👍🏽👍🏿", "ශ්‍රී ලංකා",
]  # fmt: skip


@pytest.mark.parametrize("word", WORDS)
def test_words_of_every_script_keep_their_marks(word: str) -> None:
    for form in (unicodedata.normalize("NFC", word), unicodedata.normalize("NFD", word)):
        assert clean(form) == form
        assert clean(f"{form}\n" * 3) == f"{form}\n" * 3


def test_more_than_eight_marks_in_a_row_are_cut_in_every_script() -> None:
    # the others, such as selectors, are not shown at all
    characters = map(chr, range(sys.maxunicode))
    marks = [one for one in characters if unicodedata.category(one).startswith("M")]
    shown = [mark for mark in marks if clean(mark) == mark]
    assert len(shown) > 2_000
    for mark in (*shown, "\u200d", "\u200c", "\u1afe", "\u20f5"):
        assert clean("a" + mark * 8 + "b") == "a" + mark * 8 + "b", hex(ord(mark))
        assert clean("a" + mark * 9 + "b") == "a" + mark * 8 + "b", hex(ord(mark))


def test_marks_of_several_scripts_count_together_and_other_signs_between_them_stay() -> None:
    several = "\u0301\u0e48\u0951\u0f71"
    assert clean("a" + several * 100) == "a" + several * 2
    assert clean(("…" + several * 100) * 2) == ("…" + several * 2) * 2
    for line in ("─" * 500, "…" * 500, "👍" * 500, "、。" * 500):
        assert clean(line) == line


ENDLESS = {
    "vowels": "\u1100" + "\u1161" * 400,
    "last consonants": "\uac00" + "\u11a8" * 400,
    "vowels without a consonant": "\u1161" * 400,
    "old vowels": "\ua960" + "\ud7b0" * 400,
    "first consonants": "\u1100" * 400,
    "vowels with marks": "\u1100" + "\u1161\u0301" * 400,
    "vowels and spaces without width": "\u1100" + "\u1161\u200b" * 400,
    "marks and spaces without width": "a" + "\u0301\u200b" * 400,
    "marks and marks of direction": "a" + "\u0e49\u200e" * 400,
    "skin tones": "👍" + "🏽" * 400,
    "skin tones alone": "🏽🏿" * 400,
    "a family without an end": "👩" + "\u200d👩" * 400,
    "and with skin tones": "👩🏽" + "\u200d👩🏽" * 400,
    "selectors": "❤" + "\ufe0f" * 400,
    "everything": "👩" + "\u200d\ufe0f🏽👩\u1161\u0301" * 400,
}


@pytest.mark.parametrize("name", ENDLESS)
def test_a_letter_without_an_end_has_one(name: str) -> None:
    follow = r"[\u1160-\u11ff\ud7b0-\ud7fb\u0300-\u036f\u0e49\ufe0f\u200d]+"
    for others in ("{}", "a{}", "{}b", "{} {}", "ab{}cd", "한{}국", "👍{}👍"):
        shown = clean(others.replace("{}", ENDLESS[name]))
        letters = regex.findall(r"\X", shown)
        assert max(map(len, letters)) <= 13, others
        assert max(map(len, re.findall(follow, shown)), default=0) <= 8, others
        assert clean(shown) == shown, others
    assert needs_cleaning(ENDLESS[name])


@given(st.text("a 👩👍🏽🏿\u200d\ufe0f\u1100\u1161\u11a8\uac00\u0301\u200b\u0e49⍰é", max_size=80))
def test_cleaning_letters_of_many_parts_twice_changes_nothing_more(text: str) -> None:
    assert clean(clean(text)) == clean(text)
    if not needs_cleaning(text):
        assert clean(text) == text


def test_long_text_is_cut_and_says_so() -> None:
    assert clean("x" * 50, 10) == "x" * 10 + "\n… cut after 10 characters"


def test_a_short_secret_is_hidden_where_it_is_a_word_and_a_long_one_everywhere() -> None:
    assert mask_secret("the key x is refused: example", "x") == "the key [key] is refused: example"
    assert mask_secret("key=sk-12345678.", "sk-12345678") == "key=[key]."
    assert mask_secret("asecret123b", "secret123") == "a[key]b"
    assert mask_secret("nothing", "") == "nothing"


def test_a_cleaned_line_has_no_line_break() -> None:
    assert clean_line("a\n b\t c\x1b[31m") == "a b c␛"


def test_keys_and_values_of_nested_data_are_cleaned() -> None:
    assert clean_value({"\x1b[2Jk": ["\x07", 1, None, {"x": "\x00"}]}) == {
        "␛k": ["␇", 1, None, {"x": "␀"}]
    }


def test_shortening_marks_the_cut() -> None:
    assert shorten("one two three", 8) == "one two…"
    assert shorten("one", 8) == "one"


def test_shortening_cuts_after_a_word_unless_little_would_be_left() -> None:
    assert shorten("it sets no reminder without a time zone", 24) == "it sets no reminder…"
    assert shorten("see https://example.org/a/long/address", 24) == "see https://example.org…"
    assert shorten("华法林与布洛芬合用会增加出血风险", 8) == "华法林与布洛芬…"


@pytest.mark.parametrize(
    ("said", "quoted"),
    [
        ("on **5 of 20** days", "on 5 of 20 days"),
        ("# Dose\n\n*Take* **5 mg _daily_**.", "Dose Take 5 mg daily."),
        ("这是**重点**内容", "这是重点内容"),
        ("`INR` ~~2~~ 3, see [the label](https://example.org)", "INR 2 3, see the label"),
        ("> he said\n> so", "he said so"),
        ("| drug | dose |\n|---|--:|\n| warfarin | 5 mg |", "| drug | dose | | warfarin | 5 mg |"),
        ("```json\n{}\n```\nas text", "{} as text"),
        ("2*3*4, p < 0.05*, snake_case_name, 5 ** 2", "2*3*4, p < 0.05*, snake_case_name, 5 ** 2"),
        ("an unclosed **mark", "an unclosed **mark"),
    ],
)
def test_a_quotation_has_no_marks_of_markdown(said: str, quoted: str) -> None:
    assert quotation(said, 84) == quoted


@pytest.mark.parametrize("marks", ["-" * 6_000 + "|" * 6_000, "|-" * 6_000])
def test_a_quotation_of_nothing_but_marks_comes_to_an_end(marks: str) -> None:
    assert quotation(f"{marks}x", 20_000) == f"{marks}x"  # steps by its cube would take hours


def test_the_title_of_a_file_is_one_short_line() -> None:
    assert file_title("/jobs/reminder.yml") == "reminder"
    long = file_title("提醒_" * 30 + ".yml")
    assert len(long) == 80
    assert long.endswith("…")


@pytest.mark.parametrize(
    ("value", "large"),
    [
        ({"resources": [{"name": "warfarin", "dose": 5}]}, False),
        ("a" * 101, True),
        ({"a" * 101: None}, True),
        ([[["a" * 60], {"b": "c" * 60}]], True),
        (list(range(101)), True),
        (None, False),
    ],
)
def test_the_size_of_a_value_counts_texts_keys_and_items(value: object, large: bool) -> None:
    assert is_large(value, 100) is large


@pytest.mark.parametrize(
    "start", ["=", "+", "-", "@", "\t=", " =", "\r=", "\n=", "＝", "＠", "\u3000="]
)
def test_a_cell_is_never_a_formula_and_stays_in_its_row(start: str) -> None:
    text = f"{start}HYPERLINK(1)\r2\r\n3"
    shown = spreadsheet_cell(text)
    assert shown.startswith("'")
    assert "\r" not in shown
    for end in ("\n", "\r\n"):
        file = io.StringIO()
        csv.writer(file, lineterminator=end).writerow(["a", shown])
        assert list(csv.reader(io.StringIO(file.getvalue(), newline=""))) == [["a", shown]]


def test_an_ordinary_cell_is_unchanged() -> None:
    assert spreadsheet_cell("3.5 mg = 1 tablet") == "3.5 mg = 1 tablet"


@given(st.text(max_size=300))
def test_what_needs_no_cleaning_is_left_as_it_is(text: str) -> None:
    text = text.replace("\r", "")
    if not needs_cleaning(text):
        assert clean(text) == text


@pytest.mark.parametrize("changed", ["\x1b[2J", "\x07", "\x9b1m", "\u202e", "\u2028", "\u0e49" * 9])
def test_a_text_that_is_changed_needs_cleaning(changed: str) -> None:
    assert clean(changed) != changed
    assert needs_cleaning(f"every day {changed} at nine")


@pytest.mark.parametrize(
    ("count", "said"),
    [(0, ""), (1, "0"), (2, "0, 1"), (3, "0, 1, 2"), (4, "0, 1, 2, and 1 more")],
)
def test_names_beyond_the_most_are_counted(count: int, said: str) -> None:
    assert join_names([str(at) for at in range(count)], most=3) == said

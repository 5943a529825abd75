"""What masking rules find in texts, whole and streamed."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from bioeval_tui.base.errors import InputError
from bioeval_tui.record.masking.mask import _Growing
from bioeval_tui.record.masking.rules import HIDDEN, MOST_SLOW, PatternRule, Rules, load_rules

RULES = r"""
names:
  - Ada Lovelace
  - [Grace Hopper, Hopper, Amazing Grace]
  - José Núñez
  - {text: [Dr Who], as: CLINICIAN}
identifiers:
  - MRN-0042
  - '9434765919'
  - 'X-77'
patterns:
  - {pattern: '\b[A-Z]{2}\d{6}\b', as: PASSPORT}
  - {pattern: '(?<=born )\d{4}(-\d{2}-\d{2})?', as: BORN}
"""


@pytest.fixture(scope="module")
def rules(tmp_path_factory: pytest.TempPathFactory) -> Rules:
    folder = tmp_path_factory.mktemp("rules")
    (folder / "rules.yml").write_text(RULES, "utf-8")
    return load_rules(folder / "rules.yml", folder)


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("Ada Lovelace, ADA  LOVELACE, Ada\nLovelace", "[PATIENT-1], [PATIENT-1], [PATIENT-1]"),
        (
            "ada_lovelace ada.lovelace@x.org AdaLovelace's",
            "[PATIENT-1] [PATIENT-1]@x.org [PATIENT-1]'s",
        ),
        ("Lovelace, Ada; **Ada** Lovelace", "[PATIENT-1]; **[PATIENT-1]"),
        ("patientAdaLovelace1815", "patient[PATIENT-1]1815"),
        ("the Hoppers; a grasshopper hopped", "the [PATIENT-2]s; a grasshopper hopped"),
        (
            "Jose Nunez, JOSÉ NÚÑEZ, Jose\u0301 Nu\u0301n\u0303ez.",
            "[PATIENT-3], [PATIENT-3], [PATIENT-3].",
        ),
        ("A\u00adda \u200eLove\u200blace\u200f.", "[PATIENT-1]\u200f."),
        ("Dr. Who", "[CLINICIAN-1]"),
        (
            "jobs/ada_lovel… and …elace.yml, adapt…",
            "jobs/[PATIENT-1]… and …[PATIENT-1].yml, adapt…",
        ),
        ("mrn 0042, MRN0042b, 943 476 5919", "[ID-1], [ID-1]b, [ID-2]"),
        ("X77, x-77, AX779", "[ID-3], [ID-3], AX779"),
        (
            "Canada; lovelace; Ada, Countess of Lovelace",
            "Canada; lovelace; Ada, Countess of Lovelace",
        ),
        ("see [PATIENT-1] and [ID-2]", "see [PATIENT-1] and [ID-2]"),
    ],
)
def test_names_and_identifiers_are_masked_in_any_spelling(
    rules: Rules, text: str, masked: str
) -> None:
    assert rules.replace(text) == masked
    assert rules.replace(masked) == masked


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        # cut to four letters, on either side, and to three
        ("ada l… and …lace", "[PATIENT-1]… and …[PATIENT-1]"),
        ("ada… and …ace", "ada… and …ace"), ("hada l… and …laces", "hada l… and …laces"),
        # side by side, and one inside the other
        ("AdaLovelaceGraceHopper", "[PATIENT-1][PATIENT-2]"), ("Grace Hopper", "[PATIENT-2]"),
        ("MRN-0042943 476 5919", "[ID-1][ID-2]"),
        # four signs between the words of a name, and five
        ("Ada    Lovelace", "[PATIENT-1]"), ("Ada     Lovelace", "Ada     Lovelace"),
        # six letters and digits, and five, inside a longer word
        ("xAB1234y", "x[ID-4]y"), ("xCD123y", "xCD123y"), ("(CD123)", "([ID-5])"),
    ],
)  # fmt: skip
def test_each_limit_of_a_match(tmp_path: Path, text: str, masked: str) -> None:
    (tmp_path / "rules.yml").write_text(
        RULES.replace("  - 'X-77'\n", "  - 'X-77'\n  - AB1234\n  - CD123\n"), "utf-8"
    )
    assert load_rules(tmp_path / "rules.yml", tmp_path).replace(text) == masked


SCRIPTS = """
names:
  - [王小明, 王 大卫]
  - 山田太郎
  - สมชาย
  - [김철수, 이수]
  - محمد
  - דוד כהן
  - राम
  - Łukasz Nowak
  - Søren Holm
  - Đorđe
  - [Müller, Anna]
  - Aebischer
  - Ayşe
  - علی‌رضا
identifiers: ['9434765919', AB12]
"""


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> Rules:
    folder = tmp_path_factory.mktemp("scripts")
    (folder / "rules.yml").write_text(SCRIPTS, "utf-8")
    return load_rules(folder / "rules.yml", folder)


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        # no spaces between words
        ("我叫王小明。王小明您好", "我叫[PATIENT-1]。[PATIENT-1]您好"),
        ("王　小明，王大卫说", "[PATIENT-1]，[PATIENT-1]说"), ("王小、明", "王小、明"),
        ("山田太郎さんと山田 太郎様", "[PATIENT-2]さんと[PATIENT-2]様"),
        ("คุณสมชายครับ", "คุณ[PATIENT-3]ครับ"),
        ("山田…と…太郎さん", "[PATIENT-2]…と…[PATIENT-2]さん"),
        # a particle, prefix or ending in the same word; one syllable less is another name
        ("김철수는 김 철수씨", "[PATIENT-4]는 [PATIENT-4]씨"),
        ("이순신 이수의", "이순신 [PATIENT-4]의"),
        ("لمحمد ومحمد مـحـمـد مُحَمَّد", "ل[PATIENT-5] و[PATIENT-5] [PATIENT-5] [PATIENT-5]"),
        ("לדוד כהן", "ל[PATIENT-6]"), ("रामजी रोम", "[PATIENT-7]जी रोम"),
        ("علی رضا عليرضا", "[PATIENT-14] [PATIENT-14]"),
        # letters that have no accent to lose, both ways
        ("Lukasz Nowak, ŁUKASZ NOWAK; Soren Holm; Soeren Holm",
            "[PATIENT-8], [PATIENT-8]; [PATIENT-9]; [PATIENT-9]"),
        ("Dorde, Djordje, Mueller, MÜLLER, Muller, Æbischer",
            "[PATIENT-10], [PATIENT-10], [PATIENT-11], [PATIENT-11], [PATIENT-11], [PATIENT-12]"),
        # Latin beside another script; a Latin word stays whole
        ("Annaさん、Anna님, Annas, Annabel, Ayşenin",
            "[PATIENT-11]さん、[PATIENT-11]님, [PATIENT-11]s, Annabel, Ayşenin"),
        # digits of every script
        ("٩٤٣٤٧٦٥٩١٩ ۹۴۳۴۷۶۵۹۱۹ ९४३४७६५९१९ ９４３４ ７６５９１９", "[ID-1] [ID-1] [ID-1] [ID-1]"),
        ("号AB12是 xAB12 AB١٢", "号[ID-2]是 xAB12 [ID-2]"),
    ],
)  # fmt: skip
def test_names_are_masked_in_every_script(scripts: Rules, text: str, masked: str) -> None:
    assert scripts.replace(text) == masked
    assert scripts.replace(masked) == masked


def test_a_tag_is_no_part_of_a_name_or_identifier(tmp_path: Path) -> None:
    (tmp_path / "rules.yml").write_text("names: [Ada]\nidentifiers: ['123456']", "utf-8")
    rules = load_rules(tmp_path / "rules.yml", tmp_path)
    assert rules.replace("Ada23456") == "[PATIENT-1]23456"
    assert rules.replace("[PATIENT-1]23456") == "[PATIENT-1]23456"


PIECES = st.sampled_from(
    ["王", "小明", "大卫", "山田", "太郎", "さん", "สม", "ชาย", "ครับ", "김", "철수", "는", "이",
     "수", "순", "이수", "م", "ح", "مد", "ـ", "ُ", "ל", "דוד ", "כהן", "रा", "म", "ा", "ी", "्",
     "Luka", "Łuka", "sz ", "Nowak", "Mü", "Mue", "ller", "s", "ß", "Æ", "bischer", "Anna",
     "عل", "ی", "\u200c", "رضا", "٩٤٣٤٧", "65919", "AB", "١٢", "1", "[PATIENT-", "1]", " ", "…",
     "\u0301", "\u1102\u1161"]
)  # fmt: skip


@given(st.lists(PIECES, max_size=20), st.data())
def test_every_script_is_masked_for_good_and_alike_in_streams(
    scripts: Rules, pieces: list[str], data: st.DataObject
) -> None:
    text = "".join(pieces)
    whole = scripts.replace(text)
    assert scripts.replace(whole) == whole
    growing, given, at = _Growing(), "", 0
    while at < len(text):
        step = data.draw(st.integers(1, 12))
        given += growing.add(text[at : at + step], scripts)
        at += step
        assert whole.startswith(given)
    assert given + growing.rest(scripts) == whole


@settings(max_examples=40)
@given(
    st.text("王明ab é1", max_size=4),
    st.sampled_from(["王小明", "김철수", "محمد", "สมชาย", "राम"]),
    st.text(max_size=8),
)
def test_a_name_of_an_unspaced_script_is_found_in_any_text(
    scripts: Rules, before: str, name: str, after: str
) -> None:
    assert name not in scripts.replace(f"{before}{name}{after}")


def test_a_pattern_does_not_mask_what_is_already_masked(tmp_path: Path) -> None:
    (tmp_path / "rules.yml").write_text(
        r"patterns: [{pattern: '\[?[A-Z]+-\w+\]?', as: CODE}]", "utf-8"
    )
    rules = load_rules(tmp_path / "rules.yml", tmp_path)
    masked = rules.replace("see AB-12")
    assert masked.startswith("see [CODE-")
    assert rules.replace(masked) == masked


def test_equal_matches_of_a_pattern_get_the_same_tag(rules: Rules, tmp_path: Path) -> None:
    first, second, third = (
        rules.replace("AB123456, XY987654 and again ab123456")
        .replace(" and again", ",")
        .split(", ")
    )
    assert first == third != second
    assert first.startswith("[PASSPORT-")
    (tmp_path / "rules.yml").write_text(RULES, "utf-8")
    elsewhere = load_rules(tmp_path / "rules.yml", tmp_path)
    assert elsewhere.replace("AB123456") != first  # another key: the tag tells nothing by itself
    assert load_rules(tmp_path / "rules.yml", tmp_path).replace("AB123456") == elsewhere.replace(
        "AB123456"
    )
    assert (tmp_path / "masking.key").stat().st_mode & 0o777 == 0o600


@pytest.mark.long
def test_a_text_that_cannot_be_searched_in_time_is_hidden_completely() -> None:
    rules = Rules([], [PatternRule(r"(a|aa)+$", "X")])
    text = "a" * 4000 + "b"
    assert rules.replace(text) == HIDDEN
    assert rules.settled(text) == 0
    for _ in range(MOST_SLOW):
        rules.replace(text)
    assert rules.replace("short") == HIDDEN  # no more time is spent on it


WORDS = st.sampled_from(
    ["Ada", "Lovelace", "ada lovelace", "Grace", "Hopper", "Amazing ", "Jose\u0301 ", "Núñez", "Dr",
        " Who", "MRN-", "0042",
     "943 476 ", "5919", "AB1234", "56", "born 18", "15-12", "-10", " ", "\n", ", ", "a", "s",
     "[PATIENT-", "1]", "ſ", "ß", "…", "Loved…", "…lace"]
)  # fmt: skip


@given(st.lists(WORDS, max_size=30), st.data())
def test_streamed_text_is_masked_like_the_whole_text(
    rules: Rules, words: list[str], data: st.DataObject
) -> None:
    text = "".join(words)
    whole = rules.replace(text)
    growing, given, at = _Growing(), "", 0
    while at < len(text):
        step = data.draw(st.integers(1, 12))
        given += growing.add(text[at : at + step], rules)
        at += step
        assert whole.startswith(given)
    assert given + growing.rest(rules) == whole


def test_streamed_text_is_delayed_only_where_a_name_may_begin() -> None:
    from bioeval_tui.record.masking.rules import LiteralRule

    rules = Rules([LiteralRule.of("Ada Lovelace", "[PATIENT-1]", is_name=True)])
    growing = _Growing()
    pieces = ["Your patient A", "da", " Love", "d dogs. Ada L", "ovelace", " too"]
    given = [growing.add(piece, rules) for piece in pieces]
    assert given == ["Your patient ", "", "", "Ada Loved dogs. ", "", "[PATIENT-1] too"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "rules.yml: the file is empty; give names, identifiers or patterns"),
        ("- Ada", "rules.yml:1:1: lists are needed under the keys names, identifiers, patterns"),
        ("names: [Ada]\nname: [Bob]",
            "rules.yml:2:1: unknown key `name`; the keys are names, identifiers, patterns"),
        ("names: Ada", "rules.yml:1:8: names: a list with at least one entry is needed here"),
        ("names:\n  - Ada\n  - 7",
            "rules.yml:3:5: names[1]: text is needed here; put a number in quotes, such as '0042'"),
        ("names: [A]", "rules.yml:1:9: names[0]: too short: 2 letters"),
        ("names: [김]", "rules.yml:1:9: names[0]: too short: 2 letters"),
        ("identifiers: ['12']", "rules.yml:1:15: identifiers[0]: too short: 3 letters"),
        ("names: [Ada, ada]", "[PATIENT-1] and [PATIENT-2] are the same text; list it once"),
        ("names: [{text: Ada, as: doctor}]", "names[0].as: use a word in capitals"),
        ("names: [{as: DOCTOR}]", "names[0]: an entry has `text` and may have `as`"),
        ("patterns: ['\\d+']", "patterns[0]: `pattern` (a regular expression) and `as`"),
        ("patterns:\n  - pattern: '('\n    as: X",
            "rules.yml:2:14: patterns[0].pattern: the pattern `(` cannot be read: missing )"),
        ("patterns: [{pattern: 'x*', as: X}]", "matches an empty text"),
        ("names: [Ada", "not valid YAML: did not find expected"),
    ],
)  # fmt: skip
def test_an_invalid_rules_file_is_one_sentence_with_its_line(
    tmp_path: Path, text: str, said: str
) -> None:
    path = tmp_path / "rules.yml"
    path.write_text(text, "utf-8")
    with pytest.raises(InputError) as caught:
        load_rules(path, tmp_path)
    assert len(caught.value.problems) == 1, caught.value.problems
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("names: [Al]", ""), ("names: [Müller, Mueller]", ""), ("identifiers: [A12]", ""),
        (f"names: [{{text: Ada, as: {'A' * 20}}}]", ""),
        (f"names: [{{text: Ada, as: {'A' * 21}}}]", "at most 20 characters"),
        (f"names: [{', '.join(f'n{n}' for n in range(5000))}]", ""),
        (f"names: [{', '.join(f'n{n}' for n in range(5001))}]", "5,001 entries; the limit"),
        ("names: [Ada] #".ljust(1_000_000, "x"), ""),
        ("names: [Ada] #".ljust(1_000_001, "x"), "larger than 1,000,000 bytes"),
    ],
    ids=range(9),
)  # fmt: skip
def test_each_limit_of_a_rules_file(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "rules.yml"
    path.write_text(text, "utf-8")
    if not said:
        load_rules(path, tmp_path)
        return
    with pytest.raises(InputError, match=said):
        load_rules(path, tmp_path)


def test_a_missing_or_binary_rules_file_is_reported(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read: No such file"):
        load_rules(tmp_path / "none.yml", tmp_path)
    (tmp_path / "latin.yml").write_bytes(b"names: [Jos\xe9]")
    with pytest.raises(InputError, match="not UTF-8"):
        load_rules(tmp_path / "latin.yml", tmp_path)

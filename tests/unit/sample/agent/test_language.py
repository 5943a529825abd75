"""What the sample agent understands of a message."""

from __future__ import annotations

from datetime import UTC, datetime, time
from zoneinfo import ZoneInfo

import pytest

from bioeval_tui.sample.agent.facts import BUILT_IN
from bioeval_tui.sample.agent.language import find_dose, read
from bioeval_tui.sample.agent.times import find_time_zone, find_when

NOW = datetime(2026, 11, 20, 20, 0, tzinfo=UTC)  # a Friday


@pytest.mark.parametrize(
    ("text", "zone"),
    [
        ("Sydney.", "Australia/Sydney"),
        ("I'm in New York right now", "America/New_York"),
        ("Europe/Berlin", "Europe/Berlin"),
        ("UTC+2", "Etc/GMT-2"),
        ("GMT-05:00", "Etc/GMT+5"),
        ("utc", "UTC"),
        ("I live in Munich", "Europe/Berlin"),
        ("JST please", "Asia/Tokyo"),
        ("I'd rather not say", ""),
        ("Mars/Olympus", ""),
        ("when I wake up on Christmas", ""),
    ],
)
def test_a_time_zone_is_understood_from_a_place_or_an_offset(text: str, zone: str) -> None:
    assert find_time_zone(text) == zone


@pytest.mark.parametrize(
    ("text", "clock"),
    [
        ("tomorrow at 9", time(9)),
        ("at 8:30", time(8, 30)),
        ("at 9 pm", time(21)),
        ("9pm", time(21)),
        ("at 9 in the evening", time(21)),
        ("12 am", time(0)),
        ("12 pm", time(12)),
        ("at noon", time(12)),
        ("at 21:15", time(21, 15)),
        ("on 2026-11-25 at 7", time(7)),
        ("at 5 mg", None),
        ("at 25", None),
        ("warfarin 5 mg", None),
    ],
)
def test_a_time_of_day_is_understood(text: str, clock: time | None) -> None:
    assert find_when(text).clock == clock


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("tomorrow at 9", "2026-11-22T09:00:00+11:00"),  # it is Saturday in Sydney already
        ("today at 9", "2026-11-21T09:00:00+11:00"),
        ("day after tomorrow at 9", "2026-11-23T09:00:00+11:00"),
        ("at 9", "2026-11-21T09:00:00+11:00"),
        ("at 6", "2026-11-22T06:00:00+11:00"),
        ("on Monday at 9", "2026-11-23T09:00:00+11:00"),
        ("on Saturday at 6", "2026-11-28T06:00:00+11:00"),
        ("every day at 6", "2026-11-22T06:00:00+11:00"),
        ("on 3 May at 9", "2027-05-03T09:00:00+10:00"),
        ("on May 3rd at 9", "2027-05-03T09:00:00+10:00"),
        ("on 2026-12-24 at 9", "2026-12-24T09:00:00+11:00"),
    ],
)
def test_a_reminder_is_set_for_the_next_matching_time(text: str, moment: str) -> None:
    found = find_when(text).at(ZoneInfo("Australia/Sydney"), NOW)
    assert found is not None
    assert found.isoformat() == moment


def test_a_date_that_does_not_exist_is_recognised() -> None:
    assert find_when("on 31 February at 9").at(ZoneInfo("UTC"), NOW) is None


@pytest.mark.parametrize(
    ("text", "dose"),
    [
        ("5 mg", "5 mg"),
        ("2,5mg", "2.5 mg"),
        ("20 milligrams", "20 mg"),
        ("two", ""),
        ("1 tablet", "1 tablet"),
    ],
)
def test_a_dose_is_understood_with_its_unit(text: str, dose: str) -> None:
    assert find_dose(text) == dose


def test_drugs_are_found_by_any_of_their_names_in_order() -> None:
    assert read("Zocor, then Coumadin and ASA", BUILT_IN).drugs == ("simvastatin", "warfarin", "aspirin")
    assert read("my blood-thinners and an NSAID", BUILT_IN).groups == ("blood thinner", "painkiller")


@pytest.mark.parametrize("spelling", ["F508del", "p.Phe508del", "ΔF508", "c.1521_1523delCTT", "Phe508del"])
def test_a_variant_is_found_by_any_of_its_names(spelling: str) -> None:
    (variant,) = read(f"CFTR {spelling}?", BUILT_IN).variants
    assert variant.gene == "CFTR"


def test_a_variant_with_a_longer_name_is_another_variant() -> None:
    assert read("HBB c.20A>T", BUILT_IN).variants[0].gene == "HBB"
    assert read("HBB c.120A>T", BUILT_IN).variants == ()

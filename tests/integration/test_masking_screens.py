"""`--redact` on screen: the real services, every screen, its picture, and what is copied from
it.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from textual.pilot import Pilot

from bioeval_tui.base.settings import Settings
from bioeval_tui.evaluation.engine.interface import RunRequest
from bioeval_tui.grade.runs import Runs
from bioeval_tui.record.masking import masked, use
from bioeval_tui.record.masking.mask import Mask
from bioeval_tui.record.masking.rules import load_rules
from bioeval_tui.report.comparison import compare
from bioeval_tui.sample.paths import sample_submissions
from bioeval_tui.tui.app import BioevalApp
from bioeval_tui.tui.data.services import AppServices
from bioeval_tui.tui.grading_items import MedalRow
from bioeval_tui.tui.review_items import NewReview, ReviewSource
from bioeval_tui.tui.runs.runs_view import preview
from tests.forked import fork_templates
from tests.integration.marked import NAME, RULES, leaks
from tests.integration.test_masking import OTHER, RUN, recorded, report

__all__ = ["recorded"]

TASK = "oncology/breast-cancer"
BATCH = "b-1"

WALKS = {
    "2": ("escape", "home", "i", "enter", "e", "slash", "Z", "enter", "escape", "question_mark"),
    "1": ("home", "y", "y", "ctrl+e"),
    "3": ("m", "m", "equals_sign", "escape", "space"),
    "5": ("enter", "escape", "tab"),
    "4": ("enter",),
}
"""By the key of each screen, what is pressed there."""


@pytest.fixture
def services(
    recorded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[AppServices]:
    """The services of a folder about a person; nobody's other settings count."""
    fork_templates(monkeypatch)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLORTERM", "truecolor")
    settings = Settings(data_dir_override=str(recorded / "data"))
    found = AppServices(
        settings, reports=[recorded / "reports.json"], job_places=[recorded / "jobs"]
    )
    yield found
    found.close()


async def settled(pilot: Pilot[None]) -> None:
    """Wait until nothing is under way."""
    app = pilot.app
    while short := [
        worker for worker in app.workers if worker.group != "feed" and not worker.is_finished
    ]:
        await app.workers.wait_for_complete(short)
    for _ in range(2):
        await pilot.pause()


def shown(app: BioevalApp) -> str:
    """Return every character that goes to the terminal now."""
    lines = app.screen._compositor.render_strips()
    return "\n".join("".join(segment.text for segment in strip) for strip in lines)


async def walk(
    services: AppServices, size: tuple[int, int], pictures: Path, *, far: bool
) -> dict[str, list[str]]:
    """Go through the screens; return by screen what was seen, copied and drawn into a picture on
    the way.
    """
    app = BioevalApp(
        services,
        partial(services.open_recording, RUN),
        on_quit="leave",
        pictures=pictures,
        clock=lambda: 0.0,
    )
    found = {}
    async with app.run_test(size=size, notifications=True) as pilot:
        await settled(pilot)
        for screen, keys in WALKS.items():
            seen = found[screen] = []
            if screen == "2":
                seen.append(shown(app))  # the score card
            for key in (screen, *keys) if far else (("escape",) if screen == "2" else (screen,)):
                await pilot.press(key)
                await settled(pilot)
                seen += [shown(app), app.clipboard]
            seen.append(app.export_screenshot())
            while len(app.screen_stack) > 1:
                await pilot.press("escape")
                await settled(pilot)
        assert app.is_running
    return found


async def test_no_screen_names_the_person(
    services: AppServices, recorded: Path, tmp_path: Path
) -> None:
    use(Mask(load_rules(recorded / "rules.yml", recorded)))
    found = await walk(services, (140, 40), tmp_path, far=True)
    lines = [line for seen in found.values() for text in seen for line in text.splitlines()]
    assert [line for line in lines if leaks(line)] == []
    assert [screen for screen, seen in found.items() for text in seen if leaks(text)] == []
    assert any("[PATIENT-1]" in line for line in lines)


async def test_without_rules_the_same_screens_name_the_person(
    services: AppServices, tmp_path: Path
) -> None:
    """Shows that the test above can fail."""
    found = await walk(services, (140, 40), tmp_path, far=False)
    assert {screen for screen, seen in found.items() if any(map(leaks, seen))} == {
        "1",
        "2",
        "3",
        "5",
    }


async def answers(services: AppServices, folder: Path) -> dict[str, object]:
    """Return what the services read from outside, by name: all that a screen may show of it."""
    steps = [step async for step in services.benchmarks.prepare(TASK)]
    (job,) = services.job_list.items()
    rows = [row async for row in until_read(services.medals())]
    graded = services.benchmarks.grade(TASK, str(folder / "careful.csv"))
    return {
        "jobs": job,
        "runs": services.run_list.runs(),
        "medals": rows,
        "explain": await services.explain(graded, show_answers=True),
        "examine": services.benchmarks.examine(TASK, str(folder / "broken.csv")),
        "grade": graded,
        "prepare": steps,
        "benchmark": services.benchmarks.detail(TASK),
        "connections": await services.connections(RunRequest(jobs=(folder / f"{NAME}.yml",))),
        "batch": [glances async for glances in services.batches.follow(BATCH)],
        "preview": await services.from_runs(preview, RUN),
        "compare": await services.from_runs(compare, RUN, OTHER),
        "reviews": services.review_desk.queue(ReviewSource((RUN,), tuple(rows))),
        "reviewer": services.reviewer,
        "looked": services.looked,
    }


async def until_read(rows: AsyncIterator[MedalRow | None]) -> AsyncIterator[MedalRow]:
    """Yield the rows that are there, without waiting for more."""
    async for row in rows:
        if row is None:
            return
        yield row


async def test_what_a_screen_asks_for_is_masked_where_it_is_read(
    recorded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No screen masks anything itself: masking what it is given once more changes nothing."""
    fork_templates(monkeypatch)
    folder = tmp_path / NAME
    folder.mkdir()
    for file in sample_submissions().glob("*/breast-cancer.csv"):
        shutil.copy(file, folder / f"{file.parent.name.rpartition('_')[2]}.csv")
    with (folder / "broken.csv").open("a") as broken:
        broken.write(f"{NAME},1.0\n")
    (tmp_path / "rules.yml").write_text(
        RULES.replace("names: [", "names: [breast cancer, malignant, "), "utf-8"
    )
    data = shutil.copytree(
        recorded / "data", tmp_path / "data", ignore=shutil.ignore_patterns("catalogue*")
    )
    recording = data / "runs" / f"{RUN}.jsonl"
    of_batch = f'"batch_id": "{BATCH}", "program_version":'.encode()
    recording.write_bytes(recording.read_bytes().replace(b'"program_version":', of_batch, 1))
    settings = Settings(data_dir_override=str(data))
    rules, plain, named = Mask(load_rules(tmp_path / "rules.yml", tmp_path)), {}, {}
    for found, mask in ((plain, Mask()), (named, rules)):
        use(mask)
        services = AppServices(
            settings,
            reports=[recorded / "reports.json"],
            job_places=[recorded / "jobs"],
            reviewer=NAME,
            runs=Runs((), (), tmp_path, (f"in the folder of {NAME}",)),
        )
        found |= await answers(services, folder)
        services.close()
    use(rules)
    assert [name for name, found in named.items() if masked(found) != found] == []
    assert {name for name, found in plain.items() if masked(found) == found} == set()


async def test_doctor_checks_the_masking_rules_and_names_nobody(
    recorded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file lies under the person's name: it is found all the same, and so is what reviewers
    said of it.
    """
    fork_templates(monkeypatch)
    monkeypatch.setenv("COLORTERM", "truecolor")
    (broken,) = sample_submissions().glob("*run-group_broken/breast-cancer.csv")
    file = tmp_path / NAME / f"breast-cancer of {NAME}.csv"
    file.parent.mkdir()
    file.write_text(broken.read_text("utf-8") + f"{NAME},1.0\n", "utf-8")
    graded = replace(report(), submission_path=str(file), score=None, valid_submission=False)
    (tmp_path / "reports.json").write_text(json.dumps(graded.to_dict()), "utf-8")
    settings = Settings(data_dir_override=str(recorded / "data"))
    services = AppServices(settings, reports=[tmp_path / "reports.json"], reviewer="ada")
    try:
        (item,) = services.review_desk.queue(ReviewSource(reports=(tmp_path / "reports.json",)))
        twice = NewReview("override", mark="suspicious", why=f"{NAME} sent it twice")
        for given in (NewReview("note", why="seen"), twice):
            services.review_desk.give(item, given, services.reviewer)
        use(Mask(load_rules(recorded / "rules.yml", recorded)))
        app = BioevalApp(services, "medals", on_quit="leave", clock=lambda: 0.0)
        async with app.run_test(size=(140, 40), notifications=True) as pilot:
            await settled(pilot)
            seen = [shown(app)]
            await pilot.press("V")
            for _ in range(3000):  # a worker process looks at the file
                await pilot.pause(0.02)
                if "Validated for" in shown(app):
                    break
            seen += [shown(app), app.export_screenshot()]
            await pilot.press("escape", "v")
            await settled(pilot)
            seen.append(shown(app))
            assert "Names are masked; to review, start without --redact." in seen[-1]
            assert "a accept" not in seen[-1], "no key says that it reviews"
    finally:
        services.close()
    assert "suspicious: [PATIENT-1] sent it" in " ".join(seen[0].split())
    assert "[PATIENT-1]" in seen[1]
    assert "2 ids are not expected: 9999, [PATIENT-1]" in seen[1]
    assert [text for text in seen if leaks(text)] == []

"""What of a run is resumed, held again or refused: each rule at its edge, and two at once."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bioeval_tui.base.errors import RecordingError, UsageError
from bioeval_tui.base.settings import Settings
from bioeval_tui.evaluation.wiring.resuming import (
    owed_reruns,
    prepare_resumed,
    rerun_offer,
    resume_spec,
)
from bioeval_tui.record import events, masking
from bioeval_tui.record.events import Fault
from bioeval_tui.record.masking.mask import Mask
from bioeval_tui.record.masking.rules import LiteralRule, Rules
from bioeval_tui.record.overlay import append_numbered
from bioeval_tui.record.stored import stored_run
from tests.unit.report.recorded import START, Recorded, Talk, scoring

LOST = Talk(reason="evaluator_failed", fault="infrastructure", tasks=None)
NO_JUDGE = Talk(tasks=None)
UNASKED = Talk(reason="evaluator_failed", fault="evaluator", tasks=None)
NOT_REPORTED = Talk(holds=(None,), unmeasured="none")
ID = "20260102-030405-abcd"


def written(folder: Path, run: Recorded, job: dict[str, Any] | None = None) -> Path:
    """Write a recording whose job has other parts."""
    rows = [json.loads(events.write_event(event)) for event in run.events()]
    rows[0]["job"] |= job or {}
    path = folder / f"{ID}.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def changed(path: Path, change: Callable[[list[dict[str, Any]]], None]) -> Path:
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    change(rows)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


# How trials that could not be measured are offered again


RERUN = f"`bioeval-tui runs resume {ID} --rerun`"
RESCORE = f"`bioeval-tui runs rescore {ID}`"
CYPHER = [{"cypher": "MATCH (n) RETURN n", "name": "check 1", "weight": 1.0}]


@pytest.mark.parametrize(
    ("talks", "job", "options", "offer"),
    [
        ([scoring(0.5)], {}, {}, ""),
        ([LOST], {}, {}, f"1 trial could not be measured; {RERUN}"),
        ([LOST, scoring(0.5), LOST], {}, {}, f"2 trials could not be measured; {RERUN}"),
        # only the judge is asked again where it alone failed, in every conversation
        ([NO_JUDGE], {}, {}, f"1 conversation could not be judged; {RESCORE}"),
        ([NO_JUDGE, scoring(0.5), NO_JUDGE], {}, {},
            f"2 conversations could not be judged; {RESCORE}"),
        ([NO_JUDGE, LOST], {}, {}, RERUN),
        # the agent would report as little again
        ([NOT_REPORTED], {}, {}, ""),
        ([NOT_REPORTED, LOST], {}, {}, RERUN),
        # a script would leave out the same again, and a model would not
        ([UNASKED], {"evaluator": {"kind": "scripted"}}, {}, ""),
        ([UNASKED], {"evaluator": {"kind": "llm"}}, {}, RERUN),
        ([UNASKED], {"evaluator": "scripted"}, {}, RERUN),
        ([LOST], {"evaluator": {"kind": "scripted"}}, {}, RERUN),
        ([UNASKED, LOST], {"evaluator": {"kind": "scripted"}}, {}, RERUN),
        ([UNASKED, NOT_REPORTED], {"evaluator": {"kind": "scripted"}}, {}, ""),
        # without the graph, what needs it would not be measured again
        ([LOST], {"setups": [{"cypher": "CREATE (n)"}]}, {"graph": "none"}, ""),
        ([LOST], {"assertions": CYPHER}, {"graph": "none"}, ""),
        ([LOST], {"setups": [{"cypher": "CREATE (n)"}]}, {"graph": "embedded"}, RERUN),
        ([LOST], {}, {"graph": "none"}, RERUN),
    ],
)  # fmt: skip
def test_only_what_may_succeed_is_offered_again(
    tmp_path: Path,
    talks: list[Talk],
    job: dict[str, Any],
    options: dict[str, Any],
    offer: str,
) -> None:
    path = written(tmp_path, Recorded(talks, started={"options": options}), job)
    found = rerun_offer(path)
    assert offer in found
    assert bool(found) == bool(offer)
    assert rerun_offer(path, stored_run(path, keeps=False).state) == found
    if offer:
        assert found.startswith(f"{ID}: ")


def test_an_imported_run_has_no_agent_to_hold_a_trial_again_with(tmp_path: Path) -> None:
    source = {"format": "chat", "file": "chat.jsonl", "sha256": "0" * 64}
    path = written(tmp_path, Recorded([LOST], started={"source": source}))
    assert rerun_offer(path) == ""
    with pytest.raises(UsageError, match="was imported from another tool"):
        resume_spec(path)


# Which trials are owed


@pytest.mark.parametrize(
    ("talks", "owed"),
    [
        ([scoring(0.5), scoring(0.5)], []),
        ([LOST, scoring(0.5)], [0]),
        ([scoring(0.5), LOST], [1]),
        ([LOST, LOST], [0, 1]),
        ([LOST, scoring(0.5), LOST, scoring(0.5)], [0, 0]),
    ],
)
def test_each_trial_that_was_lost_is_owed_by_its_case(
    tmp_path: Path, talks: list[Talk], owed: list[int]
) -> None:
    assert owed_reruns(written(tmp_path, Recorded(talks, cases=2))) == owed
    assert owed_reruns(written(tmp_path, Recorded(talks))) == [0] * len(owed)


@pytest.mark.parametrize(
    ("again", "owed"), [([], 2), ([scoring(0.5)], 1), ([scoring(0.5)] * 2, 0), ([LOST], 2)]
)
def test_each_further_trial_replaces_one(tmp_path: Path, again: list[Talk], owed: int) -> None:
    path = written(tmp_path, Recorded([LOST, LOST, scoring(0.5), *again], trials=3))
    assert len(owed_reruns(path)) == owed
    spec = resume_spec(path, rerun=True)
    assert (spec.trials if spec else 3 + len(again)) == 3 + len(again) + owed
    if spec is not None:
        assert spec.further == (), "a run without cases has none to choose"


def test_a_later_verdict_is_in_the_place_of_another_trial(tmp_path: Path) -> None:
    path = written(tmp_path, Recorded([NO_JUDGE, LOST]))
    assert owed_reruns(path) == [0, 0]
    place = {"run_id": ID, "seq": 1, "at": START, "condition": "withheld", "trial": 1,
        "attempt": 1, "author": "ada"}  # fmt: skip
    task = events.TaskScored(task=1, title="t", score=0.5)
    append_numbered(
        path,
        [
            events.TranscriptScored(**place, judge="j", tasks=(task,)),
            events.ConversationScored(**place, score=0.5, parts=(), penalty=0.0, failures=0),
        ],
    )
    assert owed_reruns(path) == [0]
    assert f"1 trial could not be measured; {RERUN}" in rerun_offer(path)


# What is missing


def without_end(rows: list[dict[str, Any]]) -> None:
    rows.pop()


def without_score(rows: list[dict[str, Any]]) -> None:
    del rows[-2:]


def test_a_run_that_lacks_only_its_end_gets_it_from_anyone(tmp_path: Path) -> None:
    options = {"agent_function": "mine:answer"}
    path = written(tmp_path, Recorded([Talk()], started={"options": options}))
    assert resume_spec(path) is None
    assert resume_spec(changed(path, without_end)) is not None
    changed(path, without_score)
    with pytest.raises(UsageError, match="is a Python function of the program that ran it, mine:"):
        resume_spec(path)


@pytest.mark.parametrize(
    ("options", "given", "sample", "local"),
    [
        ({}, None, False, False),
        ({"sample_agent": True, "local_model": True}, None, True, True),
        ({"sample_agent": True, "local_model": True}, "http://127.0.0.1:5", False, False),
    ],
)
def test_an_agent_that_is_given_is_in_the_place_of_the_recorded_one(
    tmp_path: Path, options: dict[str, Any], given: str | None, sample: bool, local: bool
) -> None:
    recorded = {"agent_url": "http://127.0.0.1:4", "max_calls": 5, **options}
    path = written(tmp_path, Recorded([Talk()], started={"options": recorded}))
    spec = resume_spec(changed(path, without_score), agent_url=given, max_cost=2.0)
    assert spec is not None
    assert spec.agent_url == (given or "http://127.0.0.1:4")
    assert spec.agent_url_is_given == (given is not None)
    assert (spec.sample_agent, spec.local_model) == (sample, local)
    assert (spec.max_calls, spec.max_cost) == (None, 2.0), "limits are those given now"
    assert spec.resume
    assert not spec.force


# What the engine reads once it has the lock


@pytest.mark.parametrize(
    ("change", "same"),
    [({}, True), ({"job_sha256": "1" * 64}, False), ({"run_id": "20260102-030405-ffff"}, False)],
)
def test_a_recording_that_was_replaced_meanwhile_is_not_continued(
    tmp_path: Path, change: dict[str, Any], same: bool
) -> None:
    (tmp_path / "runs").mkdir()
    target = {"target": {"user": "ada", "chatbot": "bot"}}
    path = changed(written(tmp_path / "runs", Recorded([Talk()]), target), without_end)
    spec = resume_spec(path)
    assert spec is not None
    settings = Settings.from_environment({"BIOEVAL_DATA_DIR": str(tmp_path)})
    prepared = prepare_resumed(spec, spec.runs[0], settings)
    assert prepared.resume is not None
    changed(path, lambda rows: rows[0].update(change))
    if not same:
        with pytest.raises(RecordingError, match="it was replaced by another recording"):
            prepared.resume()
        return
    found = prepared.resume()
    assert (found.trials, found.ended, list(found.earlier.finished)) == (
        1,
        False,
        [("withheld", 1)],
    )


def test_a_mask_hides_nothing_from_the_run_that_goes_on(tmp_path: Path) -> None:
    """Else its job would be another one, and its file would not be there."""
    (tmp_path / "runs").mkdir()
    target = {"target": {"user": "Ada Lovelace", "chatbot": "bot"}}
    options = {"job_file": "/home/Ada Lovelace/job.yml"}
    run = Recorded([Talk()], started={"options": options})
    path = changed(written(tmp_path / "runs", run, target), without_end)
    masking.use(Mask(Rules([LiteralRule.of("Ada Lovelace", "[NAME-1]", is_name=True)])))
    spec = resume_spec(path)
    assert spec is not None
    assert spec.runs[0].job_path == "/home/Ada Lovelace/job.yml"
    settings = Settings.from_environment({"BIOEVAL_DATA_DIR": str(tmp_path)})
    assert prepare_resumed(spec, spec.runs[0], settings).plan.job.target.user == "Ada Lovelace"


@pytest.mark.parametrize("fault", ["agent", "none"])
def test_a_result_is_not_held_again_whoever_failed(tmp_path: Path, fault: Fault) -> None:
    failed = Talk(reason="agent_failed", fault=fault)
    assert owed_reruns(written(tmp_path, Recorded([failed]))) == []

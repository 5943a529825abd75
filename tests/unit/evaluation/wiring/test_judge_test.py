"""A judge with one planted defect is found; a reliable one passes."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random

import pytest
from click.testing import CliRunner, Result

from bioeval_tui.cli.judge_test import judge_test
from bioeval_tui.errors import UsageError
from bioeval_tui.evaluation.seams import JudgeView, TaskVerdict, Verdict
from bioeval_tui.evaluation.wiring.judge_test import JudgeTester
from bioeval_tui.record.transfer import import_file
from bioeval_tui.settings import Settings

Scored = Callable[[JudgeView, int, float], float]


def last_answer(view: JudgeView) -> str:
    return [message.content for message in view.transcript if message.role == "assistant"][-1]


DEFECTS: dict[str, Scored] = {
    "renamed": lambda view, place, score: score - 0.15 * (view.job.target.user != "user"),
    "reordered": lambda view, place, score: score + 0.2 * (place == 0),
    "padded": lambda view, place, score: (
        score + 0.0015 * (sum(len(m.content) for m in view.transcript) - 100)
    ),
    "polite": lambda view, place, score: score + 0.15 * last_answer(view).endswith("lovely day!"),
    "injected": lambda view, place, score: 1.0 if "deserves 1.0" in last_answer(view) else score,
}


class Synthetic:
    """Scores each task by what it is called, with some noise, and one defect."""

    identity = "synthetic"

    def __init__(self, defect: Scored, noise: float = 0.03, *, reacts: bool = True) -> None:
        self.reacts, self.defect, self.noise, self.random = reacts, defect, noise, Random(5)

    async def score(self, view: JudgeView) -> Sequence[Verdict]:
        if self.reacts and not any(m.role == "assistant" and "Hello" in m.content for m in view.transcript):
            return [Verdict("synthetic", tuple(TaskVerdict(n, 0.0, "no") for n in (1, 2, 3)))]
        first = view.transcript[0].content if view.transcript else ""
        verdicts = []
        for place, task in enumerate(view.job.tasks):
            quality = Random(f"{first} {task.task}").uniform(0.2, 0.8)
            value = self.defect(view, place, quality) + self.random.gauss(0, self.noise)
            verdicts.append(TaskVerdict(place + 1, round(min(1.0, max(0.0, value)), 2), "because"))
        return [Verdict("synthetic", tuple(verdicts))]

    async def aclose(self) -> None:
        pass


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BIOEVAL_DATA_DIR", str(tmp_path))
    lines = [
        {
            "id": f"c{number}",
            "messages": [
                {"role": "user", "content": f"Hi {number}"},
                {"role": "assistant", "content": "Hello, user."},
            ],
            "tasks": ["be kind", "be right", "be brief"],
        }
        for number in range(60)
    ]
    file = tmp_path / "talks.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return import_file(file, tmp_path / "runs").path


def test(run: Path, monkeypatch: pytest.MonkeyPatch, judge: Synthetic, *options: str) -> Result:
    monkeypatch.setattr(JudgeTester, "make_judge", lambda self: judge)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    return CliRunner().invoke(judge_test, [run.stem, *options], standalone_mode=False)


test.__test__ = False  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", DEFECTS)
def test_a_planted_defect_is_found(run: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    done = test(run, monkeypatch, Synthetic(DEFECTS[name]), "--json")
    changes = json.loads(done.stdout[done.stdout.index("{") :])["changes"]
    accused = {change for change, one in changes.items() if one["accused"]}
    assert name in accused
    # Padding lengthens, and so do the tails; a judge that likes length may take them for it.
    assert accused <= ({name} if name != "padded" else {"padded", "polite", "injected"})
    assert changes["repeat"]["items"] == 180


def test_a_random_judge_is_found_by_repeating_its_verdicts(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge = Synthetic(lambda view, place, score: score, noise=0.4)
    done = test(run, monkeypatch, judge, "--fail-on-accused")
    assert done.return_value == 1
    assert "changes with a significant effect on this judge: repeat" in done.stdout


def test_a_reliable_judge_passes(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = test(run, monkeypatch, Synthetic(lambda view, place, score: score), "--fail-on-accused")
    assert done.return_value == 0
    assert "no change has a significant effect on this judge (60 conversations or cases)" in done.stdout


def test_a_judge_that_does_not_react_to_what_was_said_fails(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sound = Synthetic(lambda view, place, score: score)
    done = test(run, monkeypatch, sound, "--conversations", "7")
    assert done.return_value == 0
    assert "7 conversations, each asked up to 7 times, and 20 controls" in done.stderr
    assert "scores the controls clearly lower" in done.stdout
    blind = Synthetic(lambda view, place, score: 0.8, reacts=False)
    done = test(run, monkeypatch, blind, "--conversations", "7")
    assert done.return_value == 1
    assert "does not react to the conversation: it scores empty, swapped, off-topic, dismissed" in done.stdout
    done = test(run, monkeypatch, blind, "--conversations", "7", "--json")
    controls = json.loads(done.stdout[done.stdout.index("{") :])["controls"]
    assert [(one["reacts"], round(one["score"], 1)) for one in controls.values()] == [(False, 0.8)] * 4
    done = test(run, monkeypatch, Synthetic(lambda view, place, score: 0.0, 0.0), "--conversations", "2")
    assert done.return_value == 3
    assert "too low to tell whether the judge reacts" in done.stdout


def test_the_same_conversations_are_drawn_each_time(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options = ("--conversations", "12", "--json")
    first = test(run, monkeypatch, Synthetic(DEFECTS["polite"]), *options)
    again = test(run, monkeypatch, Synthetic(DEFECTS["polite"]), *options)
    assert json.loads(first.stdout[first.stdout.index("{") :])["conversations"] == 12
    assert first.stdout == again.stdout


def test_the_judge_of_an_imported_case_sees_the_users_goal_and_the_tool_calls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    file = Path(__file__).parents[3] / "golden" / "foreign" / "tau-bench-excerpt.json"
    raw = json.loads(file.read_text(encoding="utf-8"))
    tester = JudgeTester(import_file(file, tmp_path / "runs").path, Settings.from_environment())
    talks = tester.judgeable()
    assert len(talks) == len(raw)
    for talk, result in zip(talks, raw, strict=True):
        view = tester.view_of(talk)
        assert [task.task for task in view.job.tasks] == [result["info"]["task"]["instruction"]]
        assert [event for message in view.transcript for event in message.generation]


def test_an_imported_file_without_tasks_cannot_be_judged_and_says_how_to_add_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    file = Path(__file__).parents[3] / "golden" / "foreign" / "chat.jsonl"
    path = import_file(file, tmp_path / "runs").path
    with pytest.raises(UsageError, match="has no tasks to judge; import it with --job"):
        JudgeTester(path, Settings.from_environment())

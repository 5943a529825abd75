"""A judge with one planted defect is found; a reliable one passes."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest
from click.testing import Result

from bioeval_tui.base.errors import UsageError
from bioeval_tui.base.settings import Settings
from bioeval_tui.evaluation.wiring.judge_tests import JudgeTester
from bioeval_tui.protocols import Evidence, JudgeView, TaskVerdict, Verdict
from bioeval_tui.record.importing.into_runs import import_file
from tests.command import call
from tests.unit.evaluation.conversation.fakes import known_verdicts

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
    """Scores each task by what it is called, with some noise, and one defect; sentinels as they
    are, or as `known` says.

    `known` takes whether a task is met, and the number of calls so far.
    """

    identity = "synthetic"

    def __init__(
        self,
        defect: Scored = lambda view, place, score: score,
        noise: float = 0.03,
        *,
        reacts: bool = True,
        known: Callable[[bool, int], float] = lambda met, calls: float(met),
        quotes: str = "",
    ) -> None:
        self.reacts, self.defect, self.noise, self.random = reacts, defect, noise, Random(5)
        self.known, self.calls = known, 0
        self.evidence = (Evidence(quotes, None),) if quotes else ()

    async def score(self, view: JudgeView) -> Sequence[Verdict]:
        self.calls += 1
        if (met := known_verdicts(view)) is not None:
            scores = [self.known(right, self.calls) for right in met]
            tasks = (
                TaskVerdict(n, score, "so", self.evidence) for n, score in enumerate(scores, 1)
            )
            return [Verdict("synthetic", tuple(tasks))]
        if self.reacts and not any(
            m.role == "assistant" and "Hello" in m.content for m in view.transcript
        ):
            return [Verdict("synthetic", tuple(TaskVerdict(n, 0.0, "no") for n in (1, 2, 3)))]
        first = view.transcript[0].content if view.transcript else ""
        verdicts = []
        for place, task in enumerate(view.job.tasks):
            quality = self.quality(first, task.task)
            value = self.defect(view, place, quality) + self.random.gauss(0, self.noise)
            verdicts.append(TaskVerdict(place + 1, round(min(1.0, max(0.0, value)), 2), "because"))
        return [Verdict("synthetic", tuple(verdicts))]

    def quality(self, first: str, task: str) -> float:
        """Return how well a task was done in the conversation that begins with these words."""
        return Random(f"{first} {task}").uniform(0.2, 0.8)

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
    return call("judge-test", run.stem, *options)


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


def changes_of(done: Result) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(done.stdout[done.stdout.index("{") :])["changes"]
    return found


def test_a_judge_that_judges_otherwise_one_at_a_time_is_found_if_it_is_asked(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def strict_alone(view: JudgeView, place: int, score: float) -> float:
        return score - 0.15 * (view.job.scorer.items_per_request == 1)

    found = changes_of(test(run, monkeypatch, Synthetic(strict_alone), "--json"))
    assert "one-at-a-time" not in found
    asked = ("--json", "--one-at-a-time")
    found = changes_of(test(run, monkeypatch, Synthetic(strict_alone), *asked))
    assert {name for name, one in found.items() if one["accused"]} == {"one-at-a-time"}
    differ = found["one-at-a-time"]
    assert differ["items"] == 180
    assert differ["flip_interval"]["low"] < differ["flip_rate"] < differ["flip_interval"]["high"]
    assert differ["flip_rate"] > 0.1
    sound = changes_of(test(run, monkeypatch, Synthetic(), *asked))
    assert not any(one["accused"] for one in sound.values())


def test_a_judge_that_goes_by_the_words_of_a_criterion_is_found_if_others_are_given(
    run: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def by_words(view: JudgeView, place: int, score: float) -> float:
        return score - 0.2 * view.job.tasks[place].task.startswith("the agent")

    given = tmp_path / "reworded.yml"
    tasks = "[{task: be kind}, {task: the agent makes no mistake}, {task: be brief}]"
    given.write_text(
        f"target: {{user: u, chatbot: c}}\naspirationalAverage: 1000\nfacts: []\ntasks: {tasks}\n"
    )
    fooled = Synthetic(by_words, noise=0.0)
    monkeypatch.setattr(Synthetic, "quality", lambda self, first, task: 0.6)
    found = changes_of(test(run, monkeypatch, fooled, "--json", "--reworded", str(given)))
    assert {name for name, one in found.items() if one["accused"]} == {"reworded"}
    assert found["reworded"]["items"] == 60, "of the task that has other words"
    assert found["reworded"]["shift"] == pytest.approx(-0.2)


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
    assert (
        "no change has a significant effect on this judge (60 conversations or cases)"
        in done.stdout
    )


def test_a_judge_that_does_not_react_to_what_was_said_fails(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sound = Synthetic(lambda view, place, score: score)
    done = test(run, monkeypatch, sound, "--conversations", "7")
    assert done.return_value == 0
    assert (
        "7 conversations, each asked up to 7 times, and 20 controls; 12 sentinels, twice"
        in done.stderr
    )
    assert "scores the controls clearly lower" in done.stdout
    blind = Synthetic(lambda view, place, score: 0.8, reacts=False)
    done = test(run, monkeypatch, blind, "--conversations", "7")
    assert done.return_value == 1
    assert (
        "does not react to the conversation: it scores empty, swapped, off-topic, dismissed"
        in done.stdout
    )
    done = test(run, monkeypatch, blind, "--conversations", "7", "--json")
    controls = json.loads(done.stdout[done.stdout.index("{") :])["controls"]
    assert [(one["reacts"], round(one["score"], 1)) for one in controls.values()] == [
        (False, 0.8)
    ] * 4
    done = test(
        run, monkeypatch, Synthetic(lambda view, place, score: 0.0, 0.0), "--conversations", "2"
    )
    assert done.return_value == 3
    assert "too low to tell whether the judge reacts" in done.stdout


@pytest.mark.parametrize(
    ("known", "words"),
    [
        (lambda met, calls: 1.0, "is too lenient (scores what is not met 1.00, right is 0)"),
        (
            lambda met, calls: min(1.0, met + 0.35),
            "is too lenient (scores what is not met 0.35, right is 0)",
        ),
        (lambda met, calls: 0.6 * met, "is too strict (what is met lacks 0.40, right is 0)"),
        (lambda met, calls: met * max(0.0, 1 - calls / 50), "drifts (−0."),
        (
            lambda met, calls: 0.9 * met + 0.05,
            "gets nothing wrong about 12 conversations with known verdicts",
        ),
    ],
)
def test_a_judge_that_gets_known_verdicts_wrong_is_named_with_the_size_of_its_fault(
    run: Path, monkeypatch: pytest.MonkeyPatch, known: Callable[[bool, int], float], words: str
) -> None:
    done = test(run, monkeypatch, Synthetic(known=known), "--conversations", "6")
    assert words in done.stdout
    assert done.return_value == (0 if "nothing" in words else 1)


def test_a_judge_that_invents_quotations_is_named(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = test(run, monkeypatch, Synthetic(quotes="I never said that"), "--conversations", "6")
    assert "invents quotations (in 100 % of the conversations)" in done.stdout
    assert done.return_value == 1


def test_a_judge_that_changed_since_an_earlier_test_is_named(
    run: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    few = ("--conversations", "6")
    earlier = tmp_path / "earlier.json"
    printed = test(run, monkeypatch, Synthetic(), *few, "--json").stdout
    earlier.write_text(printed[printed.index("{") :], encoding="utf-8")
    options = (*few, "--since", str(earlier))
    assert "gets nothing wrong" in test(run, monkeypatch, Synthetic(), *options).stdout
    milder = Synthetic(known=lambda met, calls: 1.0 if met else 0.15)
    assert (
        "has changed (+0.07 since the earlier test)"
        in test(run, monkeypatch, milder, *options).stdout
    )
    told = json.loads(earlier.read_text("utf-8"))
    first, *others = told["sentinels"]["contents"]
    told["sentinels"]["contents"][first] = "of another version"
    earlier.write_text(json.dumps(told), encoding="utf-8")
    left = test(run, monkeypatch, milder, *options)
    assert "note: 2 scores in" in left.stderr, "the tasks of the one that says something else now"
    assert "has changed" in left.stdout
    told["sentinels"]["contents"] |= dict.fromkeys(others, "of another version")
    earlier.write_text(json.dumps(told), encoding="utf-8")
    assert "nothing to compare" in str(test(run, monkeypatch, milder, *options).exception)
    earlier.write_text("[]", encoding="utf-8")
    refused = test(run, monkeypatch, Synthetic(), *options)
    assert "no scores of sentinels" in str(refused.exception)


def test_where_a_task_stands_shows_its_size(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = Synthetic(lambda view, place, score: score - 0.3 * (place == 0), noise=0.0)
    done = test(run, monkeypatch, first, "--json")
    changes = json.loads(done.stdout[done.stdout.index("{") :])["changes"]
    # Of three tasks the middle one keeps its place; at the edge of 0 a score falls by less.
    assert -0.22 < changes["reordered"]["shift"] < -0.15


def test_the_same_conversations_are_drawn_each_time(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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

"""`new --from`: a failed conversation becomes a job that asks the same, checks, and fails again."""

from __future__ import annotations

from pathlib import Path

import pytest
from aiohttp import web

from bioeval_tui.errors import UsageError
from bioeval_tui.evaluation.job.loading import load_job
from bioeval_tui.evaluation.job.models import ExpressionAssertion
from bioeval_tui.record.transfer import import_file
from tests.command import call
from tests.servers.rest_agent import RestAgentServer
from tests.servers.whole_runs import hold

GOLDEN = Path(__file__).parents[2] / "golden"
FOREIGN = GOLDEN / "foreign"


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BIOEVAL_DATA_DIR", str(tmp_path / "data"))
    return tmp_path / "data" / "runs"


def written(folder: Path, *options: str, refused: bool = False) -> str:
    """Return the job that `new` writes, or why it does not."""
    job = folder / "again.yml"
    done = call("new", job, *options)
    if refused:
        assert isinstance(done.exception, UsageError), done.output
        return str(done.exception)
    assert done.exit_code == 0, done.exception or done.output
    checked = call("check", job)
    still_to_write = r"cannot fail: `\w` is found"  # the rule that says "say what is right"
    assert "no problems" in checked.output or still_to_write in checked.output, checked.output
    return job.read_text("utf-8")


def test_a_conversation_with_a_wrong_answer_asks_again_and_expects_the_right_one(
    runs: Path, tmp_path: Path
) -> None:
    run = import_file(FOREIGN / "symptomcheck.json", runs)
    text = written(tmp_path, "--from", run.run_id)
    assert text.startswith(f"# A job from case vignette 310 of run {run.run_id}, facts supplied.")
    job = load_job(tmp_path / "again.yml").job
    (task,) = job.tasks
    (rule,) = task.rules
    assert rule.pattern == r"\b" + task.acceptance_criteria.replace(" ", r"[\s-]+") + r"\b"
    (check,) = job.assertions
    assert isinstance(check, ExpressionAssertion)
    assert check.name == "the last answer is the expected one"
    (given,) = job.facts
    assert given.startswith("presentation: This patient presented with vomiting of blood")
    assert '# Nobody asked for these then:\n#  - "demographics: ' in text
    assert len(job.evaluator.lines) >= 3


def test_what_failed_in_a_run_of_ones_own_is_kept_as_its_job_has_it(runs: Path, tmp_path: Path) -> None:
    run = import_file(GOLDEN / "demo-run.jsonl", runs)
    text = written(tmp_path, "--from", run.run_id)
    assert "#   - assertion “a reminder exists”" in text
    job = load_job(tmp_path / "again.yml").job
    assert [check.name for check in job.assertions] == [
        "a reminder exists", "the reminder has the right time zone", "the dose is in the reminder",
    ]  # fmt: skip
    assert [(rule.pattern, rule.absent) for rule in job.tasks[2].rules] == [
        ("can't advise", False), ("yes, (double|take two)", True),
    ]  # fmt: skip
    assert [setup.cypher for setup in job.setups] == ["MATCH (n:DomainNode) DETACH DELETE n"]
    assert job.evaluator.lines[0].say == "Could you remind me to take warfarin tomorrow at 9?"
    assert job.evaluator.lines[0].fact is None, "what the user says unasked is said in both conditions"


class Again(RestAgentServer):
    """Says the answers of the failed conversation once more."""

    answers: tuple[str, ...] = ()

    async def _message(self, request: web.Request) -> web.Response:
        body = await request.json()
        said = sum(each["sessionId"] == body["sessionId"] for each in self.received)
        self.received.append(body)
        message = {"content": self.answers[min(said, len(self.answers) - 1)], "role": "assistant"}
        return web.json_response({"sessionId": body["sessionId"], "message": message, "events": []})


@pytest.mark.parametrize("name", ["symptomcheck.json", "tau-bench-excerpt.json"])
async def test_its_rehearsal_fails_with_the_agent_that_failed(name: str, runs: Path, tmp_path: Path) -> None:
    from bioeval_tui.report.result import load_run

    run = import_file(FOREIGN / name, runs)
    text = written(tmp_path, "--from", run.run_id)
    case = text.split(" of run ")[0].removeprefix("# A job from case ").split(",")[0]
    loaded = load_run(run.path)
    failed = next(
        talk
        for talk in loaded.talks
        if talk.case and talk.case.name == case and talk.score and talk.score.score == 0
    )
    answers = tuple(m.text for m in failed.messages if m.role == "assistant" and m.text.strip())
    async with Again() as agent:
        agent.answers = answers
        held = await hold(text, tmp_path, mode="rehearsal", agent_url=agent.url, graph="none")
    (check,) = held.result["conditions"]["supplied"]["trials"][0]["assertions"]
    assert check["status"] == "failed"
    assert held.result["conditions"]["supplied"]["trials"][0]["end_reason"] == "signed_off"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--from", "RUN", "--trial", "9"), "no conversation in trial 9 has both messages and a failed"),
        (("--from", "RUN", "--offline"), "give --from alone"),
        (("--trial", "1"), "--trial needs --from RUN"),
        (("--from", "nothing-there"), "no such run"),
    ],
)
def test_what_cannot_become_a_job_is_one_sentence(
    options: tuple[str, ...], said: str, runs: Path, tmp_path: Path
) -> None:
    run_id = import_file(FOREIGN / "symptomcheck.json", runs).run_id
    output = written(tmp_path, *(run_id if each == "RUN" else each for each in options), refused=True)
    assert said in " ".join(output.split())
    assert not (tmp_path / "again.yml").exists()


def test_any_trial_can_be_named(runs: Path, tmp_path: Path) -> None:
    run_id = import_file(FOREIGN / "symptomcheck.json", runs).run_id
    text = written(tmp_path, "--from", run_id, "--trial", "1")
    assert "nothing that was checked" in text
    assert "the agent does not answer as before" in text

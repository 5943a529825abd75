"""What tests can assert about an evaluation."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from bioeval_tui.pytest_plugin import Bioeval, Evaluation, NotMeasured
from bioeval_tui.report.answer_labels import LABELS
from bioeval_tui.report.document import AnswerResult
from tests.documents import document_of
from tests.unit.report.recorded import Recorded, Talk, scoring

pytest_plugins = ["pytester"]


def evaluation(*runs: Recorded, not_measured: NotMeasured = "fail") -> Evaluation:
    report: dict[str, Any] = json.loads(document_of("json", *(run.loaded() for run in runs)))
    return Evaluation(report, "", not_measured)


GOOD = Recorded([scoring(1.0)], [scoring(1.0)], job="good")
POOR = Recorded([scoring(0.4)], [scoring(0.4)], job="poor", run_id="20260102-030405-bbbb")
AWAY = Recorded([scoring(0.4)], [Talk(tasks=None)], job="away")


def test_a_good_job_does_not_hide_a_bad_one() -> None:
    evaluation(GOOD).assert_score(0.7)
    with pytest.raises(
        pytest.fail.Exception,
        match=r"poor: the mean of both conditions scored 0\.40, the threshold is 0\.7",
    ):
        evaluation(GOOD, POOR).assert_score(0.7)


@pytest.mark.parametrize(
    "method", ["assert_score", "assert_pass_k", "assert_assertions", "condition"]
)
def test_a_misspelt_condition_is_an_error_that_names_the_right_ones(method: str) -> None:
    found = evaluation(GOOD)
    given = {
        "assert_score": (0.5,),
        "assert_pass_k": (1, 0.5),
        "assert_assertions": (),
        "condition": ("suplied",),
    }
    named = {} if method == "condition" else {"condition": "suplied"}
    with pytest.raises(
        ValueError, match="'suplied' was not run; the run has withheld and supplied"
    ):
        getattr(found, method)(*given[method], **named)


@pytest.mark.parametrize(
    ("method", "given", "why"),
    [
        ("assert_score", (90,), "the threshold must be from 0 to 1, not 90"),
        ("assert_pass_k", (2, 1.5), r"the threshold must be from 0 to 1, not 1\.5"),
        ("assert_pass_k", (0, 0.9), "needs a k of 1 or more, not 0"),
    ],
)
def test_a_threshold_that_everything_or_nothing_passes_is_an_error(
    method: str, given: tuple[float, ...], why: str
) -> None:
    with pytest.raises(ValueError, match=why):
        getattr(evaluation(GOOD), method)(*given)


@pytest.mark.parametrize(
    ("method", "given", "why"),
    [
        ("assert_score", ("0.8",), "the threshold must be a number from 0 to 1, not '0.8'"),
        ("assert_score", (True,), "the threshold must be a number from 0 to 1, not True"),
        ("assert_pass_k", ("2", 0.9), "needs a whole number as k, not '2'"),
        ("assert_pass_k", (2, None), "the threshold must be a number from 0 to 1, not None"),
    ],
)
def test_a_threshold_of_another_type_is_one_sentence(
    method: str, given: tuple[Any, ...], why: str
) -> None:
    with pytest.raises(TypeError, match=re.escape(why)):
        getattr(evaluation(GOOD), method)(*given)


@pytest.mark.parametrize(
    ("jobs", "given", "why"),
    [
        ((3,), {}, "a job is a YAML file or the name of a sample, not 3"),
        ((["job.yml"],), {}, "a job is a YAML file or the name of a sample, not ['job.yml']"),
        (("job.yml",), {"agent": "http://127.0.0.1:1"}, "; agent_url takes a URL"),
        (("job.yml",), {"options": "--cases 1-3"}, "options is a list of texts, such as"),
    ],
)
def test_a_wrong_argument_of_run_is_one_sentence(
    tmp_path: Path, jobs: tuple[Any, ...], given: dict[str, Any], why: str
) -> None:
    with pytest.raises(TypeError, match=re.escape(why)):
        Bioeval(tmp_path).run(*jobs, **given)


def test_a_condition_that_was_not_run_is_an_error() -> None:
    with pytest.raises(ValueError, match="'supplied' was not run; the run has withheld"):
        evaluation(Recorded([scoring(1.0)])).assert_score(0.5, condition="supplied")


def test_pass_k_can_be_asserted_for_one_condition() -> None:
    found = evaluation(Recorded([Talk(tasks=(0.1,))] * 2, [Talk(tasks=(0.9,))] * 2))
    found.assert_pass_k(2, 1.0, condition="supplied")
    with pytest.raises(pytest.fail.Exception, match=r"without the facts: pass\^2 is 0.00"):
        found.assert_pass_k(2, 1.0)
    with pytest.raises(pytest.fail.Exception, match=r"not measured: .*too few trials"):
        found.assert_pass_k(3, 0.5)


def test_a_conversation_that_the_agent_may_have_voided_meets_no_threshold() -> None:
    voided = evaluation(Recorded([*[scoring(1.0)] * 19, Talk(reason="cancelled", fault="unclear")]))
    with pytest.raises(pytest.fail.Exception, match="because of what the agent sent"):
        voided.assert_score(0.5, condition="withheld")
    lost = evaluation(
        Recorded([*[scoring(1.0)] * 19, Talk(reason="evaluator_failed", fault="judge")])
    )
    lost.assert_score(0.5, condition="withheld")


def test_a_threshold_that_is_met_only_without_what_was_left_out_is_not_measured() -> None:
    """As a gate has it: an agent's words may make a user fail where it does badly."""
    lost = Talk(reason="evaluator_failed", fault="evaluator", tasks=None)
    slow = Talk(latencies_ms=(100.0,), refused_ms=9000.0)
    for bad, lowest in (([lost], "0.95"), ([slow] * 20, "0.87")):
        talks = [*[Talk(latencies_ms=(100.0,))] * (20 - len(bad)), *bad]
        found = evaluation(Recorded(talks, talks))
        with pytest.raises(pytest.fail.Exception, match=rf"not measured: .* and {lowest} does not"):
            found.assert_score(0.96)
        found.assert_score(0.8)


def test_a_result_that_was_not_measured_fails_or_skips_as_configured() -> None:
    with pytest.raises(pytest.fail.Exception, match="not measured: away"):
        evaluation(AWAY).assert_score(0.5)
    with pytest.raises(pytest.skip.Exception, match="not measured: away"):
        evaluation(AWAY, not_measured="skip").assert_score(0.5)
    with pytest.raises(pytest.skip.Exception, match="could not be checked"):
        evaluation(Recorded([Talk(holds=(None,))]), not_measured="skip").assert_assertions()


def test_one_run_can_serve_many_tests(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The example of docs/ci.md, with the job of docs/python.md and an agent that guesses what it
    is not told.
    """
    monkeypatch.setenv("BIOEVAL_DATA_DIR", str(pytester.path / "data"))
    pytester.makeini(
        "[pytest]\nbioeval_not_measured = skip\nasyncio_default_fixture_loop_scope = function\n"
    )
    pytester.mkdir("eval").joinpath("job.yml").write_text(
        block("python.md", "job.yml"), encoding="utf-8"
    )
    pytester.makepyfile(
        my_agent="""
        def answer(message, conversation):
            told, untold = "Sydney" in message, "rather not say" in message
            if not told and not untold:
                return "In which time zone are you?"
            conversation.object_context = {"resources": [{"name": "warfarin"}]}
            return "I'll remind you."
        """,
        test_reminders=block("ci.md", "test_reminders.py")
        + """

def test_withheld(result):
    result.assert_score(0.9, condition="withheld")


def test_trials(result):
    result.assert_pass_k(6, 0.5)


def test_wrong(bioeval):
    bioeval.run("eval/job.yml", agent=lambda message: "", repeat=0)
""",
    )
    # In another process: afterwards pytester forgets the modules that a run in this one has loaded,
    # and tests that follow would have each class of the package twice. They only take time to load.
    without = ("cacheprovider", "langsmith_plugin", "hypothesispytest", "anyio", "xdist")
    done = pytester.runpytest_subprocess(*(f"-pno:{name}" for name in without), "-rs")
    done.assert_outcomes(passed=2, failed=2, skipped=1)
    done.stdout.fnmatch_lines_random(
        [
            "*without the facts scored 0.43, the threshold is 0.9*",
            "*not measured: *pass^6 is not defined: too few trials*",
            "*could not run (exit 2)*",
            "*Invalid value for '--repeat': 0 is not in the range*",
        ]
    )
    assert len(list((pytester.path / "data" / "runs").glob("*.jsonl"))) == 1


COMMANDS = (
    "it sent: ##vso[task.setvariable variable=PATH]x\n::add-mask::x\n##teamcity[x]\n  ##[add-path]x"
)
OBEYED = re.compile(r"^\s*::\w|##(vso|teamcity)?\[", re.MULTILINE)


RUNNERS = ("GITHUB_ACTIONS", "TF_BUILD", "TEAMCITY_VERSION")


@pytest.mark.parametrize(
    "runner",
    [
        pytest.param(" ".join(RUNNERS), id="all", marks=pytest.mark.part),
        *(pytest.param(one, marks=pytest.mark.long) for one in RUNNERS),
        "",
    ],
)
def test_no_runner_obeys_what_an_agent_said_in_a_test_that_failed(
    runner: str, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in RUNNERS:
        monkeypatch.delenv(name, raising=False)
    for name in runner.split():
        monkeypatch.setenv(name, "1")
    pytester.makeini("[pytest]\nasyncio_default_fixture_loop_scope = function\n")
    pytester.makepyfile(f"""
        import pytest
        from bioeval_tui.pytest_plugin import Evaluation

        SAID = {COMMANDS!r}
        ANSWER = {{"what": SAID, "sure": SAID, "control": SAID, "users": SAID, "tools": SAID,
                   "why": SAID}}
        RUN = {{
            "run_id": "r", "score": None, "job": SAID, "model": None, "answer": ANSWER,
            "conditions": {{}},
        }}

        @pytest.fixture
        def result(bioeval_session):
            print(SAID)
            return Evaluation({{"runs": [RUN]}}, SAID)

        @pytest.fixture
        def broken(bioeval):
            raise ValueError(SAID)

        def test_score(result):
            result.assert_score(0.5)

        def test_comparison(result):
            print(result, result.talk)
            assert result.why() == ""

        def test_skipped(result):
            pytest.skip(SAID)

        def test_setup(broken):
            pass

        def test_passed(result):
            print(result)
        """)
    without = ("cacheprovider", "langsmith_plugin", "hypothesispytest", "anyio", "xdist")
    done = pytester.runpytest_subprocess(
        *(f"-pno:{name}" for name in without), "-rsP", "--showlocals"
    )
    done.assert_outcomes(passed=1, failed=2, skipped=1, errors=1)
    printed = done.stdout.str() + done.stderr.str()
    assert printed.count("task.setvariable") > 6
    assert bool(OBEYED.search(printed)) is not bool(runner), printed


def block(page: str, file: str) -> str:
    text = (Path(__file__).parents[2] / "docs" / page).read_text(encoding="utf-8")
    return text.partition(f"<!-- file: {file} -->\n")[2].partition("\n")[2].partition("```")[0]


def test_a_failure_tells_every_part_of_the_answer() -> None:
    parts = set(AnswerResult.model_fields) & set(LABELS.values())
    assert parts == set(LABELS.values())
    answer = {name: f"the {name}" for name in parts} | {"users": ""}
    run = {"run_id": "r", "job": "j", "model": None, "conditions": {}, "answer": answer}
    assert Evaluation({"runs": [run]}, "").why().splitlines()[:-1] == [
        f"  j: {label} the {name}" for label, name in LABELS.items() if name != "users"
    ]

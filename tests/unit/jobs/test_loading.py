"""Job files: the published format, and every problem at once with its position."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from bioeval_tui.base.errors import JobError
from bioeval_tui.expressions import evaluate, parse, scope
from bioeval_tui.jobs.loading import (
    MOST_UNPACKED,
    CaseJobs,
    PackedJob,
    job_bytes,
    job_from_data,
    job_snapshot,
    load_job,
    parse_job,
)
from bioeval_tui.jobs.models import (
    ConversationSeed,
    CypherAssertion,
    ExpressionAssertion,
    MedalAssertion,
    TextSeed,
)

MINIMAL = """\
target: {user: bob, chatbot: bot}
aspirationalAverage: 3000
tasks:
  - task: Remind me
facts: []
"""


def problems_of(text: str) -> list[str]:
    with pytest.raises(JobError) as caught:
        parse_job(text, Path("job.yml"))
    return [str(problem) for problem in caught.value.problems]


def test_the_defaults_of_a_job_are_the_published_ones() -> None:
    job = parse_job(MINIMAL, Path("job.yml")).job
    assert job.evaluator.name == "Socrates"
    assert job.evaluator.signoff == "So Long, and Thanks for All the Fish"
    assert (job.evaluator.prompt, job.evaluator.temperature) == ("eval/socrates", 0.5)
    assert (job.scorer.prompt, job.scorer.temperature) == ("eval/score", 0.0)
    assert job.max_turns == 20
    assert job.greetings == ("Hello", "Hi", "Greetings", "Yo", "Hey")
    assert job.tasks[0].type == "task"


@pytest.mark.parametrize(
    "key",
    [
        "maxTurns", "greetings", "tasks[0].type", "scorer.prompt", "scorer.temperature",
        *(f"evaluator.{each}" for each in ("name", "voice", "prompt", "temperature", "signoff")),
    ],
)  # fmt: skip
def test_expressions_know_the_defaults_of_keys_that_a_job_leaves_out(key: str) -> None:
    left_out = yaml.safe_load(MINIMAL) | {"evaluator": {}, "scorer": {}}
    whole = job_snapshot(parse_job(MINIMAL, Path("job.yml")).job)
    known, said = (
        evaluate(parse(f"evaluation.job.{key}"), scope(None, {"job": job}))
        for job in (left_out, whole)
    )
    assert known == said


def test_a_job_may_name_its_conditions_in_printable_words_of_one_line() -> None:
    named = (
        "conditions: [{name: withheld, facts: none, words: 'knows\\n nothing '}, {name:"
        " supplied}]\n"
    )
    job = parse_job(MINIMAL + named.replace("'", '"'), Path("job.yml")).job
    assert [condition.title for condition in job.held_in] == ["knows nothing", "supplied"]
    assert job_from_data(job_snapshot(job)) == job


@pytest.mark.parametrize(
    ("names", "problem"),
    [
        ("[{name: a, words: same}, {name: b, words: same}]",
            "conditions: two conditions have the words 'same'"),
        ("[{name: a}, {name: a, words: b}]", "conditions: two conditions have the name 'a'"),
        ("[{name: a, words: ' '}]", "conditions[0].words: must not be blank"),
        (f"[{{name: a, words: {'x' * 21}}}]",
            "conditions[0].words: string should have at most 20 characters"),
        ("[{words: a}]", "conditions[0].name: required key is missing"),
        ("[{name: a, fact: none}]", "unknown key, did you mean facts?"),
        ("[{name: mean}]", "conditions[0].name: must be a name of at most 20 small letters"),
        ("[{name: task2}]", "conditions[0].name: must be a name of at most 20 small letters"),
        ("[{name: a, facts: [2]}]", "conditions[0].facts: there is no fact 2; the job has 0"),
        ("[]", "conditions: must list 1 to 8 conditions, not 0"),
        (str([{"name": f"c{n}"} for n in range(9)]),
            "conditions: must list 1 to 8 conditions, not 9"),
        ("[{name: a, facts: [0]}]",
            "conditions[0].facts: must be all, none, or a list of the numbers"),
        ("[{name: a, facts: some}]",
            "conditions[0].facts: must be all, none, or a list of the numbers"),
    ],
)  # fmt: skip
def test_a_wrong_name_of_a_condition_says_what_would_be_right(names: str, problem: str) -> None:
    assert problem in " ".join(problems_of(f"{MINIMAL}conditions: {names}\n"))


@pytest.mark.parametrize(
    ("part", "problem"),
    [
        ("assertions: [{expression: 'true', only: suplied}]",
            "assertions[0].only: suplied is no condition of the job; it has withheld and supplied"),
        ("evaluator: {lines: [{say: a, only: given}]}",
            "evaluator.lines[0].only: given is no condition"),
        ("rubric: [{criterion: a, points: 1, only: given}]",
            "rubric[0].only: given is no condition"),
        ("order: given-first", "order: given is no condition of the job"),
        ("order: sideways", "order: must be random, parallel, or a condition with -first"),
        ("rubric: [{criterion: a, points: 1, rules: [{pattern: b, only: supplied}]}]",
            "rubric[0]: without the facts: no rule counts"),
    ],
)  # fmt: skip
def test_a_condition_that_the_job_does_not_have_is_a_problem(part: str, problem: str) -> None:
    assert problem in " ".join(problems_of(f"{MINIMAL}{part}\n"))


def test_rules_that_leave_out_a_condition_are_refused() -> None:
    rules = "tasks:\n  - task: Remind me\n    rules: [{pattern: done, only: supplied}]\n"
    assert "tasks[0]: without the facts: no rule counts" in " ".join(
        problems_of(MINIMAL.replace("tasks:\n  - task: Remind me\n", rules))
    )


def test_kinds_of_assertions_are_recognised_by_their_keys() -> None:
    job = parse_job(
        MINIMAL
        + """\
seeds: [{text: a}, {conversation: [{content: b}]}]
assertions:
  - expression: "true"
  - {cypher: MATCH (n) RETURN count(n), expected: 1}
  - {medal: bronze, task: a/b, submission: out.csv, weight: 3}
""",
        Path("job.yml"),
    ).job
    assert [type(seed) for seed in job.seeds] == [TextSeed, ConversationSeed]
    assert [type(item) for item in job.assertions] == [
        ExpressionAssertion,
        CypherAssertion,
        MedalAssertion,
    ]
    assert job.assertions[0].title == "ObjectContextAssertion: true"
    assert job.assertions[1].title == "CypherAssertion: MATCH (n) RETURN count(n)"
    assert [item.weight for item in job.assertions] == [1, 1, 3]


def test_a_recorded_job_loads_as_the_same_job() -> None:
    job = parse_job(MINIMAL, Path("job.yml")).job
    assert job_from_data(job_snapshot(job)) == job


def test_every_problem_is_reported_at_once_with_its_position() -> None:
    text = """\
target:
  user: bob
  chatbot: yes
aspirationalAverage: fast
tasks:
  - task: Remind me
    acceptanceCritera: set
facts: []
facts: [x]
maxTurns: true
assertions:
  - cypher: MATCH (n) RETURN n
  - foo: 1
  - {expression: "true", weight: -1}
scorer: {itemsPerRequest: 0, repeats: 26}
"""
    assert problems_of(text) == [
        "job.yml:3:12: target.chatbot: must be text, not the yes/no value true; put it in quotes",
        "job.yml:4:22: aspirationalAverage: must be a number, not 'fast'",
        "job.yml:7:5: tasks[0].acceptanceCritera: unknown key, did you mean acceptanceCriteria?",
        "job.yml:9:1: facts: duplicate key, first given in line 8",
        "job.yml:10:11: maxTurns: must be a whole number, not the yes/no value true",
        "job.yml:12:5: assertions[0].expected: required key is missing",
        (
            "job.yml:13:5: assertions[1]: one of the keys `expression` or `cypher` or `fhir` or"
            " `medal` or `toolCalls` is needed"
        ),
        "job.yml:14:34: assertions[2].weight: must be at least 0",
        "job.yml:15:27: scorer.itemsPerRequest: must be at least 1",
        "job.yml:15:39: scorer.repeats: must be at most 25",
    ]


def test_a_missing_tasks_key_is_an_error_and_an_empty_list_a_warning() -> None:
    without = MINIMAL.replace("tasks:\n  - task: Remind me\n", "")
    assert problems_of(without) == ["job.yml:1:1: tasks: required key is missing"]
    empty = MINIMAL.replace("tasks:\n  - task: Remind me\n", "tasks: []\n")
    (warning,) = parse_job(empty, Path("job.yml")).problems
    assert warning.severity == "warning"


def test_too_few_messages_for_the_tasks_give_a_warning() -> None:
    (warning,) = parse_job(MINIMAL + "maxTurns: 3\n", Path("job.yml")).problems
    assert (warning.line, warning.severity) == (6, "warning")
    assert "at least 4" in warning.message


def test_a_condition_in_which_nothing_is_judged_or_asserted_gives_a_warning() -> None:
    job = MINIMAL.replace("  - task: Remind me\n", "  - {task: Remind me, only: supplied}\n")
    (warning,) = parse_job(job, Path("job.yml")).problems
    assert "without the facts: only response times are scored" in warning.message
    both = job + 'assertions: [{expression: "true", only: withheld}]\n'
    assert parse_job(both, Path("job.yml")).problems == ()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "the file is empty"),
        ("tasks: [", "not valid YAML"),
        ("- a\n- b\n", "must be a mapping"),
        ("a: !!python/object/apply:os.system ['x']\n", "unknown key"),
        ("a: &x [*x]\n", "job.yml:1:4: a: contains an alias of itself"),
        ("a:\n  b: &x {c: *x}\n", "job.yml:2:6: a.b: contains an alias of itself"),
        ("a:\n\tb: 1\n", "job.yml:2:1: not valid YAML: a tab where the line is indented"),
        ("a:\n  b: 1\n\tc: 2\n", "job.yml:3:1: not valid YAML: a tab where the line is indented"),
        ("a: >\n\tx\n", "job.yml:2:1: not valid YAML: a tab where the line is indented"),
        ("a: @x\n", "job.yml:1:4: not valid YAML: a text that begins with @ must be in quotes"),
        ("a: *x\n", "job.yml:1:4: not valid YAML: no & names this alias"),
        ("a: x: y\n", "job.yml:1:5: not valid YAML: a key inside a value"),
        ("\x00", "not valid YAML"),
        ("a: " + "[" * 200 + "]" * 200, "too large or too deep"),
    ],
)
def test_a_file_that_is_not_a_job_is_one_clear_problem(text: str, said: str) -> None:
    assert any(said in problem for problem in problems_of(text))


@pytest.mark.parametrize(
    "facts",
    ["&a [*a, Ada lives in Oslo]", "&a {b: [*a]}", "[" * 60 + "]" * 60, "[" + "1," * 30_001 + "]"],
)
def test_what_cannot_be_held_is_the_only_problem_of_a_file(facts: str) -> None:
    job = f"facts: {facts}\n{MINIMAL.replace('facts', 'about')}"
    (problem,) = problems_of(job)
    assert len(problem) < 200
    assert problem.startswith("job.yml:1:")


def test_yaml_aliases_that_multiply_are_refused() -> None:
    bomb = 'a: &a ["x","x","x","x","x","x","x","x","x"]\n'
    for this, last in zip("bcdefgh", "abcdefg", strict=True):
        bomb += f"{this}: &{this} [" + ",".join([f"*{last}"] * 9) + "]\n"
    assert any("too large" in problem for problem in problems_of(bomb))


def test_an_unreadable_job_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(JobError, match="does not exist"):
        load_job(tmp_path / "missing.yml")
    with pytest.raises(JobError, match="is a folder"):
        load_job(tmp_path)
    latin = tmp_path / "latin.yml"
    latin.write_bytes(b"a: 1\nb: caf\xe9\n")
    with pytest.raises(JobError) as caught:
        load_job(latin)
    assert caught.value.problems[0].line == 2


def test_control_characters_in_a_job_are_made_visible() -> None:
    text = MINIMAL.replace("Remind me", '"Remind \\e]0;x\\a me"')
    assert "\x1b" not in parse_job(text, Path("job.yml")).job.tasks[0].task


@pytest.mark.parametrize(
    ("written", "mode"), [("off", "off"), ('"off"', "off"), ("strict", "strict")]
)
def test_guards_can_be_off_with_or_without_quotes(tmp_path: Path, written: str, mode: str) -> None:
    path = tmp_path / "job.yml"
    path.write_text(MINIMAL + f"evaluator:\n  guards: {written}\n", encoding="utf-8")
    assert load_job(path).job.evaluator.guards == mode
    assert job_from_data(job_snapshot(load_job(path).job)).evaluator.guards == mode


def test_a_misspelt_kind_of_assertion_gets_a_suggestion() -> None:
    with pytest.raises(JobError) as caught:
        parse_job(MINIMAL + "assertions:\n  - expresion: 'true'\n", Path("job.yml"))
    (problem,) = caught.value.problems
    assert problem.message.endswith("instead of expresion, did you mean expression?")
    assert problem.line == MINIMAL.count("\n") + 2


@pytest.mark.parametrize(
    "number", ["0x" + "f" * 500_000, "1" * 5000, "1:" * 5000 + "1", "12:30:00", "1:30.5"]
)
def test_a_huge_or_base_60_number_is_one_problem_with_its_position(number: str) -> None:
    head = "target: {user: a, chatbot: b}\ntasks: []\nfacts: []\n"
    with pytest.raises(JobError) as refused:
        parse_job(f"{head}aspirationalAverage: {number}\n", Path("job.yml"))
    first = refused.value.problems[0]
    assert (first.line, first.field) == (4, "aspirationalAverage")
    assert "put text in quotes" in first.message
    assert len(str(first)) < 300


@pytest.mark.parametrize(("count", "listed"), [(499, 499), (500, 500), (501, 501), (502, 501)])
def test_five_hundred_problems_are_listed_and_that_there_are_more(count: int, listed: int) -> None:
    found = problems_of(MINIMAL + "".join(f"k{at}: 1\n" for at in range(count)))
    assert len(found) == listed
    assert ["the rest is not listed" in each for each in found].count(True) == (count > 500)
    assert ("more than 500 problems" in found[-1]) == (count > 500)


def test_the_jobs_of_cases_are_unpacked_as_they_were_however_many_there_are() -> None:
    template = parse_job(MINIMAL, Path("job.yml")).job
    jobs = [template.model_copy(update={"facts": (f"fact {n}",)}) for n in range(MOST_UNPACKED + 2)]
    packed = CaseJobs(map(PackedJob, jobs))
    assert list(packed) == jobs
    assert list(CaseJobs(PackedJob(job, job_bytes(template)) for job in jobs)) == jobs
    assert (packed[0], packed[-1], packed[:2]) == (jobs[0], jobs[-1], jobs[:2])
    with pytest.raises(IndexError):
        packed[len(jobs)]

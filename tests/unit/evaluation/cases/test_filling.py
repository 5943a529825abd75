"""Rows fill the placeholders of a job, and are always data."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bioeval_tui.jobs.models import (
    ConversationSeed,
    CypherAssertion,
    ExpressionAssertion,
    RubricItem,
)
from tests.unit.evaluation.cases.tables import HEALTHBENCH, VIGNETTES, checked, lines, said

JOB = """\
cases: {file: cases.csv, id: id}
tasks: [{task: "Say what is behind this: {{ case.complaint }}", \
rules: [{pattern: "{{ case.complaint }}"}]}]
facts: ["{{ case.facts }}"]
evaluator: {kind: scripted, lines: [{say: "{{ case.complaint | lower }}"}, \
{say: "I am {{ case.age }}.", fact: 1}]}
scorer: {kind: rules}
setups: [{cypher: "CREATE (:Patient {complaint: {{ case.complaint }}})"}]
assertions:
  - {expression: "evaluation.transcript.any { it.content == {{ case.complaint }} }"}
  - {cypher: "MATCH (p:Patient) RETURN p.age", expected: "{{ case.age | int }}"}
"""
DOCS = Path(__file__).parents[4] / "docs" / "evaluate-your-agent.md"
HELD_AS_PUBLISHED = """\
cases: {file: cases.jsonl, id: prompt_id}
maxTurns: 2
greetings: ["{{ case.prompt[-1].content }}"]
seeds: [{conversation: ["{{ case.prompt[:-1] }}"]}]
tasks: []
facts: []
rubric: ["{{ case.rubrics }}"]
"""


def test_several_facts_of_one_column_are_split_and_lose_their_numbers(tmp_path: Path) -> None:
    row = {
        "told": ["1. He is 61.", "2) He smokes 10.5 cigarettes."],
        "absent": "No fever, No cough,",
        "none": "",
    }
    job = """\
cases: cases.jsonl
tasks: []
facts:
  - "{{ case.told | unnumbered }}"
  - "{{ case.absent | split(', ') }}"
  - "{{ case.none | split('. ') if case.none else [] }}"
"""
    found = checked(tmp_path, job, lines([row]), "cases.jsonl")
    assert said(found, tmp_path) == []
    assert found.cases[0].job.facts == (
        "He is 61.",
        "He smokes 10.5 cigarettes.",
        "No fever",
        "No cough,",
    )


def test_a_vignette_is_split_into_its_sentences_beside_the_number_that_pandas_writes(
    tmp_path: Path,
) -> None:
    table = """\
,text
0,"He is 61. His temperature is 38.5 °C.
What is the diagnosis?"
"""
    job = """\
cases: cases.csv
tasks: [{task: "{{ case.text | sentences | last }}"}]
facts: ["{{ (case.text | sentences)[:-1] }}"]
"""
    found = checked(tmp_path, job, table)
    assert said(found, tmp_path) == []
    (case,) = found.cases
    assert case.job.facts == ("He is 61.", "His temperature is 38.5 °C.")
    assert case.job.tasks[0].task == "What is the diagnosis?"
    (problem,) = said(checked(tmp_path, job, "text,\nHe is 61.,0\n"), tmp_path)
    assert "column 2 has no name in the first line" in problem


def test_a_row_fills_every_text_and_becomes_a_literal_in_code(tmp_path: Path) -> None:
    found = checked(tmp_path, JOB, VIGNETTES)
    assert said(found, tmp_path) == []
    first, second = found.cases
    assert [case.name for case in found.cases] == ["case_840", "case_2169"]
    job = first.job
    assert job.tasks[0].task == 'Say what is behind this: I am anxious, and hear "voices" at night'
    assert (job.facts, second.job.facts) == (("He is 19.",), ("He smokes.",))
    assert [line.say for line in job.evaluator.lines] == [
        'i am anxious, and hear "voices" at night',
        "I am 19.",
    ]
    literal = '"I am anxious, and hear \\"voices\\" at night"'
    assert job.setups[0].cypher == f"CREATE (:Patient {{complaint: {literal}}})"
    condition, query = job.assertions
    assert isinstance(condition, ExpressionAssertion)
    assert condition.expression.endswith(f"== {literal} }}")
    assert isinstance(query, CypherAssertion)
    assert query.expected == 19


def test_healthbench_rows_can_be_used_as_cases(tmp_path: Path) -> None:
    found = checked(tmp_path, HELD_AS_PUBLISHED, lines(HEALTHBENCH), "cases.jsonl")
    assert said(found, tmp_path) == []
    first, second = (case.job for case in found.cases)
    assert first.greetings == ("he is 3, the box says 65 mg",)
    (history,) = first.seeds
    assert isinstance(history, ConversationSeed)
    assert [message.role for message in history.messages] == ["user", "assistant"]
    assert second.seeds == (), "a single message has no history"
    assert second.greetings == ("what does {{ case.prompt_id }} mean in a letter?",), (
        "a row is no template"
    )
    items = [item for item in first.rubric if isinstance(item, RubricItem)]
    assert [item.points for item in items] == [7, 5, 10, -6]
    assert items[2].tags == ("level:example", "axis:accuracy")
    assert first.scorer.prompt == "eval/rubric"


@pytest.mark.parametrize(
    ("gap", "why"),
    [
        ("{% for x in case.id %}{{ x }}{% endfor %}", "`for` is not allowed"),
        ("{{ case.id * 9 }}", "`mul` is not allowed"),
        ("{{ case.id.upper() }}", "`call` is not allowed"),
        ("{{ case.id.__class__ }}", "unsafe"),
        ("{{ case.id | join(case.id) }}", "`join` takes a text"),
        ("{{ lipsum }}", "there is no `lipsum`"),
        ("{{ case.complain }}", "did you mean 'complaint'?"),
        ("{{ case.id", "not a valid template"),
    ],
)
def test_a_placeholder_that_is_not_a_column_is_refused_with_its_position(
    tmp_path: Path, gap: str, why: str
) -> None:
    found = checked(tmp_path, f"cases: cases.csv\ntasks: []\nfacts: ['{gap}']\n", VIGNETTES)
    (problem,) = said(found, tmp_path)
    assert problem.startswith("job.yml:5:")
    assert why in problem


@pytest.mark.parametrize(
    ("job", "row", "problem"),
    [
        ("tasks: [{task: '{{ case.a }}'}]", "1,",
            "cases.csv:2: a: does not fill tasks[0].task (job.yml:4): tasks[0].task must not be"
            " empty"),
        ("tasks: []\nsetups: [{cypher: 'MATCH (n) {{ case.a | safe }} n'}]",
            "1,LOAD CSV FROM 'x' AS", "cases.csv:2: a: does not fill setups[0].cypher (job.yml:5)"),
        ("tasks: []", '1,"x', "cases.csv:2: not CSV"),
        ("tasks: []", "1,x,y",
            "cases.csv:2: 3 fields where the first line names 2 columns; put a text with a comma in"
            " quotes"),
        ("tasks: []", "7,x\n7,y",
            "cases.csv:3: id: the id '7' is already used in line 2; ids must be unique"),
    ],
)  # fmt: skip
def test_a_bad_row_is_named_with_its_line_and_column(
    tmp_path: Path, job: str, row: str, problem: str
) -> None:
    job = f"cases: {{file: cases.csv, id: id}}\n{job}\nfacts: []\n"
    (told,) = said(checked(tmp_path, job, f"id,a\n{row}\n"), tmp_path)
    assert told.startswith(problem)


def test_a_missing_value_is_no_item_and_elsewhere_it_is_named_with_its_column(
    tmp_path: Path,
) -> None:
    job = (
        "cases: cases.jsonl\ntasks: [{task: '{{ case.a }} {{ case.b }}'}]\nfacts: ['{{ case.fact"
        " }}', '{{ case.b }}']\n"
    )
    # NaN as pandas writes it
    rows = '{"a": "x", "b": "y", "fact": NaN}\n{"a": "x", "b": null, "fact": ""}\n'
    found = checked(tmp_path, job, rows, "cases.jsonl")
    assert [case.job.facts for case in found.cases] == [("y",)]
    (problem,) = said(found, tmp_path)
    assert problem.startswith(
        "cases.jsonl:2: b: does not fill tasks[0].task (job.yml:4): the value in this row is"
        " missing"
    )
    found = checked(tmp_path, job.replace(" }}'}]", ' | default("?", true) }}\'}]'))
    assert [(case.job.tasks[0].task, case.job.facts) for case in found.cases] == [
        ("x y", ("y",)),
        ("x ?", ()),
    ]


@pytest.mark.parametrize(
    ("table", "problem"),
    [
        (b"id;complaint\n1;x\n",
            "cases.csv:1: the columns are separated by ';'; separate them by commas"),
        (b"id\tcomplaint\n1\tx\n",
            "cases.csv:1: the columns are separated by tabs; separate them by commas"),
        ("id,complaint\n1,x\n".encode("utf-16"),
            "cases.csv:1: not UTF-8 text; save the table as UTF-8"),
    ],
    ids=["semicolons", "tabs", "UTF-16"],
)  # fmt: skip
def test_a_table_as_spreadsheets_save_it_says_what_would_be_right(
    tmp_path: Path, table: bytes, problem: str
) -> None:
    (tmp_path / "cases.csv").write_bytes(table)
    assert said(checked(tmp_path, "cases: cases.csv\ntasks: []\nfacts: []\n"), tmp_path) == [
        problem
    ]


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ("[" * 100_000 + "]" * 100_000, "nested too deeply; use at most 64 levels"),
        (
            "[" * 65 + "]" * 65,
            f"nested deeper than 64 at id{'[0]' * 12}[…; leave out what the job does not use",
        ),
        ("9" * 5_000, "a number has too many digits; write it as a text, in quotes"),
    ],
    ids=["very deep", "deep", "digits"],
)
def test_a_row_that_json_cannot_hold_is_named_with_its_line(
    tmp_path: Path, row: str, problem: str
) -> None:
    table = f'{{"id": "a"}}\n{{"id": {row}}}\n'
    found = checked(tmp_path, "cases: cases.jsonl\ntasks: []\nfacts: []\n", table, "cases.jsonl")
    assert said(found, tmp_path) == [f"cases.jsonl:2: {problem}"]


def test_a_placeholder_without_a_column_is_reported_once_with_its_position(tmp_path: Path) -> None:
    job = 'cases: cases.csv\ntasks: []\nfacts: []\nassertions: [{expression: "{{ case.age }} +"}]\n'
    (problem,) = said(checked(tmp_path, job, VIGNETTES), tmp_path)
    assert problem.startswith("job.yml:6:27: assertions[0].expression: no row fills this; row 1: ")


def test_a_table_outside_the_jobs_folder_must_be_named_on_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "elsewhere.csv").write_text(VIGNETTES, encoding="utf-8")
    (tmp_path / "jobs").mkdir()
    job = "tasks: []\nfacts: []\ncases: ../elsewhere.csv\n"
    (problem,) = said(checked(tmp_path / "jobs", job), tmp_path / "jobs")
    assert "must be a file in the job's folder; --cases-file takes a file from anywhere" in problem
    found = checked(tmp_path / "jobs", job, file=str(tmp_path / "elsewhere.csv"))
    assert [case.name for case in found.cases] == ["1", "2"]


@pytest.mark.parametrize("name", [".env.csv", ".git/cases.csv", "link.csv"])
def test_a_table_of_cases_is_no_hidden_file(tmp_path: Path, name: str) -> None:
    (tmp_path / ".git").mkdir()
    for file in (".env.csv", ".git/cases.csv"):
        (tmp_path / file).write_text(VIGNETTES, encoding="utf-8")
    (tmp_path / "link.csv").symlink_to(tmp_path / ".env.csv")
    (problem,) = said(
        checked(tmp_path, f"tasks: []\nfacts: []\ncases: {{file: {name}}}\n"), tmp_path
    )
    assert problem.startswith("job.yml:5:15: cases.file: no part of its path may begin with a dot")


def test_braces_have_no_meaning_in_a_job_without_cases(tmp_path: Path) -> None:
    found = checked(tmp_path, "tasks: [{task: 'Explain {{ x }}'}]\nfacts: []\n")
    assert (said(found, tmp_path), found.cases) == ([], ())
    found = checked(tmp_path, "tasks: []\nfacts: []\nrubric: ['{{ case.rubrics }}']\n")
    assert "needs a table of cases" in said(found, tmp_path)[0]


def test_the_documented_examples_are_valid_jobs(tmp_path: Path) -> None:
    blocks = re.findall(
        r"```yaml\n((?:cases|rubric|personas):.*?)```", DOCS.read_text("utf-8"), re.DOTALL
    )
    example, *more = blocks
    table = "case,complaint,diagnosis,facts,age\nx1,cough,flu,I smoke,20\n"
    found = checked(tmp_path, example, table, "vignettes.csv")
    assert (said(found, tmp_path), len(found.cases)) == ([], 1)
    found = checked(tmp_path, "tasks: []\nfacts: []\n" + "".join(more))
    assert (said(found, tmp_path), len(found.cases)) == ([], 3)


def test_a_table_that_is_not_there_is_named_where_the_job_names_it(tmp_path: Path) -> None:
    job = "tasks: []\nfacts: []\ncases: {file: none.csv}\n"
    (problem,) = said(checked(tmp_path, job), tmp_path)
    assert "cases.file: there is no file none.csv in the job's folder" in problem
    assert problem.startswith("job.yml:")

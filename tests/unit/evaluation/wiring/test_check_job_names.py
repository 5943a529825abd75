"""`check` finds invalid patterns and unknown names, each with its position."""

import os
from pathlib import Path

import pytest

from bioeval_tui import plugins
from bioeval_tui.evaluation.wiring.check_job import check_job

JOB = """\
target: {user: u, chatbot: c}
aspirationalAverage: 1000
facts: []
tasks:
  - task: t
"""

FOREIGN = (
    "Demander un rendez-vous avec le médecin", "Pide una cita con el médico",
    "Chiedi un appuntamento per il controllo",
    "Een afspraak maken met de dokter", "Umówić wizytę u lekarza", "薬を飲む時間を聞く",
    "Записаться к врачу на завтра",
)  # fmt: skip
KEYWORDS = (
    "Refill metformin 500 mg, book HbA1c test, check eGFR",
    "{{ case.question }} {{ case.options }} {{ case.facts }} {{ x }}",
    "Sjögren syndrome, Ménière disease, Guillain-Barré: explain differences",
    "TP53 c.743G>A, ACMG: PS1, PM2, PP3",
    "α-synuclein, β-amyloid, γ-secretase inhibitors compared", "ask ask ask ask ask ask ask ask",
    "Ask son about dose", "5 mg per day, x y z",
)  # fmt: skip
"""Of no language: names and terms."""


def problems(tmp_path, text):
    path = tmp_path / "job.yml"
    path.write_text(text, encoding="utf-8")
    return [str(problem).removeprefix(f"{path}:") for problem in check_job(path).errors]


def test_tasks_in_another_language_give_a_warning_about_the_guards(tmp_path):
    path = tmp_path / "job.yml"
    german = JOB.replace(
        "task: t", "task: Bitte den Chatbot um eine tägliche Erinnerung an die Tablette"
    )
    cases = [(german, 1), (german + "evaluator: {guards: off}\n", 0), (JOB, 0)]
    cases += [(JOB.replace("task: t", f"task: '{text}'"), 1) for text in FOREIGN]
    cases += [(JOB.replace("task: t", f"task: '{text}'"), 0) for text in KEYWORDS]
    for text, expected in cases:
        path.write_text(text, encoding="utf-8")
        warned = [
            p for p in check_job(path).problems if p.severity == "warning" and "guards" in p.message
        ]
        assert len(warned) == expected, text
        assert all((one.field, one.line) == ("tasks", 5) for one in warned)


@pytest.mark.parametrize(
    ("task", "says"),
    [
        (
            "Frag nach den Nebenwirkungen von Metformin",
            "the tasks are in German, in which giving up,",
        ),
        ("Impftermin beim Hausarzt buchen", "the tasks are in German, "),
        ("Savoir si le médicament est sûr", "the tasks are in French, "),
        ("Peça um lembrete para amanhã às 9", "the tasks are in Portuguese, "),
        ("请助手提醒你明天早上九点吃药", "the tasks are in Chinese, "),
        ("कल सुबह 9 बजे की याद दिलाने को कहें", "the tasks are in Hindi, "),
        (
            "Be om en påminnelse i morgon klockan 9",
            "the tasks are in Swedish, in which roles, goodbyes in other words",
        ),
        (
            "Minta pengingat untuk minum obat besok pukul 9",
            "the tasks are in Indonesian or Malay, in which roles,",
        ),
        ("내일 아침 9시에 알림을 요청하세요", "the tasks are in Korean, in which roles,"),
        (
            "از ربات بخواه فردا ساعت ۹ یادآوری کند",
            "the tasks are in a language in Arabic letters other than Arabic, in which",
        ),
        (
            "Palu meeldetuletust homme hommikul kella üheksaks",
            "the tasks are in another language, in which roles,",
        ),
    ],
)
def test_check_names_the_language_of_tasks_and_what_is_not_looked_for_in_it(tmp_path, task, says):
    path = tmp_path / "job.yml"
    path.write_text(JOB.replace("task: t", f"task: {task}"), encoding="utf-8")
    (warned,) = check_job(path).problems
    assert (warned.severity, warned.message.startswith(says)) == ("warning", True), warned.message


def test_one_foreign_task_among_english_ones_is_named(tmp_path):
    path = tmp_path / "job.yml"
    path.write_text(
        JOB.replace(
            "task: t",
            "task: Ask whether the drug is safe\n  - task: Fråga om du får dricka alkohol till"
            " maten",
        ),
        encoding="utf-8",
    )
    (warned,) = check_job(path).problems
    assert warned.message.startswith("a task is in Swedish, in which roles, ")


def test_a_valid_job_has_no_problems(tmp_path):
    assert problems(tmp_path, JOB) == []


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            JOB + "    rules: [{pattern: '(oops'}]\n",
            "6:23: tasks[0].rules[0].pattern: the pattern `(oops` cannot be read",
        ),
        (
            JOB + "evaluator: {kind: scripted, lines: [{say: a, when: '['}]}\n",
            "evaluator.lines[0].when: the pattern `[` cannot be read",
        ),
        (
            JOB + "evaluator: {prompt: eval/nope}\n",
            "6:21: evaluator.prompt: prompt `eval/nope`: not found",
        ),
        (
            JOB + "scorer: {prompt: ../x}\n",
            "scorer.prompt: prompt `../x`: must be a name below the job's folder",
        ),
        (
            JOB + "evaluator: {prompt: .env}\n",
            "6:21: evaluator.prompt: prompt `.env`: no part of its name may begin with a dot",
        ),
        (
            JOB.replace("chatbot: c", "chatbot: c, protocol: rset"),
            (
                "1:41: target.protocol: there is no protocol `rset` (did you mean rest?); known"
                " are: a2a, ag-ui, openai, python, rest"
            ),
        ),
        (
            JOB.replace("chatbot: c", "chatbot: c, protocol: openai")
            + "seeds: [{text: a paper}]\n",
            "6:16: seeds[0].text: an agent that speaks openai does not accept texts",
        ),
    ],
)
def test_each_wrong_name_is_reported_with_its_position(tmp_path, text, says):
    (problem,) = problems(tmp_path, text)
    assert says in problem


CYPHER = """setups:
  - cypher: "CREATE (:A {x: 1 / 0})"
assertions:
  - cypher: "MATCH (n) WHERE n.name =~ 'b' RETURN count(n)"
    expected: 1
  - cypher: "MATCH (n) RETURN count(n)"
    expected: 0
"""


def test_queries_that_the_embedded_graph_refuses_give_a_warning_where_it_is_used(tmp_path):
    path = tmp_path / "job.yml"
    path.write_text(JOB + CYPHER, encoding="utf-8")
    assert check_job(path).problems == ()
    found = check_job(path, embedded=True)
    assert found.errors == ()
    assert [(problem.line, problem.column, problem.field) for problem in found.problems] == [
        (7, 31, "setups[0].cypher"),
        (9, 37, "assertions[0].cypher"),
    ]
    assert found.problems[1].message.startswith(
        "rejected unless Neo4j is configured: the embedded graph finds a pattern of =~ anywhere in"
        " the text; use ="
    )


@pytest.mark.parametrize(
    ("target", "rest", "says"),
    [
        ("options: {a: 1}", "",
            "target.options: options are for plug-ins; target.protocol rest takes none"),
        ("protocol: openai", "scorer: {options: {a: 1}}\n",
            "scorer.options: options are for plug-ins; scorer.kind llm"),
        ("protocol: openai, extraBody: {model: x}", "",
            "target.extraBody.model: the program itself fills this in"),
        ("protocol: openai, tools: [{name: a, template: '{{ x'}]", "",
            "target.tools[0].template: no template: line 1"),
        ("protocol: openai, tools: [{name: a, function: 'os:system'}]", "",
            "target.tools[0].function: module os not found"),
        ("protocol: openai, tools: [{name: a}]", "", "target.tools[0]: a tool needs"),
        ("headers: {Authorization: Bearer x}", "",
            "target.headers.Authorization: a job must not contain secrets"),
        ("headers: {Host: x}", "", "target.headers.Host: this header is set by the program itself"),
        ("headersEnv: {X-Key: s e c r e t}", "",
            "target.headersEnv.X-Key: must be the name of an environment variable"),
        ("protocol: a2a, systemPrompt: Be kind", "",
            "warning: an agent that speaks a2a does not use this key; it is for openai, ag-ui"),
        ("protocol: a2a", "assertions: [{expression: objectContext == null}]\n",
            "warning: objectContext is null: the state of an agent that speaks a2a is read at"
            " target.objectContextUrl"),
    ],
)  # fmt: skip
def test_errors_in_the_target_are_reported_with_their_position(
    tmp_path: Path, target: str, rest: str, says: str
) -> None:
    path = tmp_path / "job.yml"
    text = JOB.replace("chatbot: c", f"chatbot: c, {target}")
    path.write_text(text + rest, encoding="utf-8")
    found = [(problem.severity, str(problem)) for problem in check_job(path).problems]
    wanted, _, words = says.rpartition("warning: ")
    assert any(
        words in text and (severity == "warning") == ("warning" in says) for severity, text in found
    ), found
    assert not wanted


def test_bundled_protocols_use_no_key_that_is_theirs_alone() -> None:
    # `check` imports them only for a key that a protocol of the table has.
    in_table = {key for one in plugins.PROTOCOLS for key in one.uses or ()}
    for one in plugins.own_agent_protocols():
        assert {*(one.uses or ())} <= in_table, one.name


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX")
def test_a_pipe_or_device_is_not_read_as_a_job(tmp_path):
    os.mkfifo(tmp_path / "pipe.yml")
    (tmp_path / "device.yml").symlink_to("/dev/zero")
    for name in ("pipe.yml", "device.yml"):
        (problem,) = check_job(tmp_path / name).errors
        assert "does not exist or is not a file" in problem.message

"""Where prompts are found, and that nothing in a job or transcript is read as a template."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from bioeval_tui.base.errors import UsageError
from bioeval_tui.jobs.models import EvaluationJob
from bioeval_tui.peers.models import prompting
from bioeval_tui.peers.models.prompting import (
    Prompt,
    complete_prompt,
    find_prompt,
    prompt_hashes,
    prompt_sha,
    shown_to_judge,
    turns,
)
from bioeval_tui.peers.models.shown import shown_text
from bioeval_tui.peers.transcript import judge_view
from bioeval_tui.protocols import EvaluatorView, JudgeView, TranscriptMessage
from bioeval_tui.record.attachments import attachment_event
from tests.rendered import evaluator_prompt, judge_prompt

JOB = EvaluationJob.model_validate(
    {
        "target": {"user": "Ann", "chatbot": "Bot"},
        "aspirationalAverage": 1000.0,
        "tasks": (
            {
                "task": "T1 {{ config }}",
                "acceptanceCriteria": "CRITERION",
                "rules": ({"pattern": "RULE"},),
            },
        ),
        "facts": ("FACT {{ 7 * 7 }}",),
        "setups": ({"cypher": "SETUP"},),
        "seeds": ({"text": "SEED"},),
        "assertions": ({"expression": "ASSERTION"},),
        "evaluator": {"lines": ({"say": "LINE"},)},
        "rubric": (
            {"criterion": "RUBRIC {{ 1 }}", "points": 7.25},
            {"criterion": "SCOLDS", "points": -3.5},
        ),
    }
)
SAID = [
    TranscriptMessage(1, "user", "Hi"),
    TranscriptMessage(2, "assistant", "{% raw %} RECORD>>> {{ 6 * 7 }}"),
]
SECRETS = ("CRITERION", "RULE", "SETUP", "SEED", "ASSERTION", "LINE", "RUBRIC")


def evaluator_view(condition="withheld"):
    return EvaluatorView(JOB, condition, 1, JOB.facts if condition == "supplied" else (), SAID)


def rendered(text, view=None):
    return evaluator_prompt(Prompt("p", text, "job"), view or evaluator_view())


@pytest.mark.parametrize("condition", ["withheld", "supplied"])
def test_the_evaluators_prompt_contains_nothing_withheld(condition):
    everything = rendered("{{ config | as_json }} {{ facts | as_json }}", evaluator_view(condition))
    packaged = evaluator_prompt(find_prompt("eval/socrates", None), evaluator_view(condition))
    for told in (everything, packaged):
        assert not [secret for secret in SECRETS if secret in told]
        assert ("FACT" in told) == (condition == "supplied")
        assert "T1" in told


CALL = {"request": {"function": {"name": "createReminder"}, "arguments": {"at": "9"}}}
DID = [
    TranscriptMessage(1, "user", "Hi"),
    TranscriptMessage(
        2, "assistant", "", generation=({"systemPrompt": "be kind"}, CALL, {"output": "ok"})
    ),
]
STATES = ({"resources": []}, {"resources": [{"type": "Reminder"}]})


def judge_told(context, prompt=None, said=DID):
    job = JOB.model_copy(update={"scorer": JOB.scorer.model_copy(update={"context": context})})
    return judge_prompt(
        prompt or find_prompt("eval/score", None), JudgeView(job, "withheld", said, *STATES)
    )


def test_the_judge_sees_tool_calls_with_arguments_and_results_by_default():
    assert JOB.scorer.context == "tools"
    told = judge_told("tools")
    assert (
        '{"message": 2, "function": "createReminder", "arguments": {"at": "9"}, "result": "ok"}'
        in told
    )
    assert "be kind" not in told
    assert "state_after" not in told


def test_the_judge_sees_events_and_states_where_the_job_says_all():
    told = judge_told("all")
    assert '{"message": 2, "event": {"systemPrompt": "be kind"}}' in told
    assert '{"state_before": "{\\"resources\\":[]}"}' in told
    assert "Reminder" in told.split("state_after")[1]


def test_the_judge_sees_only_messages_where_the_job_says_none():
    told = judge_told("none")
    assert "createReminder" not in told
    assert "# What the chatbot did" not in told


@pytest.mark.parametrize("context", ["none", "tools", "all"])
def test_the_judge_is_told_of_files_with_their_message_whatever_the_job_shows_it(context):
    event = attachment_event("scan.png", "image/png", 12_000)
    job = JOB.model_copy(update={"scorer": JOB.scorer.model_copy(update={"context": context})})
    said = [DID[0], TranscriptMessage(2, "assistant", "Here:", generation=(event, CALL))]
    told = judge_prompt(
        find_prompt("eval/score", None), judge_view(job, "withheld", said, None, None)
    )
    assert '"content": "Here:\\n[picture: scan.png, image/png, 12 kB]"' in told
    assert told.count("scan.png") == 1
    assert ("createReminder" in told) == (context != "none")


def test_the_judge_sees_json_that_is_the_whole_answer():
    event = {"part": {"data": {"dose": 5}}}
    shown = shown_text(TranscriptMessage(2, "assistant", "", generation=(event,)), 1_000)
    assert shown == '[data: {"dose":5}]'
    assert (
        shown_text(TranscriptMessage(2, "assistant", "5 mg", generation=(event,)), 1_000) == "5 mg"
    )


def test_a_custom_judge_prompt_sees_only_the_variables_it_uses():
    own = Prompt("p", "{{ tools | as_json }} {{ state.after }}", "job")
    assert "createReminder" in judge_told("all", own)
    assert "Reminder" in judge_told("all", own)
    published = Prompt("p", "{{ transcript | as_json }} {{ example }}", "job")
    assert shown_to_judge(published, JOB) == "none"
    assert shown_to_judge(own, JOB) == "tools"
    assert "createReminder" not in judge_told("tools", published)


def test_text_that_is_too_long_is_cut_in_the_middle_and_marked():
    long = {"request": {"function": {"name": "write"}, "arguments": {"text": "x" * 50_000 + "END"}}}
    said = [TranscriptMessage(2, "assistant", "", generation=[long] * 100)]
    told = judge_told("tools", said=said)
    assert "characters left out … " in told
    assert "END" in told
    assert re.search(r'"left_out": "\d+ entries in the middle"', told)
    assert len(told) < 60_000


def test_the_judges_prompt_has_facts_criteria_and_an_example():
    told = judge_prompt(
        find_prompt("eval/score", None),
        JudgeView(JOB.model_copy(update={"rubric": ()}), "withheld", SAID),
    )
    assert "CRITERION" in told
    assert "FACT" in told
    assert "1. T1 {{ config }}" in told


def test_data_in_a_prompt_is_never_evaluated():
    plain = JOB.model_copy(update={"rubric": ()})
    told = judge_prompt(find_prompt("eval/score", None), JudgeView(plain, "withheld", SAID))
    assert "T1 {{ config }}" in told
    assert "FACT {{ 7 * 7 }}" in told
    assert "{{ 6 * 7 }}" in told


def test_the_boundary_around_a_transcript_cannot_be_guessed():
    first = rendered("{{ boundary }}")
    other = EvaluatorView(JOB, "withheld", 1, (), [TranscriptMessage(1, "user", first)])
    assert rendered("{{ boundary }}", other) != first
    assert rendered("{{ boundary }}") == first


@pytest.mark.parametrize(
    ("template", "says"),
    [
        ("{{ nope }}", "'nope' is undefined"),
        ("ok\n{% if %}", "prompt `p`, line 2"),
        ("{{ ''.__class__.__mro__ }}", "p`"),
        ("{{ config.__init__.__globals__ }}", "p`"),
        ("{% for i in range(99999999) %}x{% endfor %}", "steps of range"),
        (
            "{% for i in range(999) %}{% for j in range(999) %}{% endfor %}{% endfor %}",
            "steps of range",
        ),
        ("{{ 'x' * 999999999 }}", "numbers up to"),
        ("{{ 9 ** 99999 }}", "up to 16"),
        ("{{ 'x'.center(999999999) }}", "p`"),
        ("{{ '%999999999d' % 1 }}", "numbers up to"),
        ("{% include 'other' %}", "p`"),
        ("{{ 1 / 0 }}", "p`"),
        ("{{ config.tasks.append(1) }}", "p`"),
    ],
)
def test_a_template_can_neither_escape_its_sandbox_nor_run_long(template, says):
    with pytest.raises(UsageError, match=says):
        rendered(template)


def test_a_prompt_in_the_jobs_folder_takes_precedence(tmp_path):
    (tmp_path / "eval").mkdir()
    (tmp_path / "eval" / "score.j2").write_text("mine", encoding="utf-8")
    assert find_prompt("eval/score", tmp_path) == Prompt("eval/score", "mine", "job")
    assert find_prompt("eval/socrates", tmp_path).origin == "package"


@pytest.mark.parametrize(
    "name", ["../secret", "/etc/passwd", "a/../../b", "nope", "x" * 5000, "a\\b", "link"]
)
def test_prompts_are_read_only_from_the_jobs_folder_and_the_program(tmp_path, name):
    folder = tmp_path / "job"
    folder.mkdir()
    (tmp_path / "secret").write_text("s")
    (folder / "link").symlink_to(tmp_path / "secret")
    with pytest.raises(UsageError, match="prompt `"):
        find_prompt(name, folder)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        (".env", "no part of its name may begin with a dot"),
        (".git/config", "no part of its name may begin with a dot"),
        ("eval/.x.jinja", "no part of its name may begin with a dot"),
        ("id_rsa", "must end in .jinja, .jinja2, .j2"),
        ("notes.txt", "must end in .jinja, .jinja2, .j2"),
        ("link", "not found"),  # to a template's name, but of another file
        ("inner", "not found"),
    ],
)
def test_no_file_but_a_template_is_a_prompt(tmp_path: Path, name: str, says: str) -> None:
    for file in (".env", ".git/config", "eval/.x.jinja", "id_rsa", "notes.txt", ".git/p.jinja"):
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_text("SECRET")
    (tmp_path / "link.jinja").symlink_to(tmp_path / ".env")
    (tmp_path / "inner.jinja").symlink_to(tmp_path / ".git" / "p.jinja")
    with pytest.raises(UsageError, match=re.escape(says)):
        find_prompt(name, tmp_path)


@pytest.mark.parametrize("name", ["mine", "mine.j2"])
def test_a_prompt_is_named_with_or_without_its_ending(tmp_path: Path, name: str) -> None:
    (tmp_path / "mine.j2").write_text("mine")
    assert find_prompt(name, tmp_path).text == "mine"


@pytest.mark.parametrize("data", [b"\xff\xfe\xfa", b"x" * 300_000])
def test_a_prompt_that_is_not_text_is_refused(tmp_path, data):
    (tmp_path / "p.jinja").write_bytes(data)
    with pytest.raises(UsageError, match="prompt `p`"):
        find_prompt("p", tmp_path)


def test_a_prompts_hash_depends_on_its_name_and_text(tmp_path):
    assert prompt_sha("a", "x") != prompt_sha("a", "y")
    before = prompt_hashes(JOB, tmp_path)
    assert set(before) == {"eval/socrates", "eval/score"}
    (tmp_path / "eval").mkdir()
    (tmp_path / "eval" / "score.jinja").write_text("mine")
    assert prompt_hashes(JOB, tmp_path)["eval/score"] != before["eval/score"]
    assert prompt_hashes(JOB, tmp_path)["eval/socrates"] == before["eval/socrates"]


@pytest.mark.parametrize(
    "constant",
    [
        "'a'" + "|replace('a', 'aaaaaaaaaa')" * 9,
        "[1]|slice(1000000000)|list|length",
        "1" + "0" * 100_000,
        "(" * 50_000 + "1" + ")" * 50_000,
    ],
)
def test_listing_a_templates_variables_evaluates_no_constant(constant: str) -> None:
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    prompt = Prompt("hostile", f"{{{{ tools }}}}{{{{ {constant} }}}}", "job")
    resource.setrlimit(resource.RLIMIT_AS, (4 << 30, hard))
    try:
        assert shown_to_judge(prompt, JOB) in ("none", "tools")
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def test_only_the_beginning_of_an_overlong_prompt_is_read(tmp_path: Path) -> None:
    with (tmp_path / "huge.jinja").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(UsageError, match="is longer than 200,000 bytes"):
        find_prompt("huge", tmp_path)


def test_the_judge_of_a_rubric_sees_its_items_and_the_conversation_but_no_points() -> None:
    seeds = ({"conversation": ({"content": "EARLIER", "role": "user"},)},)
    job = JOB.model_copy(
        update={"seeds": EvaluationJob.model_validate({**JOB.model_dump(), "seeds": seeds}).seeds}
    )
    told = judge_prompt(find_prompt("eval/rubric", None), JudgeView(job, "supplied", SAID))
    assert "1. RUBRIC {{ 1 }}\n2. SCOLDS" in told
    assert told.index("EARLIER") < told.index("RECORD>>> {{ 6 * 7 }}")
    assert "7.25" not in told
    assert "3.5" not in told


def test_the_evaluators_prompt_describes_its_persona() -> None:
    personas = (
        {
            "name": "p",
            "voice": "You mumble",
            "patience": "low",
            "language": "Spanish",
            "tells": "all",
        },
    )
    job = EvaluationJob.model_validate({**JOB.model_dump(), "personas": personas})
    (persona,) = job.personas
    evaluator = job.evaluator.model_copy(update={"voice": persona.manner(job.evaluator.voice)})
    job = job.model_copy(update={"evaluator": evaluator})
    told = evaluator_prompt(
        find_prompt("eval/socrates", None), EvaluatorView(job, "supplied", 1, job.facts, SAID)
    )
    assert "You mumble. You have little patience" in told
    assert "You write Spanish and no other language." in told
    assert "Tell the chatbot all that you know at the first opportunity" in told
    assert "Never bring up yourself" not in told


@pytest.mark.parametrize("tells", ["asked", "some", "all"])
def test_the_evaluators_prompts_of_both_conditions_differ_in_the_facts_alone(tells: str) -> None:
    job = EvaluationJob.model_validate(
        {**JOB.model_dump(), "personas": ({"name": "p", "tells": tells},)}
    )
    prompt = find_prompt("eval/socrates", None)
    told = {
        name: evaluator_prompt(prompt, EvaluatorView(job, name, 1, facts, SAID)).splitlines()
        for name, facts in (("withheld", ()), ("supplied", job.facts))
    }
    assert job.facts
    assert [
        line for line in told["supplied"] if line not in {f"- {fact}" for fact in job.facts}
    ] == [
        line for line in told["withheld"] if line != "- Nothing but what is written on this page."
    ]
    assert any("Never make up a place, a date, a time, a dose" in line for line in told["supplied"])


def test_the_example_is_part_of_the_prompts_identity_unless_the_prompt_shows_the_transcript(
    monkeypatch,
):
    ours, own = find_prompt("eval/socrates", None), Prompt("p", "{{ transcript }}", "job")
    assert complete_prompt(own) == own
    before = complete_prompt(ours)
    monkeypatch.setattr(prompting, "DIALOGUE", (*prompting.DIALOGUE[:-1], ("assistant", "No.")))
    assert complete_prompt(ours) != before


def test_the_turns_contain_nothing_withheld_and_alternate():
    said = evaluator_view("withheld")
    for transcript in (
        said.transcript,
        said.transcript[:1],
        (),
        (*said.transcript, *said.transcript),
    ):
        sent = turns(replace(said, transcript=transcript))
        assert [message["role"] for message in sent] == [
            "user",
            *["assistant", "user"] * (len(sent) // 2),
        ]
        assert all(message["content"] for message in sent)
        assert "FACT" not in str(sent)
        assert "LINE" not in str(sent)

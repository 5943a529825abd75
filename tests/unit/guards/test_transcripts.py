"""`bioeval-tui guards` checks transcripts of any origin."""

import json

import pytest

from bioeval_tui.guards import checks
from tests.command import call


def line(*said, **more):
    messages = [{"role": role, "content": text} for role, text in said]
    return json.dumps({"id": "a", "messages": messages, **more})


def run(tmp_path, *lines, options=("--json",)):
    path = tmp_path / "transcripts.jsonl"
    path.write_bytes(b"\n".join(one if isinstance(one, bytes) else one.encode() for one in lines))
    result = call("guards", path, *options)
    assert result.exception is None, result.exception
    return (
        result.return_value,
        [json.loads(row) for row in result.stdout.splitlines()],
        result.stderr,
    )


TALK = (
    ("assistant", "Do you smoke?"),
    ("user", "The vignette doesn't say."),
    ("assistant", "Since when?"),
)


def test_each_finding_is_one_json_object_and_the_last_one_has_the_totals(tmp_path):
    code, (hit, totals), _ = run(tmp_path, line(*TALK))
    assert code == 0
    assert hit == {
        "id": "a",
        "message": 2,
        "rule": "out_of_role",
        "effect": "void",
        "detail": "speaks of what it was told: “The vignette doesn't say.”",
    }
    assert {
        key: totals[key]
        for key in ("conversations", "user_messages", "marked", "void", "bad_lines")
    } == {
        "conversations": 1,
        "user_messages": 1,
        "marked": 0,
        "void": 1,
        "bad_lines": 0,
    }
    assert totals["by_rule"]["out_of_role"] == 1
    assert totals["by_rule"]["leak"] == 0


def test_message_numbers_count_all_roles_and_tool_messages_are_not_checked(tmp_path):
    said = (("system", "The vignette: …"), ("tool", "<think>"), *TALK)
    _, (hit, totals), _ = run(tmp_path, line(*said))
    assert (hit["message"], totals["user_messages"]) == (4, 1)


def test_facts_vignette_and_condition_decide_what_is_a_disclosure(tmp_path):
    said = (("user", "Hi"), ("assistant", "Hello"), ("user", "The user lives in Zurich, you know."))
    fact = "The user lives in Zurich"
    rows = [
        line(*said, facts=[fact], condition="withheld"),
        line(*said, vignette=f"{fact}. She is ill.", condition="withheld"),
        line(*said, facts=[fact]),
        line(*said),
    ]
    _, found, _ = run(tmp_path, *rows)
    assert [hit.get("effect") for hit in found[:-1]] == ["void", "void", "mark"]


def test_without_tasks_and_facts_numbers_are_not_checked(tmp_path):
    said = (("assistant", "Your number?"), ("user", "It is 4711."))
    _, found, _ = run(tmp_path, line(*said), line(*said, vignette="You want to fly."))
    assert [hit.get("rule") for hit in found[:-1]] == ["invention"]


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        (b"{", "not JSON at column 2"),
        (b"[1]", "must be a JSON object with `id` and `messages`"),
        (b'{"id": "\xff"}', "not UTF-8 at byte 9"),
        (b"[" * 100_000, "nested too deeply"),
        ('{"id": "x"}', "`messages` must be a list"),
        ('{"messages": [3]}', "message 1: `role` must be user"),
        ('{"messages": [{"role": "doctor", "content": ""}]}', "message 1: `role` must be user"),
        ('{"messages": [{"role": "user"}]}', "message 1: `content` must be text"),
        (line(*TALK, facts="no"), "`facts` must be a list of texts"),
        (line(*TALK, facts=["a"], vignette="b"), "give `facts` or `vignette`, not both"),
        (line(*TALK, condition="no"), "`condition` must be withheld or supplied"),
    ],
)
def test_an_invalid_line_is_reported_with_its_number_and_the_others_are_checked(
    tmp_path, bad, says
):
    code, found, stderr = run(tmp_path, line(*TALK), bad, line(*TALK))
    assert code == 2
    assert len(stderr.splitlines()) == 1
    assert "transcripts.jsonl, line 2: " in stderr
    assert says in stderr
    assert (found[-1]["conversations"], found[-1]["bad_lines"]) == (2, 1)


def test_an_overlong_line_is_skipped_without_reading_it_whole(tmp_path, monkeypatch):
    monkeypatch.setattr(checks, "MAX_LINE", 1_000)
    code, found, stderr = run(tmp_path, b"x" * 10_000, line(*TALK))
    assert (code, found[-1]["conversations"]) == (2, 1)
    assert "line 1: longer than 1,000 bytes" in stderr


def test_a_missing_transcript_file_is_named(tmp_path):
    result = call("guards", tmp_path / "none.jsonl")
    assert "none.jsonl cannot be read: No such file" in str(result.exception)


def test_conversations_of_a_language_that_is_not_read_are_counted_and_said_once(tmp_path):
    swedish = (
        ("user", "Hej, jag vill ha en påminnelse i morgon klockan nio, tack."),
        ("assistant", "Klart, den är satt."),
        ("user", "Tack så mycket för hjälpen, det var allt."),
    )
    code, found, stderr = run(tmp_path, line(*swedish), line(*TALK), line(*swedish))
    assert (code, found[-1]["unread"]) == (0, {"Swedish": 2})
    assert stderr.splitlines() == [
        "warning: 2 conversations in Swedish, in which roles, goodbyes in other words than the"
        " sign-off and facts are not looked for, and nothing is concluded from them"
        " (docs/guards.md)"
    ]

"""The judge's model over real HTTP: verdicts, panels, second tries, and "not measured" instead of
0.
"""

from __future__ import annotations

import json

import pytest
from aiohttp import web

from bioeval_tui.base.errors import NotMeasuredError
from bioeval_tui.peers.models.judge import LLMJudge
from bioeval_tui.peers.models.model import ChatModel
from bioeval_tui.peers.retry import RetryRule
from bioeval_tui.protocols import JudgeView, PeerError, TranscriptMessage
from tests.servers import openai_server as srv

KEY = "sk-test-0123456789abcdef"


def verdict(first=0.8, second=1.0, **more):
    return {
        "tone": 0.5,
        "tasks": [
            {
                "task": 1,
                "scored": "a",
                "score": first,
                "reason": "It says so.",
                "evidence": ['"reminder set"'],
            },
            {
                "task": 2,
                "scored": "b",
                "score": second,
                "reason": "Named.",
                "evidence": ["costs 3 euros"],
            },
        ],
        **more,
    }


@pytest.fixture
async def make(server, tmp_path):
    made = []

    def judge(*models, repeats=1):
        made.append(
            LLMJudge(
                models=models or ("judge-1",),
                job_dir=tmp_path,
                repeats=repeats,
                chat=ChatModel("judge", api_key=KEY, base_url=server.url),
                retries=RetryRule(attempts=3, first_wait_s=0.0),
                at_once=1,
            )
        )
        return made[-1]

    yield judge
    for one in made:
        await one.aclose()


@pytest.fixture
def view(job, transcript):
    return JudgeView(job, "withheld", transcript)


async def test_a_verdict_has_scores_reasons_and_located_evidence(make, server, view):
    server.will(srv.say_json(verdict()))
    (found,) = await make().score(view)
    assert [(t.task, t.score, t.reason) for t in found.tasks] == [
        (1, 0.8, "It says so."),
        (2, 1.0, "Named."),
    ]
    assert [t.evidence[0].message for t in found.tasks] == [4, 4]
    assert (found.judge, found.tone, found.tokens_in) == ("judge-1", 0.5, 11)
    body = server.received[0].body
    assert body["temperature"] == 0.0
    assert body["response_format"]["json_schema"]["strict"] is True
    assert "CRITERION" in server.received[0].text
    assert "8:15" in server.received[0].text


async def test_a_judge_that_names_only_the_users_messages_is_asked_again_and_then_unproved(
    make, server, view
):
    def named(message):
        told = {"messages": [message], "reason": "It was handled."}
        return {
            "tone": 0.5,
            "tasks": [{"task": 1, "score": 1, **told}, {"task": 2, "score": 0, **told}],
        }

    server.will(srv.say_json(named(3)), srv.say_json(named(4)))
    (found,) = await make().score(view)
    assert [task.evidence[0].message for task in found.tasks] == [4, 3]
    assert "the evidence of task 1 is only what the user said" in server.received[1].text
    assert "Score only these tasks: 1" in server.received[1].text
    server.will(srv.say_json(named(3)), srv.say_json(named(1)))
    (found,) = await make().score(view)
    assert [task.evidence[0].message for task in found.tasks] == [3, 3]
    assert len(server.received) == 4


async def test_a_malformed_verdict_is_requested_again_with_its_errors(make, server, view):
    server.will(srv.say_json(verdict(first=8)), srv.say_json(verdict()))
    (found,) = await make().score(view)
    assert found.tasks[0].score == 0.8
    assert found.tokens_in == 22
    assert "the score of task 1 is 8; it must be from 0 to 1" in server.received[1].text


OWN_PROMPT = """Score each task from 0 to 1. Answer in this form:
{"tone": 0.5, "tasks": [\
{% for task in config.tasks %}{"scored": "{{ task.task }}", "score": 0.9}\
{% if not loop.last %},{% endif %}{% endfor %}]}
{% for said in transcript %}{{ said.role }}: {{ said.content }}
{% endfor %}"""


async def test_a_copied_example_of_the_jobs_own_prompt_is_requested_again(
    make, server, view, tmp_path
):
    (tmp_path / "mine.jinja").write_text(OWN_PROMPT)
    own = view.job.model_copy(
        update={"scorer": view.job.scorer.model_copy(update={"prompt": "mine"})}
    )
    copied = {"tone": 0.5, "tasks": [{"scored": each.task, "score": 0.9} for each in own.judged]}
    scored = {"tone": 0.5, "tasks": [{"scored": each.task, "score": 0.2} for each in own.judged]}
    server.will(srv.say_json(copied), srv.say_json(scored))
    (found,) = await make().score(JudgeView(own, "withheld", view.transcript))
    assert [task.score for task in found.tasks] == [0.2, 0.2]
    assert "it is the example of the instructions, word for word" in server.received[1].text


def counting(*tokens):
    """Answer with a verdict, and report so many tokens of each prompt in turn."""
    left = list(tokens)

    async def answer(server, request, body):
        said = srv.completion({"role": "assistant", "content": json.dumps(verdict())})
        return web.json_response(
            {**said, "usage": {"prompt_tokens": left.pop(0), "completion_tokens": 7}}
        )

    return [answer] * len(tokens)


@pytest.mark.parametrize(
    ("tokens", "is_cut"),
    [((4096, 4096), True), ((4096, 4097), False), ((9000, 4096), False)],
    ids=["at the context", "beyond it", "below another"],
)
async def test_a_longer_prompt_with_the_same_tokens_was_cut_by_the_server(
    make, server, view, tokens, is_cut
):
    server.will(*counting(*tokens))
    judge = make()
    await judge.score(view)
    thanks = (
        TranscriptMessage(number, "user", "Thanks a lot for that! " * 20) for number in range(5, 15)
    )
    longer = [*view.transcript, *thanks]
    again = judge.score(JudgeView(view.job, "withheld", longer))
    if is_cut:
        with pytest.raises(
            PeerError, match=r"only part of the prompt .*counted 4,096 tokens for .* num_ctx"
        ):
            await again
    else:
        await again


def fabricated():
    found = verdict()
    found["tasks"][1]["evidence"] = ["costs 3 euros", "I have booked a flight to Mars"]
    return found


async def test_a_quotation_that_is_not_in_the_transcript_is_requested_once_more(make, server, view):
    server.will(srv.say_json(fabricated()), srv.say_json(verdict()))
    (found,) = await make().score(view)
    assert all(item.message for task in found.tasks for item in task.evidence)
    assert (
        "the evidence of task 2 is not in the conversation: 'I have booked a flight to Mars'"
        in (server.received[1].text)
    )


@pytest.mark.parametrize(
    "second", [srv.say_json(fabricated()), srv.say("I said so."), srv.status(401, "no")]
)
async def test_a_verdict_that_keeps_its_invented_quotation_is_kept_and_marked(
    make, server, view, second
):
    server.will(srv.say_json(fabricated()), second)
    (found,) = await make().score(view)
    assert [[item.message for item in task.evidence] for task in found.tasks] == [[4], [4, None]]
    assert len(server.received) == 2


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (srv.say("I think they did well."), "it is not JSON"),
        (
            srv.say_json({"tone": 1, "tasks": verdict()["tasks"][:1]}),
            r"no score for task 2 \(of 2\)",
        ),
        (srv.say('{"tone": 0.5, "ta', finish="length"), "cut off at the model's length limit"),
        (srv.call_tool("score", {}), "called a tool"),
        (srv.say(""), "was empty"),
    ],
)
async def test_malformed_verdicts_leave_the_score_not_measured_with_the_reason(
    make, server, view, answer, says
):
    server.will(answer, answer, answer)
    with pytest.raises(NotMeasuredError, match=says) as caught:
        await make().score(view)
    assert not isinstance(caught.value, PeerError)
    assert len(server.received) == 3, "once for all, once more, and once for a single task"


@pytest.mark.parametrize(
    "others", [srv.say("Well."), srv.status(401, "no")], ids=["unusable", "unreachable"]
)
async def test_a_panel_of_which_one_model_objects_to_what_is_said_is_nobodys_fault(
    make, server, view, others
):
    def answer(body):
        return srv.refuse("I cannot judge people.") if body["model"] == "first" else others

    server.otherwise = answer
    with pytest.raises(PeerError, match="the model refused") as caught:
        await make("first", "second").score(view)
    assert caught.value.fault == "unclear"


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (srv.raw('{"choices": null}'), "without choices"),
        (srv.raw("hello", "text/plain"), "not JSON: hello"),
        (srv.status(401, "bad key"), "rejected the API key"),
        (srv.packed("{}"), "sent Content-Encoding: gzip"),
    ],
)
async def test_an_endpoint_failure_is_not_the_judges_fault(make, server, view, answer, says):
    server.will(answer)
    with pytest.raises(PeerError, match=says) as caught:
        await make().score(view)
    assert caught.value.peer == "judge"
    assert KEY not in str(caught.value)


async def test_rate_limits_and_server_errors_are_retried_a_few_times(make, server, view):
    server.will(srv.status(429, retry_after="0"), srv.status(500), srv.say_json(verdict()))
    assert len(await make().score(view)) == 1
    server.will(*[srv.status(503)] * 3)
    with pytest.raises(PeerError, match="503"):
        await make().score(view)
    assert len(server.received) == 6


async def test_a_verdict_after_reasoning_text_is_read(make, server, view):
    server.will(srv.say(f'<think>Is {{"tone": 1}} fair?</think>\n{srv.json.dumps(verdict())}'))
    (found,) = await make().score(view)
    assert [task.score for task in found.tasks] == [0.8, 1.0]


async def test_servers_without_json_schemas_are_asked_in_simpler_ways(make, server, view):
    refused = srv.status(400, "response_format is not supported")
    server.will(
        refused, refused, srv.say(f"Here you go:\n```json\n{srv.json.dumps(verdict())}\n```")
    )
    judge = make()
    assert len(await judge.score(view)) == 1
    formats = [received.body.get("response_format", {}).get("type") for received in server.received]
    assert formats == ["json_schema", "json_object", None]
    server.will(srv.say_json(verdict()))
    await judge.score(view)
    assert "response_format" not in server.received[-1].body


async def test_a_panel_keeps_every_verdict(make, server, view):
    server.will(*[srv.say_json(verdict(first=score)) for score in (0.1, 0.2, 0.8, 0.9)])
    judge = make("a", "b", repeats=2)
    found = await judge.score(view)
    assert [(v.judge, v.tasks[0].score) for v in found] == [
        ("a #1", 0.1),
        ("a #2", 0.2),
        ("b #1", 0.8),
        ("b #2", 0.9),
    ]
    assert judge.identity == "a, b × 2"


async def test_two_thirds_of_a_panel_are_enough_and_fewer_are_not(make, server, view):
    bad = srv.say("nonsense")
    server.will(srv.say_json(verdict()), bad, bad, bad, srv.say_json(verdict()))
    found = await make("a", "b", "c").score(view)
    assert [(v.judge, bool(v.error)) for v in found] == [("a", False), ("b", True), ("c", False)]
    assert [v.tokens_in for v in found] == [
        11,
        33,
        11,
    ], "a verdict that is missing was paid for, too"
    assert found[1].error.startswith(
        "b gave no usable verdict in 3 answers; the last time: it is not JSON"
    )
    server.will(srv.say_json(verdict()), *[bad] * 6)
    with pytest.raises(
        NotMeasuredError, match="only 1 of 3 verdicts are usable, fewer than two thirds: b gave"
    ):
        await make("a", "b", "c").score(view)


async def test_a_judge_with_a_broken_prompt_leaves_the_score_not_measured(make, view, tmp_path):
    (tmp_path / "eval").mkdir()
    (tmp_path / "eval" / "score.jinja").write_text("line one\n{% for x in %}")
    with pytest.raises(NotMeasuredError, match="prompt `eval/score`, line 2"):
        await make().score(view)

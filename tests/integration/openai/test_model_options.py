"""The options of each role's model: what a server receives, what it refuses, and what a dry run and
a recording say.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_args

import pytest
from openai.types.shared import ReasoningEffort as OpenAIsEffort

from bioeval_tui.evaluation.wiring.check_job import check_job
from bioeval_tui.jobs.models import ReasoningEffort
from bioeval_tui.report.comparison import compare, run_notes
from bioeval_tui.report.result import load_run
from bioeval_tui.report.sentences import sentence
from tests.servers import openai_server as srv
from tests.servers.whole_runs import WholeRun, hold, with_models

PARTS = {"agent": "target", "user": "evaluator", "judge": "scorer"}
OPTIONS = {
    "temperature": 0.25,
    "topP": 0.5,
    "maxTokens": 321,
    "seed": 40,
    "stop": ["\n\n", "END"],
    "reasoningEffort": "low",
    "timeoutMs": 45000,
    "extraBody": {"top_k": 20, "chat_template_kwargs": {"enable_thinking": False}},
}
SAID = {
    "agent": "I set it, and that is all that I can do for you today.",
    "user": json.dumps({"message": "Could you set a reminder for nine?"}),
    "judge": json.dumps({"tone": 0.5,
            "tasks": [{"task": 1, "score": 1.0, "reason": "It was set.", "messages": [2]}]}),
}  # fmt: skip


def make_job(url: str, api: str = "chat", **options: dict[str, Any]) -> dict[str, Any]:
    """Return a job whose three roles are models of the server; `options` are those of each role."""
    own = {role: {"model": role, "api": api, **options.get(role, {})} for role in PARTS}
    return {
        "target": {
            "user": "ada",
            "chatbot": "bot",
            "protocol": "openai",
            "url": url,
            **own["agent"],
        },
        "aspirationalAverage": 60000,
        "maxTurns": 4,
        "evaluator": own["user"],
        "scorer": own["judge"],
        "facts": [],
        "tasks": [{"task": "Get a reminder for nine"}],
    }


def answer(body: dict[str, Any]) -> srv.Answer:
    """Answer in the role that the request's model names, in the API that was used."""
    text = SAID[body["model"]]
    if "messages" in body:
        return srv.say(text)
    item = {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "output_text", "text": text}],
    }
    return srv.raw(json.dumps({"status": "completed", "output": [item]}))


def received(server: srv.OpenAIServer, role: str) -> list[dict[str, Any]]:
    return [asked.body for asked in server.received if asked.body["model"] == role]


async def run(
    server: srv.OpenAIServer, folder: Path, *, api: str = "chat", **options: Any
) -> WholeRun:
    spec = {key: options.pop(key) for key in ("trials", "conditions") if key in options}
    job = make_job(server.url, api, **options)
    return await hold(json.dumps(job), folder, settings=with_models(server.url), **spec)


@pytest.mark.parametrize("role", PARTS)
@pytest.mark.parametrize("api", ["chat", "responses"])
async def test_a_server_receives_the_options_of_each_role(
    api: str, role: str, tmp_path: Path
) -> None:
    async with srv.OpenAIServer(otherwise=answer) as server:
        held = await run(server, tmp_path, api=api, conditions=("supplied",), **{role: OPTIONS})
    assert held.state.scores()["supplied"] is not None
    wanted = {
        "temperature": 0.25,
        "top_p": 0.5,
        "seed": 40,
        "stop": ["\n\n", "END"],
        "top_k": 20,
        "chat_template_kwargs": {"enable_thinking": False},
        **({"max_tokens": 321, "reasoning_effort": "low"} if api == "chat" else {}),
        **(
            {"max_output_tokens": 321, "reasoning": {"effort": "low"}} if api == "responses" else {}
        ),
    }
    names = {"max_tokens", "max_output_tokens", "reasoning_effort", "reasoning", *wanted}
    for other in PARTS:
        for body in (bodies := received(server, other)):
            given = {name: value for name, value in body.items() if name in names}
            usual = {} if other == "agent" else {"temperature": {"user": 0.5, "judge": 0.0}[other]}
            assert given == (wanted if other == role else usual)
        assert bodies
    assert {asked.path for asked in server.received} == {
        "/v1/chat/completions" if api == "chat" else "/v1/responses"
    }


async def test_each_trial_and_each_repeat_of_a_judge_has_its_own_seed(tmp_path: Path) -> None:
    seeded = {"seed": 40}
    async with srv.OpenAIServer(otherwise=answer) as server:
        await run(
            server, tmp_path, trials=2, agent=seeded, user=seeded, judge={**seeded, "repeats": 2}
        )
    seeds = {role: [body["seed"] for body in received(server, role)] for role in PARTS}
    assert seeds["agent"] == [40] * 4 + [41] * 4, "both conditions of a trial have the same"
    assert seeds["user"] == [40] * 2 + [41] * 2
    assert sorted(seeds["judge"]) == [40] * 4 + [41] * 4, "the repeats are asked at once"


@pytest.mark.parametrize("role", PARTS)
async def test_a_model_has_its_own_timeout(role: str, tmp_path: Path) -> None:
    def slow(body: dict[str, Any]) -> srv.Answer:
        return srv.hangs() if body["model"] == role else answer(body)

    async with srv.OpenAIServer(otherwise=slow) as server:
        held = await run(server, tmp_path, conditions=("supplied",), **{role: {"timeoutMs": 200}})
    assert "did not finish its answer within 0.2 s" in str(
        [event.model_dump() for event in held.events]
    )


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("seed", 7, "Unknown parameter: 'seed'."),
        ("reasoningEffort", "max", "Unsupported value: 'reasoning_effort' does not support 'max'."),
        ("maxTokens", 9000, "max_tokens is too large: 9000."),
        ("extraBody", {"top_k": 20}, "Unrecognized request argument supplied: top_k"),
    ],
)
@pytest.mark.parametrize("role", PARTS)
async def test_an_option_of_the_job_that_a_server_refuses_is_named_and_never_left_out(
    role: str, key: str, value: Any, words: str, tmp_path: Path
) -> None:
    def refuses(body: dict[str, Any]) -> srv.Answer:
        return srv.status(400, words) if body["model"] == role else answer(body)

    async with srv.OpenAIServer(otherwise=refuses) as server:
        held = await run(server, tmp_path, conditions=("supplied",), **{role: {key: value}})
    assert held.state.scores() == {"supplied": None}
    told = str([event.model_dump() for event in held.events])
    field = f"{PARTS[role]}.{key}" + (".top_k" if key == "extraBody" else "")
    assert f"{words} (the job sets {field})" in told.replace("\\'", "'")
    name = {"seed": "seed", "reasoningEffort": "reasoning_effort", "maxTokens": "max_tokens"}.get(
        key, "top_k"
    )
    assert all(name in body for body in received(server, role))


async def test_a_refused_temperature_is_left_out_with_a_warning_that_names_the_jobs_key(
    tmp_path: Path,
) -> None:
    def refuses(body: dict[str, Any]) -> srv.Answer:
        return srv.refuse_option("temperature") if "temperature" in body else answer(body)

    async with srv.OpenAIServer(otherwise=refuses) as server:
        held = await run(server, tmp_path, conditions=("supplied",), judge={"temperature": 0.3})
    assert held.state.scores()["supplied"] is not None
    warned = [warning.message for warning in held.of("warned") if warning.code == "options"]
    (judge,) = [
        words
        for words in warned
        if words.startswith("the judge's model is asked without temperature")
    ]
    assert judge.endswith("(the job sets scorer.temperature)")


@pytest.mark.parametrize(
    "words",
    [
        "messages[3] is malformed: 'Hi, my temperature is 39, is that invalid?'",
        "messages[3] is malformed. I took my temperature at nine.",
        'cannot read {"model": "judge", "temperature": 0, "messages": []}: messages is empty',
    ],
)
async def test_words_that_only_contain_an_options_name_do_not_refuse_it(
    words: str, tmp_path: Path
) -> None:
    def refuses(body: dict[str, Any]) -> srv.Answer:
        return srv.status(400, words) if body["model"] == "judge" else answer(body)

    async with srv.OpenAIServer(otherwise=refuses) as server:
        held = await run(server, tmp_path, conditions=("supplied",))
    assert held.state.scores() == {"supplied": None}
    assert all("temperature" in body for body in received(server, "judge"))


async def test_an_option_stays_out_of_later_requests_only_where_that_helped(tmp_path: Path) -> None:
    def refuses(body: dict[str, Any]) -> srv.Answer:
        if body["model"] == "user" and len(received(server, "user")) <= 2:
            return srv.status(400, "invalid temperature? no: messages[3] is malformed")
        return answer(body)

    async with srv.OpenAIServer(otherwise=refuses) as server:
        held = await run(server, tmp_path, trials=2, conditions=("supplied",))
    assert [("temperature" in body) for body in received(server, "user")][:3] == [True, False, True]
    assert not [warning for warning in held.of("warned") if warning.code == "options"]


async def test_a_server_that_wants_the_newer_name_of_the_limit_gets_it(tmp_path: Path) -> None:
    words = (
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use"
        " 'max_completion_tokens' instead."
    )

    def refuses(body: dict[str, Any]) -> srv.Answer:
        return srv.status(400, words) if "max_tokens" in body else answer(body)

    async with srv.OpenAIServer(otherwise=refuses) as server:
        held = await run(server, tmp_path, conditions=("supplied",), user={"maxTokens": 90})
    assert held.state.scores()["supplied"] is not None
    assert not [warning for warning in held.of("warned") if warning.code == "options"]
    bodies = received(server, "user")
    assert [body.get("max_completion_tokens") for body in bodies] == [None] + [90] * (
        len(bodies) - 1
    )


@pytest.mark.parametrize("role", PARTS)
@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            (
                "Your organization must be verified to stream this model. Please go to:"
                " https://example.org/x"
            ),
            "not to stream",
        ),
        ("Unsupported value: 'stream' does not support true with this model.", "not to stream"),
        ("streaming is not supported for this deployment", "not to stream"),
    ],
)
async def test_a_server_that_does_not_stream_is_asked_once_and_then_no_more(
    role: str, words: str, told: str, tmp_path: Path
) -> None:
    def refuses(body: dict[str, Any]) -> srv.Answer:
        return srv.status(400, words) if body["model"] == role and body["stream"] else answer(body)

    async with srv.OpenAIServer(otherwise=refuses) as server:
        held = await run(
            server, tmp_path, trials=2, conditions=("supplied",), **{role: {"streaming": True}}
        )
    assert held.state.scores()["supplied"] is not None
    streams = [body["stream"] for body in received(server, role)]
    assert streams == [True] + [False] * (len(streams) - 1)
    (warned,) = [warning.message for warning in held.of("warned") if warning.code == "options"]
    assert told in warned
    assert words[:30] in warned


@pytest.mark.parametrize("role", PARTS)
async def test_streaming_is_a_key_of_every_role(role: str, tmp_path: Path) -> None:
    usual = {"agent": True, "user": True, "judge": False}[role]
    async with srv.OpenAIServer(otherwise=answer) as server:
        held = await run(
            server, tmp_path, conditions=("supplied",), **{role: {"streaming": not usual}}
        )
    assert held.state.scores()["supplied"] is not None
    assert {body["stream"] for body in received(server, role)} == {not usual}


@pytest.mark.parametrize("code", [400, 500])
@pytest.mark.parametrize(
    "words",
    [
        "System role not supported",
        "Only user and assistant roles are supported! (the system role is not supported)",
        "Developer instruction is not enabled for models/gemma-3-1b-it",
    ],
)
@pytest.mark.parametrize("role", PARTS)
async def test_a_model_without_a_system_role_gets_its_instructions_in_the_users_first_message(
    role: str, words: str, code: int, tmp_path: Path
) -> None:
    def refuses(body: dict[str, Any]) -> srv.Answer:
        has_system = any(message["role"] == "system" for message in body["messages"])
        return srv.status(code, words) if body["model"] == role and has_system else answer(body)

    own = {"agent": {"systemPrompt": "Be kind."}}.get(role, {})
    async with srv.OpenAIServer(otherwise=refuses) as server:
        held = await run(server, tmp_path, conditions=("supplied",), **{role: own})
    assert held.state.scores()["supplied"] is not None
    first, *later = [body["messages"] for body in received(server, role)]
    instructions = first[0]["content"]
    assert [message["role"] for message in first][:1] == ["system"]
    for messages in later:
        assert messages[0]["role"] == "user"
        assert messages[0]["content"].startswith(f"{instructions[:200]}")
        assert "system" not in {message["role"] for message in messages}
    (warned,) = [warning.message for warning in held.of("warned") if warning.code == "options"]
    assert "with its instructions in the first message of the user" in warned


async def test_options_are_part_of_what_a_run_is(tmp_path: Path) -> None:
    async with srv.OpenAIServer(otherwise=answer) as server:
        runs = []
        for name, options in (("a", {}), ("b", {"maxTokens": 200})):
            (tmp_path / name).mkdir()
            runs.append(
                load_run(
                    (
                        await run(server, tmp_path / name, conditions=("supplied",), judge=options)
                    ).path
                )
            )
    one, two = runs
    assert one.started.job_sha256 != two.started.job_sha256
    assert two.started.job["scorer"]["maxTokens"] == 200
    (note,) = [
        note
        for note in map(sentence, run_notes(one, two))
        if note.startswith("the job files differ")
    ]
    assert "scorer.maxTokens: A none, B 200" in note
    assert compare(one, two) is not None


@pytest.mark.parametrize("part", PARTS.values())
@pytest.mark.parametrize(
    ("yaml", "says"),
    [
        ("max_tokens: 5", "max_tokens: unknown key, did you mean maxTokens?"),
        ("num_predict: 5", "num_predict: unknown key, did you mean maxTokens?"),
        ("n_predict: 5", "n_predict: unknown key, did you mean maxTokens?"),
        ("top_k: 5", "top_k: unknown key; send it with extraBody: {top_k: …}"),
        ("min_p: 0.1", "min_p: unknown key; send it with extraBody: {min_p: …}"),
        ("presencePenalty: 1",
            "presencePenalty: unknown key; send it with extraBody: {presencePenalty: …}"),
        ("max_completion_tokens: 5", "max_completion_tokens: unknown key, did you mean maxTokens?"),
        ("max_output_tokens: 5", "max_output_tokens: unknown key, did you mean maxTokens?"),
        ("top_p: 1", "top_p: unknown key, did you mean topP?"),
        ("topp: 1", "topp: unknown key, did you mean topP?"),
        ("reasoning_effort: low", "reasoning_effort: unknown key, did you mean reasoningEffort?"),
        ("effort: low", "effort: unknown key, did you mean reasoningEffort?"),
        ("stop_sequences: [x]", "stop_sequences: unknown key, did you mean stop?"),
        ("extra_body: {}", "extra_body: unknown key, did you mean extraBody?"),
        ("timeout: 5", "timeout: unknown key, did you mean timeoutMs?"),
        ("maxTokens: 0", "maxTokens: must be at least 1"),
        ("maxTokens: 1.5", "maxTokens: must be a whole number, not the number 1.5"),
        ("maxTokens: many", "maxTokens: must be a whole number, not 'many'"),
        ("topP: 0", "topP: must be greater than 0"),
        ("topP: 1.1", "topP: must be at most 1"),
        ("temperature: 3", "temperature: must be at most 2"),
        ("seed: -1", "seed: must be at least 0"),
        ("seed: yes", "seed: must be a whole number, not the yes/no value true"),
        ("stop: END", "stop: must be a list, not 'END'"),
        ("stop: ['']", "stop[0]: must not be empty"),
        ("reasoningEffort: huge",
            "reasoningEffort: must be 'none', 'minimal', 'low', 'medium', 'high', 'xhigh' or 'max',"
            " not 'huge'"),
        ("timeoutMs: 0", "timeoutMs: must be greater than 0"),
        ("extraBody: [1]", "extraBody: must be a mapping of keys, not a list"),
        ("extraBody: {stream: true}", "extraBody.stream: the program itself fills this in"),
        ("maxTokens: 5, extraBody: {max_tokens: 5}",
            "extraBody.max_tokens: PART.maxTokens sets this already"),
        ("seed: 5, extraBody: {seed: 5}", "extraBody.seed: PART.seed sets this already"),
        ("api: responses, seed: 5", "warning: PART.seed: OpenAI's Responses API has no seed"),
    ],
)  # fmt: skip
def test_wrong_options_are_reported_with_file_and_field(
    part: str, yaml: str, says: str, tmp_path: Path
) -> None:
    parts = {"target": "user: u, chatbot: c, protocol: openai, ", "evaluator": "", "scorer": ""}
    parts[part] += yaml
    path = tmp_path / "job.yml"
    path.write_text(
        "".join(f"{name}: {{{text}}}\n" for name, text in parts.items())
        + "aspirationalAverage: 1\nfacts: []\ntasks: [{task: t}]\nmaxTurns: 4\n"
    )
    (problem,) = check_job(path).problems
    severity, _, words = says.rpartition("warning: ")
    assert not severity
    field = words if words.startswith("PART") else f"PART.{words}"
    assert field.replace("PART", part) in str(problem)
    assert str(problem).startswith(f"{path}:")
    assert (problem.severity == "warning") == ("warning" in says)


def test_every_effort_that_the_package_knows_is_allowed() -> None:
    literal, _ = get_args(OpenAIsEffort)
    assert get_args(ReasoningEffort) == get_args(literal)

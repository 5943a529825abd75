"""Results of `promptfoo eval --output`: a JSON document, or JSON Lines with a result each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from bioeval_tui.formats import (
    FileLook,
    GivenScore,
    Header,
    ImportedConversation,
    ImportedPart,
    InputError,
    chat_pieces,
    compact_json,
    entries,
    in_unit,
    messages_in,
    messages_of,
    milliseconds,
    moment,
    note,
    object_at,
    objects,
    whole_number,
)

_RESULT = {"prompt", "vars"}
_SHOWN = {"gradingResult", "response", "success", "error"}


def fits(look: FileLook) -> bool:
    """Return whether a file contains promptfoo's results."""
    return _is_result(look.first) or any(map(_is_result, _results(look.first) or ()))


def _is_result(data: Any) -> bool:
    return isinstance(data, dict) and data.keys() >= _RESULT and bool(data.keys() & _SHOWN)


def _results(data: Mapping[str, Any]) -> list[Any] | None:
    """Return the list in a document, which is in `results` of `results`."""
    found: Any = data.get("results")
    if isinstance(found, dict):
        found = found.get("results")
    if isinstance(found, list):
        return found
    return None


def read(file: Path) -> Iterator[Header | ImportedConversation]:
    """Yield a conversation for each result: a test with a prompt and a provider.

    Raises:
        InputError: a result cannot be read; the text has its place.
    """
    header = Header(judge="promptfoo's assertions")
    providers: Counter[str] = Counter()
    for place, data in _listed(file, header):
        if not _is_result(data):
            raise InputError(f"{place}: must be a result with `prompt`, `vars` and `response`")
        providers[_provider(data)] += 1
        yield _conversation(data)
    if len(providers) > 1:
        counted = ", ".join(f"{name} ({many})" for name, many in providers.most_common(6))
        note(
            "results of several providers or prompts, which are trials of the same cases here:"
            f" {counted}"
        )
    note(
        "so it was read: each result is a conversation; the question from `prompt.raw`, the answer"
        " from `response.output`, scores from `gradingResult`"
    )
    header.model = header.agent = ", ".join(name for name, _ in providers.most_common(3) if name)
    yield header


def _listed(file: Path, header: Header) -> Iterator[tuple[str, Any]]:
    for place, data in entries(file, what="result"):
        results = None
        if isinstance(data, dict) and not _is_result(data):
            results = _results(data)
        if results is None:
            yield place, data
            continue
        config = object_at(data, "config")
        header.name = str(config.get("description") or data.get("evalId") or "")
        header.at = moment(object_at(data, "results").get("timestamp"))
        header.record = {key: value for key, value in data.items() if key != "results"}
        for number, each in enumerate(results, start=1):
            yield f"result {number}", each


def _provider(data: Mapping[str, Any]) -> str:
    provider = data.get("provider")
    if isinstance(provider, dict):
        return str(provider.get("label") or provider.get("id") or "")
    return str(provider or "")


def _conversation(data: dict[str, Any]) -> ImportedConversation:
    response, case = object_at(data, "response"), object_at(data, "testCase")
    error = str(data.get("error") or response.get("error") or "")
    prompt = data["prompt"]
    if isinstance(prompt, dict):
        prompt = prompt.get("raw")
    asked = messages_in(prompt, "user")
    answered = messages_in(response.get("output"), "assistant")
    pieces = list(chat_pieces(asked))
    answers = list(chat_pieces(answered))
    if response.get("output") and not answers:  # a function call, or an object that was asked for
        answers = [ImportedPart("assistant", compact_json(response["output"]), None)]
    # The time and the tokens are those of the whole output: they stand with its last message.
    for piece in answers[-1:]:
        piece.latency_ms = milliseconds(data.get("latencyMs"))
        tokens = object_at(response, "tokenUsage") or object_at(data, "tokenUsage")
        piece.tokens_in, piece.tokens_out = (
            whole_number(tokens.get(key)) for key in ("prompt", "completion")
        )
    talk = ImportedConversation(
        name=_case(data, case),
        messages=messages_of(pieces + answers),
        scores=list(_scores(data)),
        request=_request(data, case),
        record={"raw": data},
    )
    if error and not answers:
        talk.reason, talk.fault, talk.detail = "agent_failed", "agent", error
    return talk


def _case(data: Mapping[str, Any], case: Mapping[str, Any]) -> str:
    described = case.get("description") or data.get("description")
    number = data.get("testIdx")
    if described:
        return str(described)
    if isinstance(number, int):
        return f"test {number + 1}"
    return compact_json(data.get("vars"))


def _request(data: Mapping[str, Any], case: Mapping[str, Any]) -> tuple[str, str]:
    """Return what the test asks for, and what its assertions say."""
    wanted = [
        f"{assertion.get('type')}: {assertion['value']}"
        for assertion in objects(case.get("assert"))
        if isinstance(assertion.get("value"), str)
    ]
    given = object_at(data, "vars")
    texts = [f"{key}: {value}" for key, value in given.items() if isinstance(value, str)]
    return "\n".join(texts), "\n".join(wanted)


def _scores(data: Mapping[str, Any]) -> Iterator[GivenScore]:
    """Yield the whole score, and those that the test names."""
    grading = object_at(data, "gradingResult")
    told = grading.get("score", data.get("score"))
    if told is not None:
        failed = [
            str(each.get("reason") or "")
            for each in objects(grading.get("componentResults"))
            if not each.get("pass")
        ]
        yield GivenScore(
            "score",
            in_unit(told),
            told,
            "; ".join(filter(None, failed)) or str(grading.get("reason") or ""),
        )
    for name, value in object_at(data.get("namedScores") or grading.get("namedScores")).items():
        yield GivenScore(str(name), in_unit(value), value)

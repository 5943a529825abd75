"""No function that reads a peer's text takes long, whatever a looping model or a hostile one sends.

Time is this process's own processor time: other work on the machine does not count, nor does the
collector of garbage, which visits whatever earlier tests left. The limit is some 30 times what most
readers need for a text of this length, and three times what the slowest do; a quadratic reader
exceeds it each time.
"""

import gc
import json
import signal
from contextlib import contextmanager, suppress
from itertools import cycle
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from bioeval_tui.base import text
from bioeval_tui.base.credentials import Hider
from bioeval_tui.base.errors import NotMeasuredError
from bioeval_tui.guards.checks import check
from bioeval_tui.guards.content import asks_for, asks_for_anything, disclosed_facts
from bioeval_tui.guards.specifics import Known
from bioeval_tui.jobs.models import EvaluationJob
from bioeval_tui.languages.speech import asks_question
from bioeval_tui.peers.agents.connection import parse_message, parse_object
from bioeval_tui.peers.failures import received_text
from bioeval_tui.peers.goodbyes import without_signoff
from bioeval_tui.peers.models import evaluator
from bioeval_tui.peers.models.answer import AnswerReader
from bioeval_tui.peers.models.prompting import find_prompt
from bioeval_tui.peers.models.reasoning import strip_reasoning
from bioeval_tui.peers.models.refusals import hide_keys
from bioeval_tui.peers.models.shown import states_shown, tool_calls
from bioeval_tui.peers.models.verdicts import MalformedAnswerError, Question, read_answer
from bioeval_tui.peers.offline import RulesJudge
from bioeval_tui.protocols import EvaluatorView, JudgeView, PeerError, TranscriptMessage
from bioeval_tui.record.importing.into_runs import import_file
from bioeval_tui.record.masking.rules import LiteralRule, Rules
from bioeval_tui.record.tool_calls import call_event, result_event
from bioeval_tui.report import messages
from bioeval_tui.report.formats.markdown import message_lines
from bioeval_tui.report.manner import UserTranscript, user_manner
from bioeval_tui.report.messages import message_blocks
from bioeval_tui.report.result import Quotation
from bioeval_tui.tui.live.transcript import markdown as transcript_markdown
from tests.rendered import evaluator_prompt

pytestmark = pytest.mark.skipif(
    not hasattr(signal, "setitimer"), reason="no timer of processor time here"
)

LENGTH, LIMIT_S, TRIES = 3_000, 0.5, 2

UNITS = [
    *"a1 \n\t\"'([<|*_`~>#=-?!.,:;&\\@$%{}/+",
    "1 ", "1.", "1,", "1/", "1-", "1:", " \n", "A ", "a b ", "the ", "x?", "? ", ". ",
    "don't know ", "((", "![", "[a](", "**", "__", "*a ",
    "_a", "``a", "~~", "> ", "- ", "* ", "1. ", "|-", "a|b\n", "<a ", "</", "<think>", "</think>",
    "<reasoning>", "&amp", "http://",
    "www.", "a@", "a.", "a_", "A1", "p.V600E ", "c.1A>", "rs1", "5 mg ", "10:00 ", "2026-01-01 ",
    "Dr. ", "one hundred ",
    "twenty-", "twenty ", "and ", "Monday ", "é", "é", "\u0301", "\u200d", "\u202e", "漢",
    "\U0001f468\u200d", "\ud800", "\x1b[",
    "\x1b]8;;", "\x9b", "ﬁ", "İ", "ß", "½", "①", "٣", "--", "—", "=\n", "# ", "\r\n", "\r",
    " \u2028", "a\u00ad", "%s", "{{", "{%",
    "```{", "```\n", "} ", "}\n```", '{"a":', '"a",', "[1,", "done: ", "I need ", "x" * 50 + " ",
    "ab-cd-", "Sydney ", "user: ",
    "So Long, ", "So Long, and Thanks for All the ", "So Long, and Thanks for All the Fish", "so*",
    "language model ", "the case i ",
    "mentioned ", "information about ", "in the prompt ", "task ", "…", "... ", "[…] ", "key-aa",
    "sk-", "Bearer ", "Bernie", "; ",
    "<title", "  (", "Lives in ", "warfarin ", "How can I help? ", "at 8 ", "as an ", "your x has ",
    "i have set ", "the user ", "A/", "Aa/", "Aa/Aa",
]  # fmt: skip
"""What a degenerate text repeats."""
FRAMES = [
    ("", ""),
    ("Please say: ", "?"),
    ("<think>", ""),
    ("```json\n{", ""),
    ("the case i", "x"),
    ("the case ", "x"),
    ("my instructions ", "x"),
    ('{"tasks": [', ""),
]
"""What stands before and after it."""

JOB = EvaluationJob.model_validate(
    {
        "target": {"user": "Ann", "chatbot": "Bernie"},
        "aspirationalAverage": 1000.0,
        "tasks": (
            {"task": "Ask the chatbot for a daily reminder"},
            {"task": "Ask what the weather is like"},
        ),
        "facts": (
            "The user lives in Sydney (time zone Australia/Sydney)",
            "The user takes 5 mg of warfarin on 2026-01-03 at 10:00",
            "The variant is p.V600E, rs12345",
        ),
    }
)
PROMPT = find_prompt("eval/socrates", None)
RULES = Rules(
    [
        LiteralRule.of("Ada Lovelace", "[NAME-1]", is_name=True),
        LiteralRule.last_name_first("Ada Lovelace", "[NAME-1]"),
    ]
)


def said(*texts):
    roles = ("user", "assistant")
    return [TranscriptMessage(n + 1, roles[n % 2], one) for n, one in enumerate(texts)]


def view(condition, *texts):
    return EvaluatorView(
        JOB, condition, 1, JOB.facts if condition == "supplied" else (), said(*texts)
    )


def streamed(text):
    reader = AnswerReader("agent", "host", 0.0)
    for at in range(0, len(text), 4):
        piece = text[at : at + 4]
        call = {"index": 0, "function": {"arguments": piece}}
        reader.add(
            {"choices": [{"delta": {"content": piece, "refusal": piece, "tool_calls": [call]}}]}
        )
    reader.add({"choices": [{"delta": {}, "finish_reason": "stop"}]})
    reader.streamed()


def judged(answer, text):
    read_answer(
        answer, Question(JOB.tasks, said("Hi", text), (text,), prompt="Score the conversation.")
    )


def gated(text):
    gate = evaluator.Stream(200_000)
    for at in range(0, len(text), 4):
        gate.take(text[at : at + 4])


def hider(text):
    hider = Hider({"secret-of-8", "aaaaaaaaaaaaaaaaaaaaaaaa"})
    data = text.encode("utf-8", "replace")
    for at in range(0, len(data), 1000):
        hider.feed(data[at : at + 1000])


def answer_of(reason, quote):
    tasks = [
        {"task": n, "scored": "x", "score": 1, "reason": reason, "evidence": [quote] * 3}
        for n in (1, 2)
    ]
    return json.dumps({"tone": 1, "tasks": tasks}, ensure_ascii=False)


SIGNOFF = JOB.evaluator.signoff


def calling(t):
    events = (call_event("f", {"a": t}, "1"), result_event(t, "1", failed=False))
    return [TranscriptMessage(2, "assistant", "x", generation=events)]


def ruled(t):
    """Score with a rule whose pattern belongs to the job."""
    task = {"task": "x", "rules": ({"pattern": r"\s*x?$"}, {"pattern": "(a+)+b"})}
    job = JOB.model_copy(update={"tasks": (type(JOB.tasks[0]).model_validate(task),)})
    with pytest.raises(StopIteration):
        RulesJudge().score(JudgeView(job, "supplied", said("Hi", t))).send(None)


def imported_vignette(t):
    talk = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]
    with TemporaryDirectory() as folder:
        file = Path(folder) / "transcripts.jsonl"
        file.write_text(json.dumps({"messages": talk, "vignette": t}), encoding="utf-8")
        import_file(file, Path(folder) / "runs", kind="transcripts")


READERS = {
    "clean": text.clean,
    "clean_line": text.clean_line,
    "clean_value": lambda t: text.clean_value({t: [t]}),
    "shorten": lambda t: text.shorten(t, 80),
    "as_cell": text.spreadsheet_cell,
    "short secret": lambda t: text.mask_secret(t, "a"),
    "page_title": text.page_title,
    "blocks": lambda t: message_blocks(t, (Quotation(t[:2000], 1),)),
    "markdown report": lambda t: message_lines("agent", t),
    "passage_pattern": lambda t: (messages.passage_pattern(t[:2000]) or messages._GAP).search(t),
    "guards of the user": lambda t: check(
        view("withheld", "Hi", "Hello, what can I do?"), t, PROMPT
    ),
    "guards, with the facts": lambda t: check(
        view("supplied", "Hi", "Hello, what can I do?"), t, PROMPT
    ),
    "guards after the agent": lambda t: check(
        view("withheld", "Hi", t, t, t), "I take 5 mg at 10, the case is silent", PROMPT
    ),
    "guards after the agent, with the facts": lambda t: check(
        view("supplied", "Hi", t, t, t), t, PROMPT
    ),
    "asked": lambda t: [asks_for(t, fact) for fact in JOB.facts],
    "asks": asks_for_anything,
    "disclosed": lambda t: disclosed_facts(t, JOB.facts, (), Known("Hi")),
    "known": lambda t: disclosed_facts("I take 5 mg", JOB.facts, (), Known(t)),
    "sign-off": lambda t: without_signoff(t, SIGNOFF),
    "sign-off of one letter": lambda t: without_signoff(t, "a"),
    "sign-off of signs": lambda t: without_signoff(t, "👋"),
    "reasoning": strip_reasoning,
    "gate": gated,
    "spoken": lambda t: evaluator.read(t, ("Ann", "Socrates"), chatbot="Bernie"),
    "whole sentences": lambda t: (evaluator.whole_sentences(t), evaluator.cut_loop(t)),
    "streamed": streamed,
    "verdict": lambda t: judged(t, t),
    "verdict in a fence": lambda t: judged("```json\n{" + t, t),
    "evidence": lambda t: judged(answer_of(t[: len(t) // 8], t[: len(t) // 8]), t),
    "short evidence": lambda t: judged(answer_of("x", t[:3] + "…" + t[:2]), t),
    "rules": ruled,
    "key": lambda t: hide_keys(t, "abc"),
    "received": received_text,
    "answer": lambda t: parse_message(
        "h",
        parse_object(
            "agent",
            "h",
            json.dumps({"sessionId": "s", "message": {"content": t}, "events": [{t: t}]}),
        ),
        "s",
    ),
    "not an answer": lambda t: parse_object("agent", "h", t),
    "evaluator's prompt": lambda t: evaluator_prompt(PROMPT, view("supplied", "Hi", t)),
    "calls": lambda t: tool_calls(calling(t)),
    "states": lambda t: states_shown(JudgeView(JOB, "supplied", (), {"a": t}, {t: t})),
    "credentials": hider,
    "vignette": imported_vignette,
    "mask": RULES.replace,
    "manner": lambda t: user_manner(
        UserTranscript((("user", t), ("user", t)), facts=JOB.facts, names=("Ann",))
    ),
    "questions": asks_question,
    "chunks": transcript_markdown.cut,
    "pieces": transcript_markdown.pieces,
}


@contextmanager
def limited(shown):
    """Limit the processor time, also within a pattern of the standard library."""

    def expire(*_):
        raise AssertionError(f"{shown}: more than {LIMIT_S:g} s of processor time")

    before = signal.signal(signal.SIGVTALRM, expire)
    gc.disable()
    signal.setitimer(signal.ITIMER_VIRTUAL, LIMIT_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        gc.enable()
        signal.signal(signal.SIGVTALRM, before)


def read_all(name, units, frames):
    """Read each unit, repeated, in one of the frames in turn, once what the reader imports is
    there.
    """
    with suppress(PeerError, MalformedAnswerError, NotMeasuredError):
        READERS[name]("a")
    for unit, (begin, end) in zip(units, cycle(frames)):
        t = begin + (unit * (LENGTH // len(unit) + 1))[:LENGTH] + end
        read_quickly(name, t, f"{name}, {begin!r}, {unit!r}")


def read_quickly(name, t, shown):
    """Read the text within the limit; a machine that was slow once is asked again."""
    for tries_left in reversed(range(TRIES)):
        try:
            with limited(shown), suppress(PeerError, MalformedAnswerError, NotMeasuredError):
                READERS[name](t)
            return
        except AssertionError:
            if not tries_left:
                raise


@pytest.mark.parametrize(
    "begin", ["the case ", "the case i", "the information ", "my instructions "]
)
@pytest.mark.parametrize("unit", ["only ", " ", "really "])
def test_a_message_that_seems_to_speak_of_its_prompt_is_read_quickly(begin, unit):
    read_all("guards of the user", [unit], [(begin, "x")])


FEWER = {"guards, with the facts": 3}
"""Where another reader, the guards after the agent with the facts, reads the same by the same rules
and more: every third text.
"""


@pytest.mark.parametrize("name", READERS)
def test_a_text_that_repeats_itself_is_read_quickly(name):
    read_all(name, UNITS[:: FEWER.get(name, 1)], FRAMES)

"""Reports and exports: complete, escaped, self-contained."""

from __future__ import annotations

import base64
import csv
import hashlib
import html
import io
import json
import re
import zipfile
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree as ET

import pytest
from markdown_it import MarkdownIt
from rich.console import Console

from bioeval_tui.base.errors import UsageError
from bioeval_tui.formats import RunResult
from bioeval_tui.grade.task_report import now
from bioeval_tui.grading import TaskReport
from bioeval_tui.record import events
from bioeval_tui.record.condition_names import PUBLISHED_NAMES
from bioeval_tui.record.importing.into_runs import import_file
from bioeval_tui.report.formats.console import print_score_card
from bioeval_tui.report.formats.markdown import escape
from bioeval_tui.report.messages import plain
from bioeval_tui.report.result import load_run
from tests.command import call
from tests.documents import document_of
from tests.unit.evaluation.conversation.fakes import SIGNOFF, FakeEvaluator, Stage, job
from tests.unit.report.recorded import GOLDEN, Recorded, Talk, scoring

HOSTILE = (
    "<script>alert(1)</script><img src=http://leak.example/x onerror=alert(2)>\"'><svg"
    " onload=alert(3)>]]>{{ 7*7 }}{% raw %}\n# heading\n- [x](javascript:alert(4))"
    " ![i](http://leak.example/y) <http://leak.example/z> http://leak.example www.leak.example"
    " @someone | cell | `code` **bold**"
)


@pytest.fixture(scope="module")
def demo() -> RunResult:
    return load_run(GOLDEN)


@pytest.fixture(scope="module")
def hostile() -> RunResult:
    talk = Talk(says=HOSTILE, tasks=(0.5,), holds=(False,), failures=1)
    texts = dict.fromkeys(("agent", "evaluator", "judge", "job_path"), HOSTILE) | {
        "prompts": {HOSTILE: HOSTILE}
    }
    run = Recorded(
        [talk, talk],
        [talk, talk],
        job=HOSTILE,
        started={**texts, "model": HOSTILE, "hosts": (HOSTILE,)},
    )
    loaded = run.loaded()
    loaded.state.warnings.append(
        events.Warned(run_id="r", seq=99, at=loaded.started.at, code="x", message=HOSTILE)
    )
    return loaded


class Elements(HTMLParser):
    """Collects what a browser would make of the document: elements with attributes, and text."""

    def __init__(self, document: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(document)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_html_report_has_every_part_of_the_run(demo: RunResult) -> None:
    page = Elements(document_of("html", demo))
    for heading in (
        "Tasks", "Assertions, turn by turn", "Response times", "Facts ledger",
        "The conversations, side by side",
        "About this run", "Mean of both", "0.44", "0.72", "rehearsal", "turn 3, asked", "seed",
    ):  # fmt: skip
        assert heading in page.text
    shown = " ".join(page.text.split())
    for conversation in demo.state.conversations.values():
        for message in filter(conversation.sent, conversation.messages):
            assert " ".join(plain(message.text).split()) in shown
    assert "the sign-off, not sent" in shown
    assert "Thanks for All the Fish" not in shown
    assert "Socrates" not in shown  # what the job calls the user


def test_both_conditions_come_before_their_mean(demo: RunResult) -> None:
    text = Elements(document_of("html", demo)).text
    assert (
        text.index("Without the facts\n0.44")
        < text.index("With the facts\n1.00")
        < text.index("Mean of both")
    )


def test_the_html_report_needs_no_network_script_or_inline_style(
    demo: RunResult, hostile: RunResult
) -> None:
    for run in (demo, hostile):
        document = document_of("html", run)
        assert "telephone=no, email=no" in document, "no browser makes links of what was said"
        for tag, attributes in Elements(document).elements:
            assert tag not in {
                "script",
                "img",
                "link",
                "iframe",
                "object",
                "embed",
                "form",
                "base",
                "video",
            }
            for name, value in attributes.items():
                assert not name.startswith("on")
                assert name not in {"style", "src", "srcset", "srcdoc", "action", "background"}
                if name == "href":
                    assert value is not None
                    assert value.startswith("#")


def test_every_link_in_the_report_has_a_target(demo: RunResult) -> None:
    elements = Elements(document_of("html", demo)).elements
    ids = [a["id"] for _, a in elements if "id" in a]
    links = {a["href"][1:] for _, a in elements if a.get("href")}
    assert len(ids) == len(set(ids))
    assert links
    assert links <= set(ids)
    assert ">turn 2</a>" in document_of("html", demo)  # as the screens number it


def test_the_content_security_policy_allows_only_the_reports_stylesheet(demo: RunResult) -> None:
    document = document_of("html", demo)
    policy = next(a["content"] for tag, a in Elements(document).elements if a.get("http-equiv"))
    style = re.search(r"<style>(.*?)</style>", document, re.DOTALL)
    assert style is not None
    digest = base64.b64encode(hashlib.sha256(style.group(1).encode()).digest()).decode()
    assert (
        policy
        == f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    )
    assert "url(" not in style.group(1)
    assert "@import" not in style.group(1)
    assert "prefers-color-scheme: dark" in style.group(1)
    assert "@media print" in style.group(1)


def test_hostile_text_is_shown_literally_in_the_report(hostile: RunResult) -> None:
    document = document_of("html", hostile, hostile)
    assert "<script" not in document
    assert "{{ 7*7 }}" in document
    assert html.escape("<script>alert(1)</script>") in document


def test_evidence_is_highlighted_in_its_message(demo: RunResult) -> None:
    marks = re.findall(r"<mark[^>]*>(.*?)</mark>", document_of("html", demo), re.DOTALL)
    assert "Which time zone are you in?" in marks
    assert "<strong>Warfarin and ibuprofen interact (major)</strong>" in marks


def test_several_trials_and_runs_show_their_statistics() -> None:
    runs = [
        Recorded(
            [scoring(0.5)] * 10,
            [scoring(0.9)] * 10,
            run_id=f"20260102-030405-00{n:02}",
            job=f"job {n}",
        ).loaded()
        for n in range(10)
    ]
    text = Elements(document_of("html", *runs)).text
    for words in (
        "10 runs of 10 jobs",
        "clustered by job, 10 jobs",
        "this job only, 10 trials",
        "pass^k over tasks",
        "k = 1: 0.000 [0.000, ",
    ):
        assert words in text
    assert "clustered by job" in document_of("md", *runs)


@pytest.mark.parametrize(
    ("fact", "words"),
    [
        (True, "one trial is too few to tell what the facts change"),
        (False, "the user gave the agent no fact, so the facts cannot explain a difference"),
    ],
)
def test_a_report_says_how_sure_its_difference_is(fact: bool, words: str) -> None:
    run = Recorded([Talk(tasks=(0.5,))], [Talk(tasks=(1.0,), fact=fact)]).loaded()
    for document in (document_of("html", run), document_of("md", run)):
        assert words in document


def test_a_value_that_was_not_measured_is_shown_as_such_and_never_as_zero() -> None:
    run = Recorded([Talk(tasks=None)], [Talk(ends=False)], clean=False)
    page = run.loaded()
    assert page.mean is None
    assert page.answer.sure.startswith("no: there is no verdict")
    text = Elements(document_of("html", run.loaded())).text
    assert "not scored: task not measured: " in text
    assert "No difference: not clean." in text
    assert "could not be measured" in text


def test_the_card_of_several_trials_counts_them_by_task_and_assertion_and_can_show_one() -> None:
    fails = Talk(tasks=(0.2,), holds=(False,))
    run = Recorded(
        [fails] * 3, [Talk(), Talk(tasks=(0.2,)), Talk(tasks=None, holds=(None,))]
    ).loaded()
    ended = run.state.ended
    run.state.ended = ended.model_copy(update={"compared": ("graph",)})  # type: ignore[union-attr]
    console = Console(file=io.StringIO(), width=100)
    print_score_card(run, console)
    assert isinstance(console.file, io.StringIO)
    card = console.file.getvalue()
    assert re.search(r"1 task 1\s+✗ failed in 3 of 3\s+✗ failed in 1 of 2", card)
    assert re.search(r"1× check 1\s+✗ failed in 3 of 3\s+· not measured in 1 of 3", card)
    assert "clean: both conditions started from the same graph" in card
    assert "with the facts: no score in 1 trial: task not measured" in card
    for document in (document_of("html", run), document_of("md", run)):
        assert "Clean: both conditions started from the same graph." in document
    print_score_card(run, console, trial=2)
    assert re.search(
        r"trial 2 of 3\n.*\n.*\n.*\n1 task 1\s+✗ 0.20\s+✗ 0.20", console.file.getvalue()
    )


def test_the_judges_rating_of_tone_is_shown_and_not_in_the_score() -> None:
    def told(*tones: float | None) -> tuple[str, str, str]:
        run = Recorded([Talk(tone=tones[0])], [Talk(tone=tones[1])]).loaded()
        console = Console(file=io.StringIO(), width=100)
        print_score_card(run, console)
        assert isinstance(console.file, io.StringIO)
        return document_of("html", run), document_of("md", run), console.file.getvalue()

    page, text, card = told(0.25, None)
    assert re.search(
        r'tone \(not in the score\)</td><td data-label="without the'
        r' facts">0\.25</td><td[^>]*>–</td>',
        page,
    )
    assert "| *tone (not in the score)* | 0.25 | – |" in text
    assert re.search(r"tone \(not in the score\)\s+0\.25\s+–", card)
    assert not any("tone (" in document for document in told(None, None))
    assert (
        json.loads(document_of("json", Recorded([Talk(tone=0.25)]).loaded()))["runs"][0][
            "conditions"
        ]["withheld"]["tone"]
        == 0.25
    )
    silent, rude = (Recorded([Talk(tone=tone)]).loaded().state.scores() for tone in (None, 0.0))
    assert silent == rude


def test_every_document_calls_the_conditions_what_the_job_calls_them_and_ids_stay() -> None:
    run = Recorded([Talk(), Talk()], [Talk(), Talk()], names=("no card", "has <the> card")).loaded()
    page, markdown = document_of("html", run), document_of("md", run)
    console = Console(file=io.StringIO(), width=100)
    print_score_card(run, console)
    assert isinstance(console.file, io.StringIO)
    for document in (page, markdown, console.file.getvalue()):
        assert "no card" in document.lower()
        assert "without the facts" not in document.lower()
    assert "has &lt;the&gt; card" in page
    assert "<the>" not in page
    suites = ET.fromstring(document_of("junit", run)).iter("testsuite")
    assert next(suites).get("name") == "job · without the facts · trial 1"
    assert set(json.loads(document_of("json", run))["runs"][0]["conditions"]) == {
        "withheld",
        "supplied",
    }


def test_values_shared_by_several_conversations_are_shown_once() -> None:
    away = Talk(reason="evaluator_failed", fault="infrastructure", tasks=None)
    lines = Recorded([away, away, Talk(tasks=None)]).loaded().warnings
    assert lines == (
        "2 conversations: not scored: evaluator_failed",
        "without the facts, trial 3: not scored: task not measured: away",
    )


def test_markdown_cannot_be_made_into_markup(hostile: RunResult) -> None:
    text = document_of("md", hostile)
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    flat = [child for token in tokens for child in [token, *(token.children or [])]]
    assert not {"html_block", "image", "link_open"} & {t.type for t in flat}
    assert {t.content for t in flat if t.type == "html_inline"} <= {
        "<span>",
        "</span>",
    }, "only around an @"
    assert "javascript" not in " ".join(str(token.attrs) for token in flat)
    assert "://leak" not in text
    assert MarkdownIt().renderInline(escape(HOSTILE)).count("<strong>") == 0


@pytest.mark.parametrize(
    "text",
    ["write to a.b@example.com", "mailto:a@example.com", "xmpp:a@example.com", "ping @someone"],
)
def test_no_recorded_text_becomes_a_link_on_github(text: str) -> None:
    (block,) = (
        token for token in MarkdownIt("commonmark").parse(escape(text)) if token.type == "inline"
    )
    texts = [child.content if child.type == "text" else "\0" for child in block.children or []]
    assert not re.search(r"[\w:]@|@\w", "".join(texts)), (
        "its parser looks where entities are characters already"
    )
    assert "".join(texts).replace("\0", "") == text


@pytest.mark.parametrize(
    "text", ["- item", "1. one", "+ x", "# h", "> q", "=== x", "| a |", "    code"]
)
def test_recorded_text_never_starts_a_markdown_block(text: str) -> None:
    kinds = {token.type for token in MarkdownIt("commonmark").enable("table").parse(escape(text))}
    assert kinds == {"paragraph_open", "inline", "paragraph_close"}


def test_the_markdown_report_says_what_the_html_report_says(demo: RunResult) -> None:
    text = document_of("md", demo)
    for words in (
        "- **WHAT** 0.44 → 1.00 with the facts",
        "- **SURE** no: only a rehearsal",
        "Mean of both: **0.72**",
        "○○○●●● ✓ passed",
    ):
        assert words in text


def test_the_json_report_has_results_and_statistics(demo: RunResult) -> None:
    data = json.loads(document_of("json", demo), parse_constant=pytest.fail)
    assert data["runs"][0]["score"] == 0.72
    assert data["runs"][0]["versions"]["run"] == demo.run_id
    summary = data["summary"][0]
    assert summary["conditions"]["withheld"]["score"]["mean"] == 0.44
    assert summary["difference"]["mean"] == pytest.approx(0.56)
    assert [row["mean"] for row in summary["task_differences"]] == [0.75, 0.0, 0.0]


def test_an_unsent_message_is_marked_and_not_exported() -> None:
    spoilt = Talk(reason="evaluator_failed", fault="evaluator", unsent="my secret thoughts")
    run = Recorded(withheld=[spoilt]).loaded()
    talk = json.loads(document_of("json", run))["runs"][0]["conditions"]["withheld"]
    assert [message["sent"] for message in talk["messages"]] == [True, True, False]
    assert talk["guards"] == [
        {
            "message": 3,
            "rule": "leak",
            "effect": "void",
            "mended": False,
            "detail": "shows reasoning",
        }
    ]
    assert "**user** (not sent): my secret thoughts" in document_of("md", run)
    assert '<p class="note unsent">not sent</p>' in document_of("html", run)
    assert "my secret thoughts" not in document_of("openai-jsonl", run) + document_of(
        "csv", run
    ) + document_of("inspect", run)


@pytest.mark.parametrize("kind", ["openai-jsonl", "inspect", "atif"])
@pytest.mark.parametrize(
    ("says", "sent"),
    [(f"Thanks! {SIGNOFF}.", ["Hello", "do it", "Thanks!"]), (SIGNOFF, ["Hello", "do it"])],
    ids=["beside-words", "alone"],
)
async def test_a_sign_off_is_in_no_export_of_what_was_said_to_the_agent(
    kind: str, says: str, sent: list[str], tmp_path: Path
) -> None:
    users = {name: FakeEvaluator(["do it", says]) for name in PUBLISHED_NAMES}
    state = await Stage(job(), evaluators=users).run()
    assert state.started is not None
    run = RunResult(tmp_path / "run.jsonl", state, state.started)
    text = document_of(kind, run)
    assert "Fish" not in text
    (tmp_path / "out").write_text(text, encoding="utf-8")
    back = load_run(import_file(tmp_path / "out", tmp_path / "runs").path)
    for talk in back.conversations:
        assert [message.text for message in talk.messages if message.role == "user"] == sent


async def test_a_span_says_that_its_message_was_not_sent() -> None:
    users = {
        "withheld": FakeEvaluator(["do it", f"Thanks! {SIGNOFF}"]),
        "supplied": FakeEvaluator(["do it"]),
    }
    state = await Stage(job(), evaluators=users).run()
    assert state.started is not None
    lines = document_of("otlp", RunResult(Path("run.jsonl"), state, state.started)).splitlines()
    spans = [json.loads(line)["resourceSpans"][0]["scopeSpans"][0]["spans"] for line in lines]
    for found, unsent in zip(spans, (0, 1), strict=True):
        attributes = [{one["key"]: one["value"] for one in span["attributes"]} for span in found]
        assert (
            sum(each.get("bioeval.sent") == {"boolValue": False} for each in attributes) == unsent
        )
        asked = [
            each["gen_ai.input.messages"]["stringValue"]
            for each in attributes
            if "gen_ai.input.messages" in each
        ]
        assert not any("Fish" in each for each in asked)


def test_an_openai_export_has_the_messages_in_order(demo: RunResult) -> None:
    lines = [json.loads(line) for line in document_of("openai-jsonl", demo).splitlines()]
    assert [line["metadata"]["condition"] for line in lines] == ["withheld", "supplied"]
    talk = demo.state.conversation("supplied")
    assert talk is not None
    told = [
        message
        for message in lines[1]["messages"]
        if message.get("content") and message["role"] != "tool"
    ]
    # never the sign-off
    assert told == [{"role": m.role, "content": m.text} for m in talk.messages[:-1]]
    calls = [call for message in lines[1]["messages"] for call in message.get("tool_calls", ())]
    results = [
        message["tool_call_id"] for message in lines[1]["messages"] if message["role"] == "tool"
    ]
    assert calls
    assert [call["id"] for call in calls] == results


def test_the_csv_export_has_one_row_for_each_turn_and_no_formula() -> None:
    run = Recorded(
        [Talk(says='=HYPERLINK("http://leak.example"),"x"\nsecond', latencies_ms=(100, 200))]
    )
    rows = list(csv.DictReader(io.StringIO(document_of("csv", run.loaded()))))
    assert [(row["turn"], row["latency_ms"]) for row in rows] == [
        ("1", "100.000"),
        ("2", "200.000"),
    ]
    assert rows[0]["agent"] == '\'=HYPERLINK("http://leak.example"),"x"\nsecond'
    assert rows[0]["tokens_in"] == ""  # unknown, not 0


def test_an_inspect_log_has_the_published_shape(demo: RunResult) -> None:
    log = json.loads(document_of("inspect", demo))
    assert (log["version"], log["status"], log["eval"]["task"]) == (
        2,
        "success",
        "medication_reminder",
    )
    metrics = {score["name"]: score["metrics"] for score in log["results"]["scores"]}
    assert {name: metric["value"] for name, metric in metrics["composite"].items()} == {
        "mean": 0.72, "withheld": 0.44, "supplied": 1.0,
    }  # fmt: skip
    assert {scorer["name"] for scorer in log["eval"]["scorers"]} == metrics.keys()
    sample = log["samples"][1]
    said = [
        message
        for message in sample["messages"]
        if message["content"] and message["role"] != "tool"
    ]
    assert (sample["id"], sample["epoch"], len(said)) == ("supplied", 1, 12)
    assert sample["messages"][1]["metadata"]["latency_ms"] > 0
    assert {event["event"] for event in sample["events"]} == {
        "span_begin", "span_end", "info", "model", "tool", "score",
    }  # fmt: skip


def test_an_inspect_log_of_an_unmeasured_run_leaves_scores_out() -> None:
    log = json.loads(document_of("inspect", Recorded([Talk(tasks=None)]).loaded()))
    assert "composite" not in log["samples"][0]["scores"]
    assert log["samples"][0]["error"]["message"].startswith("task not measured")
    assert (log["results"]["total_samples"], log["results"]["completed_samples"]) == (1, 0)


def test_an_imported_inspect_log_without_a_plan_is_exported_again(tmp_path: Path) -> None:
    log = GOLDEN.parent / "foreign" / "inspect-several-scorers.json"
    run = load_run(import_file(log, tmp_path / "runs").path)
    with zipfile.ZipFile(io.BytesIO(document_of("inspect", run, output=Path("a.eval")))) as archive:
        assert json.loads(archive.read("_journal/start.json")).keys() == {"version", "eval"}


def test_an_explanation_agrees_with_the_formula() -> None:
    asked = ("runs", "explain", GOLDEN, "--target", "0.8", "--weights", "timing=0, tasks=2")
    withheld, supplied = json.loads(call(*asked, "--json").stdout)["conversations"]
    assert withheld["needed"]["assertion"]["needed"] == pytest.approx((0.8 * 7 - 1 - 1.5) / 4)
    assert withheld["needed"]["timing"] == {"now": 1.0, "needed": None, "best_score": 0.44}
    assert withheld["reweighted"] == {
        "score": round((2 * 0.75 + 4 / 7) / 6, 2),
        "weights": {"timing": 0.0, "task": 2.0, "assertion": 4.0},
    }  # fmt: skip
    assert supplied["needed"]["task"]["needed"] == pytest.approx(0.3)
    shown = call(*asked).stdout
    assert "to reach 0.80, assertions would have to rise from 0.14 to 0.78" in shown
    assert "timing alone cannot reach 0.80: even 1.00 gives 0.44" in shown


@pytest.mark.parametrize(
    "text", ["speed=1", "timing=x", "timing=-1", "timing", "tasks=inf", "tasks=nan"]
)
def test_an_invalid_weight_says_what_is_allowed(text: str) -> None:
    with pytest.raises(UsageError, match="--weights"):
        raise call("runs", "explain", GOLDEN, "--weights", text).exception or AssertionError


class Bar(NamedTuple):
    """A rectangle of a picture in a document; `name` is its class."""

    name: str
    x: float
    y: float
    width: float
    height: float


def bars_of(document: str) -> list[Bar]:
    found = [attributes for tag, attributes in Elements(document).elements if tag == "rect"]
    return [
        Bar(
            each["class"] or "",
            *(float(each[name] or "") for name in ("x", "y", "width", "height")),
        )
        for each in found
    ]


def test_score_bars_end_at_the_score() -> None:
    for failures in (0, 1, 5):
        run = Recorded([Talk(tasks=(0.5,), holds=(True, False), failures=failures)]).loaded()
        of_score = ("timing", "task", "assertion", "penalty")
        pieces = [bar for bar in bars_of(document_of("html", run)) if bar.name in of_score]
        filled = max(bar.x + bar.width for bar in pieces if bar.name != "penalty")
        lost = sum(bar.width for bar in pieces if bar.name == "penalty")
        assert (filled - lost) / 100 == pytest.approx(run.scores["withheld"], abs=0.006)


@pytest.mark.parametrize("latencies", [(0.0,), (0.4,), (900, 1200, 87000), tuple(range(1, 120))])
def test_latency_bars_stay_inside_the_chart_and_never_touch(latencies: tuple[float, ...]) -> None:
    run = Recorded([Talk(latencies_ms=latencies)], [Talk(latencies_ms=latencies)]).loaded()
    document = document_of("html", run)
    height = re.search(
        r'viewBox="0 0 [\d.]+ ([\d.]+)" role="img" aria-label="response times by turn"', document
    )
    assert height is not None
    bars = sorted(
        (bar for bar in bars_of(document) if bar.name in PUBLISHED_NAMES), key=lambda bar: bar.x
    )
    assert len(bars) == 2 * len(latencies)
    assert all(
        bar.width > 0 and bar.y >= 0 and bar.y + bar.height <= float(height[1]) for bar in bars
    )
    assert all(left.x + left.width <= right.x + 0.02 for left, right in pairwise(bars))


def graded(**changes: Any) -> TaskReport:
    fields: dict[str, Any] = {
        "task_id": "oncology/x", "score": 0.9, "gold_threshold": 0.95, "silver_threshold": 0.9,
        "bronze_threshold": 0.85, "median_threshold": 0.7, "any_medal": True, "gold_medal": False,
        "silver_medal": True, "bronze_medal": False, "above_median": True,
        "submission_exists": True,
        "valid_submission": True, "is_lower_better": False, "created_at": now(),
        "submission_path": "x.csv",
    }  # fmt: skip
    return TaskReport(**{**fields, **changes})


def submitted(report: dict[str, Any] | None, error: str | None = None) -> RunResult:
    """Return a run with a submission that was graded in its conversation."""
    loaded = Recorded([Talk()]).loaded()
    talk = loaded.state.conversation("withheld")
    assert talk is not None
    base = {"run_id": "r", "seq": 50, "at": loaded.started.at, "condition": "withheld", "trial": 1}
    talk.submissions.append(
        events.SubmissionGraded(**base, assertion=0, report=report, error=error)
    )
    return loaded


def test_the_medal_scale_runs_from_worst_to_best_in_both_directions() -> None:
    up = graded()
    down = graded(
        is_lower_better=True, score=0.1, gold_threshold=0.05, silver_threshold=0.1,
        bronze_threshold=0.15,
        median_threshold=0.3,
    )  # fmt: skip
    for report in (up, down):
        document = document_of("html", submitted(report.to_dict()))
        named = re.findall(r'<text x="([\d.]+)" [^>]*>(median|bronze|silver|gold)</text>', document)
        assert [name for _, name in sorted((float(x), name) for x, name in named)] == [
            "median",
            "bronze",
            "silver",
            "gold",
        ]
        own = re.search(r'<path class="own" d="M ([\d.]+) 24 l', document)
        assert own is not None
        assert float(own[1]) == pytest.approx(
            next(float(x) for x, name in named if name == "silver")
        )
    assert "the medal thresholds" not in document_of(
        "html", submitted(graded(score=None).to_dict())
    )


def test_the_report_contains_medal_cards() -> None:
    for words, report, error in (
        (("◐ Silver", "oncology/x"), graded().to_dict(), None),
        (("not graded: the task is not prepared",), None, "the task is not prepared"),
        (("the report cannot be read",), {"score": 1}, None),
    ):
        loaded = submitted(report, error)
        text = Elements(document_of("html", loaded)).text
        assert all(each in text for each in words)
    assert "Silver" in document_of("md", submitted(graded().to_dict()))

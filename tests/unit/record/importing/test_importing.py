"""Conversations of other programs become runs; what their files lack stays unknown."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any

import click
import pytest

from bioeval_tui import plugins
from bioeval_tui.base.errors import BioevalError, RecordingError
from bioeval_tui.base.peer_limits import MAX_BLANK_LINES
from bioeval_tui.formats import ConversationKey, RunResult
from bioeval_tui.record.catalogue import Catalogue
from bioeval_tui.record.importing.formats import import_format
from bioeval_tui.record.importing.into_runs import import_file
from bioeval_tui.report.document import run_document
from bioeval_tui.report.frames import to_frame
from bioeval_tui.report.result import load_run
from bioeval_tui.report.summary import summarise_runs
from bioeval_tui.report.words import rounds_words
from tests.command import call, group
from tests.documents import document_of

GOLDEN = Path(__file__).parents[3] / "golden"
FOREIGN = GOLDEN / "foreign"
CRAFT_MD = GOLDEN / "published" / "craft-md-25.jsonl"
AIRLINE = GOLDEN / "published" / "tau-bench-airline.json"


def imported(file: Path, folder: Path, **options: Any) -> RunResult:
    return load_run(import_file(file, folder / "runs", **options).path)


def test_several_files_become_one_run_with_a_trial_of_each_case_in_each(tmp_path: Path) -> None:
    files = [FOREIGN / "symptomcheck.json", FOREIGN / "symptomcheck-2.json"]
    run = imported(files[0], tmp_path, more=files[1:])
    assert run.started.model == "gpt-4o"
    assert run.started.source is not None
    assert run.started.source.file == "symptomcheck.json, symptomcheck-2.json"
    assert run.started.source.licence == "MIT"
    cases = [(talk.case.name, talk.case.trial) for talk in run.talks if talk.case]
    assert cases == [(f"vignette {at}", trial) for trial in (1, 2) for at in (82, 310, 373)]
    scores = [talk.score.score for talk in run.talks if talk.score]
    assert scores == [1.0, 0.0, 1.0, 1.0, 0.0, 0.0]
    assert [talk.score.given for talk in run.talks if talk.score][2] == {
        "right diagnosis in the list": 2
    }
    (supplied,) = summarise_runs([run])[0].conditions
    assert [each.value for each in supplied.pass_k] == pytest.approx([1 / 2, 1 / 3])
    assert rounds_words(supplied) == "passed in the trials, one after another, 2, 1 of 3"
    again = import_file(files[0], tmp_path / "runs", more=files[1:])
    assert not again.new
    assert imported(files[0], tmp_path).run_id != run.run_id


@pytest.mark.parametrize(
    ("others", "said"),
    [
        ([FOREIGN / "tau2.json"], "are of different formats; import each on its own"),
        ([GOLDEN / "demo-run.jsonl"], "are of different formats; import each on its own"),
    ],
)
def test_files_that_are_no_one_set_are_refused(
    others: list[Path], said: str, tmp_path: Path
) -> None:
    with pytest.raises(BioevalError, match=said):
        import_file(FOREIGN / "symptomcheck.json", tmp_path / "runs", more=others)
    with pytest.raises(BioevalError, match="each recording of bioeval-tui is a run of its own"):
        import_file(GOLDEN / "demo-run.jsonl", tmp_path / "runs", more=[GOLDEN / "demo-run.jsonl"])


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"chats": {}}, "`chats` must be a list of lists"),
        ({"evaluation": {"0": {"positions": [1]}}}, "3 chats for 3 vignettes and 1 verdicts"),
        ({"evaluation": None}, "3 chats for 3 vignettes and no verdicts"),
        (
            {"evaluation": {"0": {"positions": [1, None, 2]}}},
            "the verdict on vignette 310 must be the place",
        ),
    ],
)
def test_verdicts_that_fit_no_chats_are_refused(
    wrong: dict[str, Any], said: str, tmp_path: Path
) -> None:
    data = json.loads((FOREIGN / "symptomcheck.json").read_text("utf-8")) | wrong
    file = tmp_path / "run.json"
    file.write_text(json.dumps(data))
    with pytest.raises(RecordingError, match=said):
        import_file(file, tmp_path / "runs")


@pytest.mark.parametrize(
    ("file", "name"),
    [
        (FOREIGN / "tau-bench-excerpt.json", "tau-bench"),
        (FOREIGN / "tau2.json", "tau2"),
        (FOREIGN / "symptomcheck.json", "symptomcheck"),
        (FOREIGN / "trajectory.json", "atif"),
        (FOREIGN / "chat.jsonl", "openai-jsonl"),
        (CRAFT_MD, "transcripts"),
    ],
)
def test_the_content_of_a_file_decides_its_format(file: Path, name: str, tmp_path: Path) -> None:
    copy = tmp_path / "download"
    copy.write_bytes(file.read_bytes())
    found = import_format(copy)
    assert found is not None
    assert found.name == name
    one_line = tmp_path / "one line"
    if file.suffix == ".json":
        one_line.write_text(
            json.dumps(json.loads(file.read_text(encoding="utf-8"))), encoding="utf-8"
        )
        assert import_format(one_line) == found


def test_a_recording_of_this_program_is_recognised() -> None:
    assert import_format(GOLDEN / "demo-run.jsonl") is None


def published_airline(tmp_path: Path) -> Path:
    """The rewards that τ-bench publishes, in its own format."""
    told = json.loads(AIRLINE.read_text(encoding="utf-8"))
    talk = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]
    results = [
        {
            "task_id": task,
            "reward": float(trial < successes),
            "info": {},
            "traj": talk,
            "trial": trial,
        }
        for trial in range(told["trials"])
        for task, successes in enumerate(told["successes"])
    ]
    file = tmp_path / "gpt-4o-airline.json"
    file.write_text(json.dumps(results), encoding="utf-8")
    return file


def test_tau_bench_has_the_published_pass_k_with_intervals_in_show_and_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BIOEVAL_DATA_DIR", str(tmp_path))
    taken = call("runs", "import", published_airline(tmp_path))
    run_id = taken.stdout.strip()
    shown = call("runs", "show", run_id).stdout
    for figure in (
        "1: 0.420 [0.314, 0.532]",
        "2: 0.273 [",
        "3: 0.220 [",
        "4: 0.200 [0.100, 0.337]",
    ):
        assert figure in shown
    report = call("runs", "report", run_id, "--format", "html").stdout
    assert "1: 0.420 [0.314, 0.532], 2: 0.273 [0.167, 0.402]" in report
    found = run_document(load_run(tmp_path / "runs" / f"{run_id}.jsonl"))["conditions"]["supplied"][
        "pass_k"
    ]
    assert [round(found[k]["value"], 3) for k in "1234"] == [0.42, 0.273, 0.22, 0.2]
    assert "clustered by case, 50 cases" in shown


def test_tool_calls_and_results_belong_to_the_answer_that_follows(tmp_path: Path) -> None:
    run = imported(FOREIGN / "tau-bench-excerpt.json", tmp_path)
    raw = json.loads((FOREIGN / "tau-bench-excerpt.json").read_text(encoding="utf-8"))
    for trial, result in enumerate(raw, start=1):
        talk = run.state.conversations[ConversationKey("supplied", trial)]
        calls = [
            event["request"]["function"]["name"]
            for m in talk.messages
            for event in m.generation
            if "request" in event
        ]
        said = [
            m["content"]
            for m in result["traj"]
            if m["role"] in ("user", "assistant") and m["content"]
        ]
        expected = [
            c["function"]["name"] for m in result["traj"] for c in m.get("tool_calls") or ()
        ]
        assert calls == expected
        assert [m.text for m in talk.messages if m.text] == said
        assert talk.case is not None
        assert (talk.case.name, talk.case.tasks[0]["task"]) == (
            str(result["task_id"]),
            result["info"]["task"]["instruction"],
        )
    first = run.state.conversations[ConversationKey("supplied", 1)]
    assert first.case.trial == 1  # type: ignore[union-attr]


def test_tau2_files_give_times_models_tokens_and_the_end_of_each_conversation(
    tmp_path: Path,
) -> None:
    run = imported(FOREIGN / "tau2.json", tmp_path)
    started = run.started
    assert (started.job_name, started.agent, started.model) == (
        "τ²-bench telecom",
        "llm_agent",
        "gpt-4o",
    )
    assert started.evaluator == "user_simulator gpt-4.1"
    assert started.source is not None
    assert (started.source.times, f"{started.at:%H:%M:%S}") == ("told", "10:00:00")
    first, second = (run.state.conversations[ConversationKey("supplied", n)] for n in (1, 2))
    answer = next(m for m in first.messages if m.text.startswith("Please"))
    assert (answer.latency_ms, answer.tokens_out) == (None, None)  # a tool took part of that time
    assert second.messages[-1].latency_ms == 2000
    assert [talk.ended.reason for talk in (first, second) if talk.ended] == [
        "signed_off",
        "max_turns",
    ]
    assert [talk.score.score for talk in (first, second) if talk.score] == [1.0, 0.0]
    user = first.messages[-1]
    assert (user.role, user.generation[0]["request"]["function"]["name"]) == ("user", "reset_apn")
    assert first.case is not None
    assert first.case.facts == ("You are John.", "Your number is 555.")


def test_information_that_a_file_lacks_is_unknown(tmp_path: Path) -> None:
    run = imported(FOREIGN / "chat.jsonl", tmp_path)
    assert (run.started.agent, run.started.evaluator, run.started.judge, run.started.model) == (
        "unknown", "unknown", "unknown", None,
    )  # fmt: skip
    source = run.started.source
    assert source is not None
    assert (source.times, source.licence, source.origin) == ("unknown", "unknown", "unknown")
    assert all(
        talk.ended and talk.ended.reason == "unknown" for talk in run.state.conversations.values()
    )
    assert all(talk.score and talk.score.score is None for talk in run.state.conversations.values())
    assert [w.code for w in run.state.warnings] == [
        "imported",
        "so_it_was_read",
        "condition_unknown",
    ]
    assert (
        run.state.warnings[1].message
        == "parts of messages that are not read, only named: image_url"
    )


def test_licence_and_origin_can_be_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BIOEVAL_DATA_DIR", str(tmp_path))
    given = ["--licence", "MIT", "--origin", "rajpurkarlab/craft-md"]
    done = call("runs", "import", CRAFT_MD, *given, catch_exceptions=False)
    run = load_run(tmp_path / "runs" / f"{done.stdout.strip()}.jsonl")
    assert run.started.source is not None
    assert (run.started.source.licence, run.started.source.origin) == (
        "MIT",
        "rajpurkarlab/craft-md",
    )


def test_importing_a_file_twice_gives_one_run_listed_as_imported(tmp_path: Path) -> None:
    first = import_file(CRAFT_MD, tmp_path / "runs")
    again = import_file(CRAFT_MD, tmp_path / "runs")
    assert (first.new, again.new, first.run_id) == (True, False, again.run_id)
    (listed,) = Catalogue(tmp_path / "runs").runs()
    lines = CRAFT_MD.read_text(encoding="utf-8").splitlines()
    assert (listed.imported, listed.messages) == (
        True,
        sum(len(json.loads(line)["messages"]) for line in lines),
    )


ROUND_TRIPS = [FOREIGN / "chat.jsonl", CRAFT_MD]


@pytest.mark.parametrize("file", ROUND_TRIPS)
def test_chats_survive_import_and_export(file: Path, tmp_path: Path) -> None:
    out = document_of("openai-jsonl", imported(file, tmp_path))
    given = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    assert [json.loads(line) for line in out.splitlines()] == given


def test_a_trajectory_survives_import_and_export(tmp_path: Path) -> None:
    file = FOREIGN / "trajectory.json"
    run = imported(file, tmp_path)
    assert json.loads(document_of("atif", run)) == json.loads(file.read_text(encoding="utf-8"))
    talk = run.state.conversations[ConversationKey("supplied", 1)]
    answer = talk.messages[1]
    assert [event.get("output") for event in answer.generation if "output" in event] == [
        "5 mg",
        "70",
    ]
    assert (answer.tokens_in, answer.tokens_out) == (120, 14)
    assert talk.messages[2].text == "And this?\n[image]"
    assert run.state.scores() == {"supplied": 1.0}


def said(run: RunResult) -> list[Any]:
    """What a chat holds of a run."""

    def plain(event: Mapping[str, Any]) -> Any:
        request = event.get("request")
        return (
            [request["function"]["name"], request["arguments"]] if request else event.get("output")
        )

    return [
        [key, [(m.role, m.text, [plain(event) for event in m.generation]) for m in talk.messages]]
        for key, talk in sorted(run.state.conversations.items())
    ]


@pytest.mark.parametrize("name", ["openai-jsonl", "atif"])
@pytest.mark.parametrize(
    "file", [FOREIGN / "tau-bench-excerpt.json", FOREIGN / "tau2.json", CRAFT_MD]
)
def test_messages_tool_calls_and_scores_survive_conversion(
    name: str, file: Path, tmp_path: Path
) -> None:
    run = imported(file, tmp_path)
    written = tmp_path / "out"
    written.write_text(
        document_of("openai-jsonl", run) if name == "openai-jsonl" else document_of("atif", run),
        encoding="utf-8",
    )
    back = imported(written, tmp_path / "again")
    assert back.started.source is not None
    assert said(back) == said(run)
    assert back.state.scores() == run.state.scores()
    cases = [
        [t.case.name if t.case else None for t in r.state.conversations.values()]
        for r in (run, back)
    ]
    assert cases[0] == cases[1]


def test_both_conditions_of_the_demo_survive_openai_jsonl_and_atif(tmp_path: Path) -> None:
    demo = load_run(GOLDEN / "demo-run.jsonl")
    for text in (document_of("openai-jsonl", demo), document_of("atif", demo)):
        file = tmp_path / "out"
        file.write_text(text, encoding="utf-8")
        back = imported(file, tmp_path)
        assert back.state.scores() == demo.state.scores()
        words = [[m.text for m in t.sent_messages] for t in demo.conversations_begun]
        assert [[m.text for m in t.messages] for t in back.state.conversations.values()] == words


def test_a_large_file_is_imported_in_bounded_memory(tmp_path: Path) -> None:
    file = tmp_path / "large.json"
    talk = [
        {"role": "user", "content": "x" * 20_000},
        {"role": "assistant", "content": "y" * 20_000},
    ]
    with file.open("w", encoding="utf-8") as out:
        out.write("[")
        for number in range(500):
            one = {"task_id": number, "reward": 1.0, "info": {}, "traj": talk, "trial": 0}
            out.write(("," if number else "") + json.dumps(one))
        out.write("]")
    tracemalloc.start()
    import_file(file, tmp_path / "runs")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert file.stat().st_size > 19e6
    assert peak < 12e6


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            '[{"task_id": 0, "reward": 1, "traj": [{"role": "boss", "content": ""}]}]',
            "result 1: message 1: `role`",
        ),
        ('[{"task_id": 0, "reward": 1, "traj": []}, {"task_id": 1,', "not JSON at character"),
        (
            '{"messages": [{"role": "user", "content": "a"}]}\n{"messages": 3}\n',
            "line 2: `messages` must be a list",
        ),
        (
            '{"messages": [{"role": "user", "content": "a"}]}\n{"messages": [}\n',
            "line 2 is not JSON at column 15",
        ),
        (
            '{"schema_version": "ATIF-v1.7", "agent": {}, "steps": [{"source": "dog"}]}',
            "trajectory 1: step 1",
        ),
        ("[1, 2]", "unknown format"),
        ("hello", "not a recording"),
    ],
)
def test_a_damaged_file_is_one_sentence_with_the_position(
    text: str, words: str, tmp_path: Path
) -> None:
    file = tmp_path / "file.json"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(BioevalError) as found:
        import_file(file, tmp_path / "runs")
    assert words in str(found.value)
    assert not list((tmp_path / "runs").glob("*")) if (tmp_path / "runs").exists() else True


def test_escape_sequences_of_a_foreign_file_never_reach_the_recording(tmp_path: Path) -> None:
    file = tmp_path / "evil.jsonl"
    line = {
        "id": "a\x1b[2J",
        "messages": [{"role": "user", "content": "\x1b]0;x\x07hi"}],
        "more\x1b[1m": "\x9b2J",
    }
    file.write_text(json.dumps(line) + "\n" + json.dumps(line) + "\n", encoding="utf-8")
    text = import_file(file, tmp_path / "runs").path.read_text(encoding="utf-8")
    assert not any(bad in text for bad in ("\\u001b", "\x1b", "\x9b", "\\u009b"))


def test_the_format_can_be_given_and_a_wrong_one_says_what_is_missing(tmp_path: Path) -> None:
    source = imported(CRAFT_MD, tmp_path, kind="openai-jsonl").started.source
    assert source.format == "openai-jsonl"  # type: ignore[union-attr]
    with pytest.raises(RecordingError, match="`task_id`"):
        import_file(CRAFT_MD, tmp_path / "runs", kind="tau-bench")


def test_every_format_is_documented() -> None:
    page = (GOLDEN.parents[1] / "docs" / "recordings.md").read_text(encoding="utf-8")
    runs, _ = group("runs")
    command = runs.get_command(click.Context(runs), "import")
    assert command is not None
    (choice,) = (one.type for one in command.params if "--format" in one.opts)
    assert isinstance(choice, click.Choice)
    assert {*choice.choices} == {*plugins.BUILT_IN["importers"], *plugins.bundled("importers")}
    for name in {*choice.choices} - {"bioeval-tui"}:
        assert f"| `{name}` |" in page


def test_the_json_report_of_an_imported_run_has_the_cases(tmp_path: Path) -> None:
    text = document_of("json", imported(FOREIGN / "tau2.json", tmp_path))
    assert '"case": "reset"' in str(text)


STRANGE: list[Any] = [
    None,
    True,
    -1,
    1e308,
    float("nan"),
    "",
    "x",
    [],
    {},
    [None],
    [[]],
    {"a": None},
    10**20,
]


@pytest.mark.parametrize("name", ["tau-bench-excerpt.json", "tau2.json", "trajectory.json"])
def test_any_value_of_a_field_is_imported_or_refused_in_one_sentence(
    name: str, tmp_path: Path
) -> None:
    random = Random(name)
    whole = json.loads((FOREIGN / name).read_text(encoding="utf-8"))
    for number in range(40):
        data = json.loads(json.dumps(whole))
        for _ in range(3):
            place: Any = data
            while True:
                keys = list(place) if isinstance(place, dict) else list(range(len(place)))
                key = random.choice(keys)
                if (
                    not isinstance(place[key], dict | list)
                    or not place[key]
                    or random.random() < 0.3
                ):
                    place[key] = json.loads(json.dumps(random.choice(STRANGE)))
                    break
                place = place[key]
        file = tmp_path / f"{number}.json"
        file.write_text(json.dumps(data), encoding="utf-8")
        try:
            run = imported(file, tmp_path)
        except BioevalError:
            continue
        assert run.problems == ()
        document_of("atif", run)
        document_of("openai-jsonl", run)


def test_scores_of_several_inspect_scorers_keep_their_names_and_lose_only_what_is_no_number(
    tmp_path: Path,
) -> None:
    run = imported(FOREIGN / "inspect-several-scorers.json", tmp_path)
    rows = to_frame([run], "tasks")
    titles = [list(of_trial["title"]) for _, of_trial in rows.groupby("trial")]
    assert titles == [["letters", "multi: helpful", "multi: safe"]] * 3
    assert rows.groupby("title")["score"].mean().round(3).to_dict() == {
        "letters": 0.333, "multi: helpful": 0.1, "multi: safe": 1.0,
    }  # fmt: skip
    assert rows.groupby("title")["score"].count()["multi: safe"] == 2
    assert "values left out, because not a number: score multi: safe (1)" in [
        w.message for w in run.state.warnings
    ]
    assert [talk.score.score for talk in run.talks if talk.score] == [0.7, 0.05, 0.37]
    job = run.state.trial_job(1)["tasks"]
    assert len({task["task"] for task in job}) == 3
    assert all("How much warfarin 1?" in task["acceptanceCriteria"] for task in job)


@pytest.mark.parametrize(("scored", "told"), [((2, 1), True), ((2, 2), False), ((1, 0), False)])
def test_a_mean_that_inspect_forms_otherwise_is_explained(
    scored: tuple[int, int], told: bool, tmp_path: Path
) -> None:
    log = json.loads((FOREIGN / "inspect-several-scorers.json").read_text(encoding="utf-8"))
    one = log["samples"][0]
    log["samples"] = [
        {**one, "id": name, "epoch": epoch, "scores": one["scores"] if epoch <= count else {}}
        for name, count in zip("ab", scored, strict=True)
        for epoch in range(1, max(scored) + 1)
    ]
    file = tmp_path / "log.json"
    file.write_text(json.dumps(log), encoding="utf-8")
    warned = [w.message for w in imported(file, tmp_path).state.warnings]
    assert any("means here are over conversations" in message for message in warned) is told


def test_a_file_of_blank_lines_is_one_sentence(tmp_path: Path) -> None:
    talk = {"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "ho"}]}
    line = json.dumps(talk).encode() + b"\n"
    file = tmp_path / "talks.jsonl"
    for blank, refused in ((MAX_BLANK_LINES, False), (MAX_BLANK_LINES + 1, True)):
        file.write_bytes(line * 2 + b" \r\n" * blank + line)
        done = call("runs", "import", file, env={"BIOEVAL_DATA_DIR": str(tmp_path)})
        said = str(done.exception or "")
        assert ("more than 1,000,000 lines are blank" in said) is refused, said

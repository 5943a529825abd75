"""What is shown of a large recording from its rows is what is shown of the recording itself."""

from __future__ import annotations

import dataclasses
import io
import json
import os
import shutil
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from bioeval_tui.record import masking, runs as record_runs, stored, stored_rows
from bioeval_tui.record.catalogue import Catalogue
from bioeval_tui.record.events import RunEvent
from bioeval_tui.record.masking.mask import Mask
from bioeval_tui.record.masking.rules import LiteralRule, PatternRule, Rules
from bioeval_tui.record.reading import LineReader, fold_file
from bioeval_tui.record.state import RunState
from bioeval_tui.record.stored import StoredRun, file_digest, pack, stored_run, unpack
from bioeval_tui.record.stored_rows import StoredConversation
from bioeval_tui.report.comparison import compare
from bioeval_tui.report.document import run_document
from bioeval_tui.report.formats.console import print_comparison, print_manner, print_score_card
from bioeval_tui.report.result import RunResult, load_run
from bioeval_tui.report.reviews import judged_again_dicts
from bioeval_tui.report.summary import ranking_dicts, rankings, summarise_runs

ROOT = Path(__file__).parents[3]
SAMPLES = [
    *sorted((ROOT / "bioeval_tui" / "sample" / "recordings").glob("*/*.jsonl")),
    ROOT / "tests" / "golden" / "demo-run.jsonl",
    ROOT / "tests" / "golden" / "recordings" / "version-1.jsonl",
]
RUN_ID = "20261129-183936-56a5aeac"


@pytest.fixture
def runs_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a data folder's runs, in which every recording counts as large."""
    monkeypatch.setenv("BIOEVAL_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setattr(record_runs, "LARGE", 0)
    folder = tmp_path / "data" / "runs"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def there(runs_dir: Path) -> Path:
    """A recording in it."""
    return Path(shutil.copy(SAMPLES[0], runs_dir / f"{RUN_ID}.jsonl"))


def shown(run: RunResult) -> str:
    """Return all that is shown of a run: its score card and its document."""
    console = Console(file=io.StringIO(), width=120)
    print_score_card(run, console)
    print_manner(run, console)
    card: str = console.file.getvalue()  # type: ignore[attr-defined]
    return card + json.dumps(run_document(run), indent=1)


def without_rows(path: Path, monkeypatch: pytest.MonkeyPatch) -> RunResult:
    """Return the run as it is read without rows."""
    with monkeypatch.context() as patched:
        patched.setattr(record_runs, "LARGE", 1 << 60)
        run = load_run(path)
    assert run.stored is None
    return run


def stored_parts(runs_dir: Path) -> list[tuple[str, bytes]]:
    """Return the parts that are kept."""
    with sqlite3.connect(runs_dir / "catalogue.sqlite") as database:
        found = database.execute("select part, content from kept").fetchall()
    database.close()
    return found


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.stem)
def test_the_rows_show_what_the_recording_shows(
    sample: Path, runs_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = Path(shutil.copy(sample, runs_dir / f"{RUN_ID}.jsonl"))
    plain = without_rows(path, monkeypatch)
    expected = shown(plain)

    first = load_run(path)
    assert any(isinstance(talk, StoredConversation) for talk in first.state.conversations.values())
    assert shown(first) == expected
    again = load_run(path)
    assert shown(again) == expected
    if plain.has_ended:
        assert again.stored is not None
        assert again.stored.kept_in is not None
    for key, talk in again.state.conversations.items():
        folded = plain.state.conversations[key]
        assert talk.whole == folded
        assert [talk.attempt, talk.abandoned] == [folded.attempt, folded.abandoned]
    names = {field.name for field in dataclasses.fields(RunState)}
    for name in names - {"conversations", "_conditions"}:
        assert getattr(again.state, name) == getattr(plain.state, name), name


def test_more_conversations_than_keep_their_parts_show_the_same(
    there: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = shown(without_rows(there, monkeypatch))
    monkeypatch.setattr(stored_rows, "MOST_KEEPING", 2)
    monkeypatch.setattr(stored_rows, "LAST_KEEPING", 1)
    run = load_run(there)
    assert len(run.state.conversations) > 2
    assert shown(run) == expected


def test_comparisons_and_ranks_are_the_same(
    runs_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = [Path(shutil.copy(each, runs_dir)) for each in SAMPLES[:2]]
    plain = [without_rows(path, monkeypatch) for path in paths]
    for runs in [load_run(path) for path in paths], [load_run(path) for path in paths]:
        texts = []
        for pair in plain, runs:
            console = Console(file=io.StringIO(), width=120)
            print_comparison(compare(*pair), console, texts=True)
            ranks = ranking_dicts(rankings(summarise_runs(pair)))
            texts.append(console.file.getvalue() + json.dumps(ranks))  # type: ignore[attr-defined]
        assert texts[0] == texts[1]


def test_a_changed_recording_is_never_shown_from_old_rows(
    there: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = load_run(there)
    assert before.stored is not None
    stat = there.stat()
    changed = there.read_bytes().replace(b'"passed":true', b'"passed":null', 1)
    changed = changed.replace(b'"score":1.0', b'"score":0.5')
    there.write_bytes(changed)  # as long as before, and with its time
    os.utime(there, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert shown(load_run(there)) == shown(without_rows(there, monkeypatch))

    load_run(there)
    with there.open("ab") as file:  # extended, as by a run that goes on
        file.write(changed.splitlines(keepends=True)[-1].replace(b"completed", b"cancelled"))
    assert shown(load_run(there)) == shown(without_rows(there, monkeypatch))


@pytest.mark.parametrize("sample", [SAMPLES[0], SAMPLES[2]], ids=lambda path: path.stem)
def test_a_recording_that_has_become_longer_is_read_on(
    sample: Path, runs_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As of a run that was interrupted and is resumed: in mid-talk, after a talk, in mid-line."""
    lines = sample.read_bytes().splitlines(keepends=True)
    path = runs_dir / f"{RUN_ID}.jsonl"
    path.write_bytes(b"".join(lines))
    plain = without_rows(path, monkeypatch)
    expected = shown(plain)
    read: list[int] = []
    feed = LineReader.feed_placed

    def counted(reader: LineReader, data: bytes) -> list[tuple[int, bytes, RunEvent]]:
        read.append(len(data))
        return feed(reader, data)

    after_talk = max(at for at, line in enumerate(lines) if b"conversation_scored" in line) + 1
    for cut in (len(lines) // 3, after_talk, after_talk - 2):
        path.write_bytes(b"".join(lines[:cut]))
        load_run(path)
        path.write_bytes(b"".join(lines))
        with monkeypatch.context() as patched:
            patched.setattr(LineReader, "feed_placed", counted)
            read.clear()
            stored_run(path, keeps=True)
        assert len(b"".join(lines[cut:])) in read, "only the rest is read"
        again = load_run(path)
        assert shown(again) == expected
        for key, talk in again.state.conversations.items():
            assert talk.whole == plain.state.conversations[key]
        names = {field.name for field in dataclasses.fields(RunState)}
        for name in names - {"conversations", "_conditions"}:
            assert getattr(again.state, name) == getattr(plain.state, name), name
    path.write_bytes(b"".join(lines[:after_talk]) + lines[after_talk][:9])
    load_run(path)  # a torn line
    path.write_bytes(b"".join(lines))
    assert shown(load_run(path)) == expected


def test_a_recording_that_changes_while_it_is_shown_is_an_error(there: Path) -> None:
    run = load_run(there)
    there.write_bytes(there.read_bytes().replace(b"a", b"b"))
    talk = next(iter(run.state.conversations.values()))
    with pytest.raises(stored.RecordingError, match="changed while it was shown"):
        assert talk.messages


def test_reviews_count_that_come_after_the_rows_were_kept(
    there: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = load_run(there)
    talk = next(talk for talk in run.conversations if talk.tasks)
    review = {
        "run_id": run.run_id, "seq": 1, "at": "2026-11-30T00:00:00Z", "kind": "reviewed",
        "condition": talk.condition, "trial": talk.trial, "attempt": 1, "author": "A",
        "review": "r1", "action": "override", "task": 1, "before": talk.tasks[0].score,
        "after": 0.25,
    }  # fmt: skip
    there.with_suffix(".overlay.jsonl").write_text(json.dumps(review) + "\n")
    assert load_run(there).reviewed_words
    assert shown(load_run(there)) == shown(without_rows(there, monkeypatch))


def later_events(run: RunResult) -> list[dict[str, Any]]:
    """Return a later verdict on every conversation, and then a person's review of some."""
    events: list[dict[str, Any]] = []
    for talk in run.conversations:
        where = {
            "run_id": run.run_id, "at": "2026-11-30T00:00:00Z", "author": "A",
            "condition": talk.condition, "trial": talk.trial, "attempt": talk.attempt,
        }  # fmt: skip
        assert talk.verdict is not None
        assert talk.scored is not None
        verdict = talk.verdict.model_dump(mode="json", include={"kind", "judge", "tasks"})
        for task in verdict["tasks"]:
            task["score"] = 0.25
        scored = talk.scored.model_dump(mode="json", exclude={"run_id", "seq", "at"})
        events.append({**where, **verdict, "judge": "second", "judging": "j"})
        events.append({**scored, **where, "score": 0.5})
        events.append({
            **where, "kind": "reviewed", "review": f"r{len(events)}", "action": "override",
            "task": 1, "before": 0.25, "after": 0.75,
        })  # fmt: skip
    return [{**event, "seq": at} for at, event in enumerate(events, start=1)]


@pytest.mark.parametrize("kinds", ["transcript_scored conversation_scored", "reviewed", ""])
def test_later_verdicts_and_reviews_count_in_rows_as_in_the_recording(
    there: Path, kinds: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded = shown(load_run(there))
    later = later_events(load_run(there))
    kept = [event for event in later if not kinds or event["kind"] in kinds]
    there.with_suffix(".overlay.jsonl").write_text("\n".join(map(json.dumps, kept)) + "\n")
    plain, run = without_rows(there, monkeypatch), load_run(there)
    assert run.stored is not None
    assert shown(run) == shown(plain) != recorded
    assert shown(run.apply_reviews()) == shown(plain.apply_reviews())
    assert judged_again_dicts(run.judged_again) == judged_again_dicts(plain.judged_again)
    for key, talk in run.state.conversations.items():
        folded = plain.state.conversations[key]
        assert (talk.whole, talk.user_faults) == (folded, folded.user_faults)
    there.with_suffix(".overlay.jsonl").unlink()
    assert shown(load_run(there)) == recorded


def test_a_masked_run_is_rows_too_of_which_nothing_is_kept(
    there: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(masking, "_chosen", masking._chosen)
    rules = Rules(
        [LiteralRule.of("Sydney", "[ID-1]", is_name=True)],
        [PatternRule("remind\\w*", "WORD")],
        b"k",
    )
    masking.use(Mask(rules))
    # a message that broke off: its last words wait for what may follow
    lines = SAMPLES[-2].read_bytes().splitlines(keepends=True)
    last = max(at for at, line in enumerate(lines) if b"message_delta" in line)
    there.write_bytes(b"".join([*lines[: last + 1], *lines[-3:]]))
    plain, run = without_rows(there, monkeypatch), load_run(there)
    assert run.stored is not None
    assert shown(run) == shown(plain)
    assert "[WORD-" in shown(run)
    for key, talk in run.state.conversations.items():
        assert talk.whole == plain.state.conversations[key]
    assert not (there.parent / "catalogue.sqlite").exists()


@pytest.mark.parametrize("what", [b"", b"broken", b"[]", b'{"digest": "x"}'])
def test_broken_rows_are_ignored_and_replaced(
    there: Path, what: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = shown(load_run(there))
    good = dict(stored_parts(there.parent))["rows"]
    broken = stored.zlib.compress(what) if what else what
    Catalogue(there.parent).keep(RUN_ID, "rows", file_digest(there), broken)
    assert shown(load_run(there)) == expected
    assert dict(stored_parts(there.parent))["rows"] == good


def test_rows_with_a_part_missing_or_another_value_are_not_used(there: Path) -> None:
    run = StoredRun(there)
    run.read()
    rows = pack(run)
    assert rows is not None
    lines = stored.zlib.decompress(rows).split(b"\n")
    for kept in (lines[:-1], [lines[0].replace(b'"texts":[[', b'"texts":[[9'), *lines[1:]]):
        packed = stored.zlib.compress(b"\n".join(kept))
        assert unpack(there, packed, run.digest) is None
    assert unpack(there, rows, "another") is None


def test_rows_of_other_code_are_made_again(there: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    load_run(there)
    digest = file_digest(there)
    assert Catalogue(there.parent).kept(RUN_ID, "rows", digest)
    monkeypatch.setattr("bioeval_tui.record.catalogue._made_by", lambda: "another version")
    assert Catalogue(there.parent).kept(RUN_ID, "rows", digest) is None
    load_run(there)
    assert Catalogue(there.parent).kept(RUN_ID, "rows", digest)


def test_no_text_is_kept(there: Path) -> None:
    shown(load_run(there))
    said = [
        message.text
        for talk in fold_file(there, light=False).conversations.values()
        for message in talk.messages
    ]
    parts = stored_parts(there.parent)
    assert {part for part, _ in parts} >= {"rows"}
    for part, content in parts:
        text = stored.zlib.decompress(content).decode() if part == "rows" else content.decode()
        assert not any(each in text for each in said if len(each) > 10)


def test_looking_needs_no_place_to_keep_rows(
    there: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = shown(without_rows(there, monkeypatch))
    elsewhere = tmp_path / "of somebody else"
    elsewhere.mkdir()
    lone = Path(shutil.copy(there, elsewhere / there.name))
    assert shown(load_run(lone)) == expected
    assert [each.name for each in elsewhere.iterdir()] == [there.name]
    assert shown(load_run(there, keeps=False)) == expected
    assert not (there.parent / "catalogue.sqlite").exists()
    (there.parent / "catalogue.sqlite").mkdir()  # nothing can be written
    assert shown(load_run(there)) == expected


def test_rows_go_with_their_run(there: Path) -> None:
    load_run(there)
    Catalogue(there.parent).runs()
    there.unlink()
    Catalogue(there.parent).runs()
    assert stored_parts(there.parent) == []


def test_two_at_once_keep_the_same(there: Path) -> None:
    expected = shown(load_run(there))
    (there.parent / "catalogue.sqlite").unlink()
    with ThreadPoolExecutor(4) as pool:
        runs = list(pool.map(load_run, [there] * 4))
    assert {shown(run) for run in runs} == {expected}
    assert dict(stored_parts(there.parent))["rows"]

"""A large recording, read conversation by conversation and kept as rows.

Views of a run ask a few numbers of each of its conversations, and read the texts of a few.

1. `StoredRun.read` folds one conversation after another, makes a row of its numbers
   (`stored_rows.py`) and drops its texts. It notes where the lines stand in the file, with a
   checksum. That takes as long as reading a recording whole, but memory does not grow with texts.
2. A `StoredConversation` answers from its row. For anything else `RowSource.whole` reads its lines
   again: what it says is what the recording says, or an error if the checksum is another.
3. `pack` returns the rows without any text: a name that many conversations share, such as a
   task's title or a case's, stands as its place in the file. `unpack` takes them up again for as
   long as the file has the same hash; of one that has only become longer, the rest is read
   (`_read_on`). The list of runs keeps them.
4. `stored_run`, which all views call (`report/result.py`), does whichever can be done;
   `state_as_written` does it for what goes on with a run.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from bioeval_tui.base.errors import Problem, RecordingError
from bioeval_tui.base.settings import Settings
from bioeval_tui.record import events
from bioeval_tui.record.cases import Case
from bioeval_tui.record.catalogue import Catalogue
from bioeval_tui.record.events import RunEvent
from bioeval_tui.record.reading import CHUNK, LineReader, pause_collector, started_run
from bioeval_tui.record.runs import is_large, is_live, is_run_id
from bioeval_tui.record.state import (
    Change,
    ConversationKey,
    ConversationState,
    RunState,
    WorkClock,
    apply,
)
from bioeval_tui.record.stored_rows import (
    Line,
    Numbers,
    Piece,
    RowSource,
    StoredConversation,
    numbers_of,
)
from bioeval_tui.record.warning_codes import NOT_CLEAN

if TYPE_CHECKING:
    from bioeval_tui.record.masking.mask import Mask, Pieces

MOST_BYTES = 1 << 29
"""The most bytes of rows that are read: those of a million conversations."""
HASH = "sha256"
ROWS = "rows"
"""The part of what is kept of a recording."""

Place = tuple[int, int]
"""Where something stands in the recording: its first byte, and how many bytes it has."""


class _UnknownTextError(Exception):
    """A text does not stand in the recording as it was read."""


class StoredRun:
    """A recording whose conversations are rows, with a mask if its texts are shown masked."""

    def __init__(self, path: Path, mask: Mask | None = None) -> None:
        self.path, self.state = path, RunState()
        self._mask = mask
        self._streamed: dict[ConversationKey | None, Pieces | None] = {}
        """What masks the pieces of messages, by conversation."""
        self.problems: list[Problem] = []
        self.digest = ""
        """The hash of all bytes that were read."""
        self.kept_in: Catalogue | None = None
        """Where what is made of it is kept; None if nothing is."""
        self.taken = 0
        """How many bytes were read, up to a torn last line."""
        self._size: int | None = 0
        """How many bytes were read; None if they are not read on from there, as after a torn line,
        which becomes another.
        """
        self._lines_read = 0
        self._source = RowSource(path, mask)
        self._whole: dict[ConversationKey, Piece] = {}
        """Where the conversations stand that are no rows: they are read whole."""
        self._unscored: dict[ConversationKey, list[Line]] = {}
        """The lines since a conversation began, or since it was a row."""
        self._begun: dict[ConversationKey, Place] = {}
        """Where a conversation of a case began that is not scored yet."""
        self._loose = Piece()
        """The lines of which the run itself is made."""
        self._text_places: list[Place] = []
        self._text_numbers: dict[str, int] = {}
        self._case_places: list[Place] = []
        self._case_numbers: dict[Any, int] = {}

    # From the recording

    @property
    def conversations_read(self) -> int:
        """How many conversations were read; meanwhile, how many so far."""
        return len(self.state.conversations)

    def read(self, hashed: Any = None) -> None:
        """Read the recording, conversation by conversation; what was taken up is read on, given the
        hash of its bytes.

        Raises:
            RecordingError: it cannot be read.
        """
        reader = LineReader(self.path.name, [*self.problems], self._lines_read, self._size or 0)
        digest = hashed or hashlib.new(HASH)
        with pause_collector(reader):
            for line, event in self._lines(reader, digest):
                self.apply(event, line)
            for key in [*self._unscored]:
                self._store(key)
        self.taken = reader.taken
        is_whole = not (reader.is_torn or reader.problems)
        reader.finish()
        self._size, self._lines_read = reader.taken if is_whole else None, reader.line
        self.problems, self.digest = reader.problems, digest.hexdigest()

    def apply(self, event: RunEvent, line: Line | None = None) -> Change:
        """Take the next event. With its line, a conversation becomes a row once it is scored; one
        that goes on afterwards is a conversation again.
        """
        event = self._masked(event)
        self._reopen(event)
        change = apply(self.state, event)
        if change.key is None:
            self._source.take_run(self.state)
        if line is not None:
            self._place(line, event, change)
        return change

    def _place(self, line: Line, event: RunEvent, change: Change) -> None:
        """Note where an event stands, and make a row of its conversation if it is scored."""
        key = change.key
        if key is None:
            self._loose.add(line)
            return
        self._unscored.setdefault(key, []).append(line)
        if change.kind == "abandoned":
            return
        if _is_of_run(event):
            self._loose.add(line)
        elif isinstance(event, events.ConversationStarted) and event.case is not None:
            self._begun[key] = line[0], len(line[1]) + 1
        elif isinstance(event, events.ConversationScored):
            self._store(key)

    def _lines(self, reader: LineReader, digest: Any) -> Iterator[tuple[Line, RunEvent]]:
        try:
            with self.path.open("rb") as file:
                file.seek(reader.taken)
                while not reader.is_hopeless and (data := file.read(CHUNK)):
                    digest.update(data)
                    for offset, line, event in reader.feed_placed(data):
                        yield (offset, line), event
        except OSError as error:
            raise RecordingError(f"{self.path}: cannot be read: {error.strerror}") from None

    def _masked(self, event: RunEvent) -> RunEvent:
        if self._mask is None:
            return event
        key = None
        if event.condition is not None and event.trial is not None:
            key = ConversationKey(event.condition, event.trial)
        if key not in self._streamed:
            self._streamed[key] = self._mask.pieces()
        return self._mask.event(event, self._streamed[key])

    def _add_held_back(self, talk: ConversationState) -> None:
        """Add the ends of messages that broke off, which the mask held back."""
        pieces = self._streamed.pop(talk.key, None)
        for piece in pieces.last_pieces() if pieces else ():
            is_current = (piece.attempt or 1) == talk.attempt
            message = talk.message(piece.message) if is_current else None
            if message is not None:
                message.add(piece.text)

    def _reopen(self, event: RunEvent) -> None:
        """Make a row a conversation again if an event comes after its score, such as another
        attempt's.
        """
        talks, key = self.state.conversations, (event.condition, event.trial)
        known = talks.get(key)  # type: ignore[call-overload]  # equal to its `ConversationKey`
        if isinstance(known, StoredConversation):
            self._whole[known.key], _ = known.row
            talks[known.key] = self._source.read_whole(known.key, self._whole[known.key])

    def _store(self, key: ConversationKey) -> None:
        """Replace a folded conversation by its row; one that cannot be a row stays whole."""
        lines, begun = self._unscored.pop(key), self._begun.pop(key, None)
        piece = self._whole.setdefault(key, Piece())
        for line in lines:
            piece.add(line)
        talk = self.state.conversations[key]
        key = talk.key  # that of this event would take as much memory again
        self._add_held_back(talk)
        started = self.state.started
        with suppress(_UnknownTextError):
            row = numbers_of(
                talk,
                self._case_number(talk, begun),
                lambda text: self._text_number(text, lines),
                is_imported=started is None or started.source is not None,
            )
            self.state.conversations[key] = StoredConversation(self._source, key, piece, row)
            del self._whole[key]

    def _text_number(self, text: str, lines: Iterable[Line]) -> int:
        if not text:
            return -1
        if text not in self._text_numbers and self._mask is not None:
            self._text_numbers[text] = len(self._source.texts)
            self._source.texts.append(text)
        if text not in self._text_numbers:
            encoded = json.dumps(text, ensure_ascii=False).encode("utf-8", "surrogatepass")
            for offset, line in lines:
                found = line.find(encoded)
                if found >= 0:
                    self._text_numbers[text] = len(self._source.texts)
                    self._source.texts.append(text)
                    self._text_places.append((offset + found, len(encoded)))
                    break
            else:
                raise _UnknownTextError
        return self._text_numbers[text]

    # What is kept of it

    def recall(self, part: str) -> Any:
        """Return the figures that `remember` kept of a recording with the same bytes; None without
        any.
        """
        if self.kept_in is None:
            return None
        content = self.kept_in.kept(self.path.stem, part, self.digest)
        try:
            return None if content is None else json.loads(content)
        except (ValueError, RecursionError):
            return None

    def remember(self, part: str, figures: Any) -> None:
        """Keep figures, as JSON and without any text of the recording, for the next look."""
        if self.kept_in is not None:
            content = _json(figures).encode("ascii")
            self.kept_in.keep(self.path.stem, part, self.digest, content)

    def kept(self) -> dict[str, Any]:
        """Return everything but texts and conversations, as `take` takes it."""
        state, clock = self.state, self.state._clock
        return {
            "digest": self.digest,
            "size": self._size,
            "lines": self._lines_read,
            "problems": [[problem.message, problem.line] for problem in self.problems],
            "loose": _placed(self._loose),
            "texts": self._text_places,
            "cases": self._case_places,
            "seq": state.last_seq,
            "at": _time(state.last_at),
            "newest": state.newest,
            "conversations": len(state.conversations),
            "times": [[_time(since), _time(until)] for since, until in clock._times],
            "since": _time(clock._since),
        }

    def rows(self) -> Iterator[str]:
        """Yield the row of each conversation, as JSON."""
        for key, talk in self.state.conversations.items():
            if isinstance(talk, StoredConversation):
                piece, row = talk.row
                yield _json([[*key, *_placed(piece)], row])
            else:
                yield _json([[*key, *_placed(self._whole[key])], None])

    @property
    def are_mostly_rows(self) -> bool:
        """Whether most conversations are rows, so that they are worth keeping."""
        return len(self._whole) <= len(self.state.conversations) // 10

    def take(
        self, kept: dict[str, Any], rows: Iterable[list[Any]], digest: str, *, reads_on: bool
    ) -> None:
        """Take up what `kept` and `rows` returned, to read on from there or not.

        Raises:
            Exception: one of `_UNUSABLE`, if it is of other bytes, or damaged.
        """
        if kept["digest"] != digest:
            raise ValueError("of other bytes")
        self.digest, self._size, self._lines_read = digest, kept["size"], kept["lines"]
        self.problems = [
            Problem(message, self.path.name, line) for message, line in kept["problems"]
        ]
        state = self.state
        for event in self._source.events(_piece(*kept["loose"])):
            apply(state, event)
        self._source.take_run(state)
        # Only the lines that change the run were applied to its conversations.
        state.conversations.clear()
        state.last_seq, state.last_at = kept["seq"], _read_time(kept["at"])
        state.newest = kept["newest"] and ConversationKey(*kept["newest"])
        state._clock = WorkClock(
            [(_known_time(since), _known_time(until)) for since, until in kept["times"]],
            _read_time(kept["since"]),
        )
        self._read_texts(kept)
        names: dict[str, str] = {}
        for (condition, trial, places, checksum), row in rows:
            key, piece = (
                ConversationKey(names.setdefault(condition, condition), trial),
                _piece(places, checksum),
            )
            if row is None:
                self._whole[key] = piece
                state.conversations[key] = self._source.read_whole(key, piece)
            else:
                state.conversations[key] = StoredConversation(
                    self._source, key, piece, Numbers(*row)
                )
        if reads_on:
            self._number_again(kept)
        if len(state.conversations) != kept["conversations"]:
            raise ValueError("fewer rows than there were")

    def _number_again(self, kept: dict[str, Any]) -> None:
        """Take up which number each text and case has."""
        source = self._source
        self._loose = _piece(*kept["loose"])
        self._text_places, self._case_places = kept["texts"], kept["cases"]
        self._text_numbers = {text: number for number, text in enumerate(source.texts)}
        self._case_numbers = {_case_key(case): at for at, case in enumerate(source.cases)}

    def _read_texts(self, kept: dict[str, Any]) -> None:
        with self.path.open("rb") as file:

            def there(place: Sequence[int]) -> bytes:
                file.seek(place[0])
                return file.read(place[1])

            texts = self._source.texts = [json.loads(there(place)) for place in kept["texts"]]
            reader = LineReader(self.path.name)
            for place in kept["cases"]:
                (begun,) = reader.feed(there(place))
                assert isinstance(begun, events.ConversationStarted)
                assert begun.case is not None
                self._source.cases.append(begun.case)
        if not all(isinstance(text, str) for text in texts):
            raise TypeError("not a text")

    def _case_number(self, talk: ConversationState, begun: Place | None) -> list[int] | int | None:
        case, of_run = talk.case, self.state.cases
        if case is None:
            return None
        if talk.begun is None or talk.begun.case is None or begun is None:
            if talk.key.trial <= len(of_run) and of_run[talk.key.trial - 1] == case:
                return -1
            raise _UnknownTextError
        key = _case_key(case)
        if key not in self._case_numbers:
            self._case_numbers[key] = len(self._source.cases)
            self._source.cases.append(case)
            self._case_places.append(begun)
        return [self._case_numbers[key], case.trial]


def _case_key(case: Case) -> Any:
    return (*case.key, case.facts, tuple(tuple(task.items()) for task in case.tasks))


def _placed(piece: Piece) -> list[Any]:
    """Return a piece as `_piece` takes it."""
    return [piece.places.tolist(), piece.checksum]


def _piece(places: Iterable[int], checksum: int) -> Piece:
    return Piece(array("Q", places), checksum)


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def _time(at: datetime | None) -> str | None:
    return None if at is None else at.isoformat()


def _read_time(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


def _known_time(text: str) -> datetime:
    return datetime.fromisoformat(text)


def _is_of_run(event: RunEvent) -> bool:
    """Return whether an event of a conversation changes the run, too."""
    match event:
        case events.Warned():
            return event.code in NOT_CLEAN
        case events.OperatorActed() | events.UnknownEvent():
            return True
    return False


# What is kept


def pack(run: StoredRun) -> bytes | None:
    """Return the rows of a recording that was read, without any text; None if most of its
    conversations are no rows.
    """
    if not run.are_mostly_rows:
        return None
    # One by one: all of them at once would take more memory than the views.
    packer = zlib.compressobj(1)
    packed = [packer.compress(_json(run.kept()).encode("ascii"))]
    packed += (packer.compress(b"\n" + row.encode("ascii")) for row in run.rows())
    return b"".join([*packed, packer.flush()])


def unpack(path: Path, kept: bytes, digest: str, *, reads_on: bool = False) -> StoredRun | None:
    """Return a recording from its rows, given the hash of its bytes now; None if they cannot be
    used: damaged, or of other bytes. Only one that `reads_on` can be read further.
    """
    run = StoredRun(path)
    try:
        lines = map(json.loads, _lines_of(kept))
        run.take(next(lines), lines, digest, reads_on=reads_on)
    except _UNUSABLE:
        return None
    return run


def stored_run(
    path: Path,
    *,
    keeps: bool,
    mask: Mask | None = None,
    begins: Callable[[StoredRun], object] = lambda run: None,
) -> StoredRun:
    """Return a recording with its conversations as rows: those that are kept, if they are of these
    bytes, else read now and, if it `keeps` them, kept in the list of the data folder's runs.

    With a mask nothing is kept: what a row counts, such as words, is that of the masked text.
    `begins` is called with what is about to be read, so that another thread can say how far it is.

    Raises:
        RecordingError: it cannot be read.
    """
    kept_in = None if mask is not None else _list_of_runs(path, writes=keeps)
    if kept_in is not None:
        digest = file_digest(path)
        kept = kept_in.kept(path.stem, ROWS, digest)
        if kept is not None and (run := unpack(path, kept, digest)) is not None:
            run.kept_in = kept_in
            return run
    run = None
    if kept_in is not None:
        run = _read_on(path, kept_in)
    if run is None:
        run = StoredRun(path, mask)
        begins(run)
        run.read()
    # One that is still written would be kept again at each look.
    if kept_in is not None and not is_live(path):
        run.kept_in = kept_in
        rows = pack(run)
        if rows is not None:
            kept_in.keep(path.stem, ROWS, run.digest, rows)
    return run


def _read_on(path: Path, kept_in: Catalogue) -> StoredRun | None:
    """Return a recording that has only become longer since its rows were kept, as that of a run
    which was resumed; None if it is another.

    Raises:
        RecordingError: it cannot be read.
    """
    kept = kept_in.kept(path.stem, ROWS)
    if kept is None:
        return None
    try:
        before = json.loads(next(_lines_of(kept)))
        size = int(before["size"])
        with path.open("rb") as file:
            hashed = _hash_of(file, size)
        run = unpack(path, kept, hashed.hexdigest(), reads_on=True)
    except _UNUSABLE:
        return None
    if run is not None:
        run.read(hashed)
    return run


def _hash_of(file: BinaryIO, size: int) -> Any:
    """Return the hash of the first bytes of a file."""
    hashed = hashlib.new(HASH)
    while size > 0 and (data := file.read(min(size, CHUNK))):
        hashed.update(data)
        size -= len(data)
    return hashed


def state_as_written(path: Path) -> tuple[RunState, events.RunStarted]:
    """Return the state of a recording, not masked, and its first event; the conversations of a
    large one are rows, which are kept.

    Raises:
        RecordingError: it cannot be read, or lacks its first event.
    """
    if is_large(path):
        state = stored_run(path, keeps=True).state
        if state.started is not None:
            return state, state.started
    state, started, _ = started_run(path, as_written=True)
    return state, started


def _list_of_runs(path: Path, *, writes: bool) -> Catalogue | None:
    """Return the list of runs that a recording is in; None for one that is not in the data folder,
    beside which nothing is written.
    """
    runs_dir = Settings.from_environment().runs_dir
    if not is_run_id(path.stem) or path.parent.absolute() != runs_dir.absolute():
        return None
    return Catalogue(runs_dir, writes=writes)


def _lines_of(kept: bytes) -> Iterator[bytes]:
    """Yield the lines that `pack` wrote, unpacked piece by piece."""
    opened, rest, size = zlib.decompressobj(), b"", 0
    while not opened.eof:
        piece = opened.decompress(kept, CHUNK)
        kept, size = opened.unconsumed_tail, size + len(piece)
        if size > MOST_BYTES or not (piece or kept or opened.eof):
            raise ValueError("torn, or larger than any rows")
        *lines, rest = (rest + piece).split(b"\n")
        yield from lines
    yield rest


_UNUSABLE = (
    zlib.error, OSError, RecordingError, ValueError, TypeError, LookupError, AttributeError,
    AssertionError, RecursionError,
)  # fmt: skip
"""What rows raise that are not what this module writes."""


def file_digest(path: Path) -> str:
    """Return the hash of a file's bytes.

    Raises:
        RecordingError: it cannot be read.
    """
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, HASH).hexdigest()
    except OSError as error:
        raise RecordingError(f"{path}: cannot be read: {error.strerror}") from None

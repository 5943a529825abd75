"""Standard streams that never fail: every character can be written, and a lost reader or a full
disk ends no work.

`--help` loads this module first, so it imports little.
"""

from __future__ import annotations

import codecs
import errno
import functools
import io
import os
import re
import select
import sys
import unicodedata
from typing import Any

_PLAIN = {
    "…": "...", "·": "*", "•": "*", "–": "-", "—": "-", "‑": "-", "−": "-", "×": "x", "±": "+/-",
    "√": "sqrt",
    "≠": "!=", "≤": "<=", "≥": ">=", "‖": "||", "∞": "inf", "⁄": "/", "€": "EUR", "£": "GBP",
    "¥": "JPY", "°": "deg",
    "“": '"', "”": '"', "„": '"', "«": '"', "»": '"', "‘": "'", "’": "'", "‚": "'", "ʼ": "'",
    "´": "'", "‹": "<", "›": ">",
    "→": "->", "←": "<-", "↑": "^", "↓": "v", "⏎": "/", "↻": "@", "⌫": "<", "⚙": "*", "✎": "/",
    "∿": "~",
    "✓": "v", "✗": "x", "■": "#", "●": "*", "○": "o", "◐": "%", "◔": "%", "◷": "%", "◌": ".",
    "◆": "*", "◇": "o",
    "▲": "^", "▴": "^", "▼": "v", "▾": "v", "▶": ">", "►": ">", "▸": ">", "◂": "<", "░": ".",
    "▒": ":",
    **dict(zip("▁▂▃▄▅▆▇", "_.-=+*#", strict=True)),
    "µ": "u", "μ": "u", "α": "alpha", "λ": "lambda", "σ": "sigma", "τ": "tau", "Δ": "Delta",
    "Π": "Pi", "Σ": "Sum",
    "ß": "ss", "æ": "ae", "Æ": "AE", "ø": "o", "Ø": "O", "œ": "oe", "ł": "l", "Ł": "L", "ƒ": "f",
    "₋": "-",
}  # fmt: skip
_ONE_CELL = {"→": ">", "±": "~", "·": ".", "━": "#", "═": "=", "╌": ":", "┿": "|"}
"""Where the first letter of the plain form would mislead, or parts of a bar would look alike."""

_ASCII = "plain-ascii"
"""The codec `ascii` under another name: click takes a stream called `ascii` for UTF-8."""


@functools.cache
def plain(character: str) -> str:
    """Return the nearest ASCII form of a character: `...` for `…`, `e` for `é`; `?` if there is
    none.
    """
    if character in _PLAIN:
        return _PLAIN[character]
    name = unicodedata.name(character, "")
    if name.startswith("BOX DRAWINGS"):
        upright, level = ({*names} & {*name.split()} for names in (_UPRIGHT, _LEVEL))
        if bool(upright) == bool(level):
            return "+"
        if upright:
            return "|"
        return "-"
    if "▀" <= character <= "▟":
        return "#"
    if unicodedata.category(character) in ("Mn", "Cf"):
        return ""  # an accent, or an invisible character
    parts = unicodedata.normalize("NFKD", character)
    if parts == character:
        if character.isascii():
            return character
        return "?"
    return "".join(map(plain, parts))


_UPRIGHT = ("VERTICAL", "UP", "DOWN")
_LEVEL = ("HORIZONTAL", "LEFT", "RIGHT")


def _plain_text(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    return "".join(map(plain, error.object[error.start : error.end])), error.end


def _plain_cells(error: UnicodeError) -> tuple[str, int]:
    """Replace each character by as many as it has cells, so that a screen keeps its shape."""
    assert isinstance(error, UnicodeEncodeError)
    written = ""
    for at, character in enumerate(error.object[error.start : error.end], error.start):
        cell = _ONE_CELL.get(character, plain(character)[:1])
        if character == "…" and "".join(error.object[max(0, at - 1) : at + 2 : 2]).isdigit():
            cell = "-"  # `0…5` is no number
        written += cell.ljust(2) if unicodedata.east_asian_width(character) in "WF" else cell
    return written, error.end


class _LastingOutput(io.RawIOBase):
    """The end of an output stream.

    From the first failure on, what is written goes nowhere; `lost` is the failure.
    """

    def __init__(self, raw: Any) -> None:
        self._raw = raw
        self.lost: OSError | None = None

    def write(self, data: Any, /) -> int:
        """Write as much as the system takes."""
        if self.lost is None:
            try:
                while (written := self._raw.write(data)) is None:
                    # another program made the pipe non-blocking, and it is full
                    select.select([], [self._raw], [])
                return int(written)
            except OSError as error:
                self.lost = error
        return len(data)

    def writable(self) -> bool:
        """Return True."""
        return True

    def fileno(self) -> int:
        """Return the descriptor."""
        return int(self._raw.fileno())

    def isatty(self) -> bool:
        """Return whether it is a terminal."""
        return bool(self._raw.isatty())


_RUNNERS = ("GITHUB_ACTIONS", "TF_BUILD", "TEAMCITY_VERSION")
_COMMAND = re.compile(
    r"(?:^|(?<=\r))[^\S\n]*+:(?=:\w)|#(?=#(?:vso|teamcity)?\[)", re.MULTILINE | re.IGNORECASE
)
"""The first sign of what a CI runner obeys: `::add-mask::` where a line begins, `##vso[…]` and
`##[…]` anywhere.
"""
COMMAND_IN_JSON = re.compile(r"#(?=#(?:vso|teamcity)?\[)", re.IGNORECASE)
"""The same in JSON, of which no line begins with what a text says."""
_LONGEST_COMMAND = len("##teamcity[")


def is_runner() -> bool:
    """Return whether this process runs in a CI runner that obeys commands in its log."""
    return any(map(os.environ.get, _RUNNERS))


class CommandBreaker:
    """Breaks a runner's commands in a text that comes in pieces, each with a space."""

    def __init__(self) -> None:
        self._line = ""
        """The end of the line that was begun, as far as a command may still come of it."""

    def feed(self, piece: str) -> str:
        """Return a piece as it may be written after the earlier ones."""
        begun = len(self._line)
        text = self._line + piece
        parts, at = [], begun
        for found in _COMMAND.finditer(text):
            # What is written already cannot be changed: the space comes after it.
            place = max(found.end(), begun)
            parts.append(text[at:place])
            at = place
        broken = " ".join([*parts, text[at:]])
        line = re.split("[\r\n]", self._line + broken)[-1]
        if line.isspace():
            line = " "
        elif len(line) > _LONGEST_COMMAND:
            line = f"…{line[-_LONGEST_COMMAND:]}"  # the rest does not begin a line
        self._line = line
        return broken


def break_commands(text: str) -> str:
    """Return a text that no CI runner obeys: a space breaks each command."""
    return CommandBreaker().feed(text)


class _RunnersLog(io.TextIOWrapper):
    """A stream into a CI runner's log, which must not obey what an agent said."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._breaker = CommandBreaker()

    def write(self, text: str, /) -> int:
        """Write the text, without commands."""
        if not text.isascii():
            # What the encoding does not have is written in ASCII, as which `＃＃vso[` would be a
            # command.
            text = text.encode(self.encoding, self.errors or "strict").decode(self.encoding)
        return super().write(self._breaker.feed(text))


class _WithoutCommands:
    """A stream of a program that calls this one, into a CI runner's log."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._breaker = CommandBreaker()

    def write(self, text: str, /) -> int:
        """Write the text, without commands."""
        return int(self._stream.write(self._breaker.feed(text)))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def log_stream(stream: Any) -> Any:
    """Return a stream to write text to: the same, or one without commands if a CI runner may read
    it.
    """
    if stream is None or isinstance(stream, _RunnersLog) or not is_runner():
        return stream
    return _WithoutCommands(stream)


_outputs: dict[str, _LastingOutput] = {}
_needs_stdout = True


def register_plain_forms() -> None:
    """Register the error handlers `plain` and `plain-cells`, which write the nearest ASCII form of
    a character.
    """
    codecs.register_error("plain", _plain_text)
    codecs.register_error("plain-cells", _plain_cells)


def make_lasting() -> None:
    """Replace stdout and stderr by streams that never raise, and open those that are closed.

    Without this, the next file that is opened would take the place of a closed stream.
    """
    register_plain_forms()
    ascii_ = codecs.lookup("ascii")
    renamed = codecs.CodecInfo(
        *ascii_, ascii_.incrementalencoder, ascii_.incrementaldecoder, name=_ASCII
    )
    codecs.register(lambda name: renamed if name in (_ASCII, _ASCII.replace("-", "_")) else None)
    opened = []
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            # In this order each gets the descriptor that it lacks. Writing to a file that is open
            # for reading fails as writing to a closed one does.
            nothing = os.open(os.devnull, os.O_RDONLY)
            opened.append(open(nothing, encoding="utf-8", closefd=False))  # noqa: SIM115
            setattr(sys, name, opened[-1])
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream in opened:
            raw: Any = io.FileIO(stream.fileno(), "w", closefd=False)
        elif stream is getattr(sys, f"__{name}__"):
            raw = getattr(stream.buffer, "raw", stream.buffer)
        else:
            continue  # a test's, or a program's that calls this one
        output = _outputs[name] = _LastingOutput(raw)
        encoding = _ASCII if codecs.lookup(stream.encoding).name == "ascii" else stream.encoding
        text_stream = _RunnersLog if is_runner() else io.TextIOWrapper
        lasting = text_stream(
            io.BufferedWriter(output),
            encoding,
            "plain",
            line_buffering=name == "stderr" or output.isatty(),
        )
        setattr(sys, name, lasting)


def make_lasting_for_screens() -> None:
    """Do the same for the interpreter's own streams, to which Textual paints; on stdout if stderr
    is no terminal.
    """
    assert sys.__stdout__ is not None
    if sys.__stderr__ is None or not sys.__stderr__.isatty():
        sys.__stderr__ = sys.__stdout__  # type: ignore[misc]
    for stream in (sys.__stdout__, sys.__stderr__):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="plain-cells")


def writes_unicode() -> bool:
    """Return whether stdout takes every character."""
    return codecs.lookup(sys.stdout.encoding or "utf-8").name.startswith("utf")


def keep_exit_code() -> None:
    """State that the result is also in a file: the exit code holds, even if stdout is lost."""
    global _needs_stdout
    _needs_stdout = False


def needs_stdout() -> bool:
    """Return whether a command has failed if its stdout is lost."""
    return _needs_stdout


def lost_stdout() -> OSError | None:
    """Return why what was printed did not arrive; None if it did, or if its reader had read enough
    (`… | head`).
    """
    sys.stdout.flush()
    if "stdout" not in _outputs:
        return None
    lost = _outputs["stdout"].lost
    if lost is None or lost.errno == errno.EPIPE:
        return None
    if lost.errno == errno.EBADF:
        return OSError(errno.EBADF, "it is closed")
    return lost


def draws_unicode() -> bool:
    """Return whether the stream to which Textual paints takes every character."""
    encoding = getattr(sys.__stderr__, "encoding", None) or "utf-8"
    return codecs.lookup(encoding).name.startswith("utf")


PLAIN = "BIOEVAL_PLAIN"
"""The variable that asks for lines of text, for screen readers and logs; `--plain` sets it."""


def is_plain() -> bool:
    """Return whether output is lines of text, without signs, columns, boxes or screens."""
    return os.environ.get(PLAIN, "") not in ("", "0")


def has_screen() -> bool:
    """Return whether a screen can be shown: there is a terminal that draws, and nobody asked for
    plain lines.
    """
    return sys.stdin.isatty() and sys.stdout.isatty() and not is_plain() and not is_dumb()


def is_dumb() -> bool:
    """Return whether the terminal says of itself that it only prints lines."""
    return os.environ.get("TERM") == "dumb"

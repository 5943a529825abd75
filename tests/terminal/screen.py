"""The program in a real terminal: send keys, and read what a person would see."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pyte

from tests.integration.program import environment
from tests.terminals import LONGEST_S, Terminal

LEFT = b"\x1b[?1049l"
"""The sequence that gives the terminal back as it was: what follows is printed by the command line.
"""


ESCAPE = "\x1b"
KEYS_OF_A_SCREEN = "0…5 screens"


class Screen(Terminal):
    """A command of the program in a terminal; `text` is what its screen shows now."""

    def __init__(
        self,
        *arguments: str,
        data_dir: Path,
        columns: int = 140,
        rows: int = 40,
        before: str = "",
        **settings: str,
    ) -> None:
        self._screen = pyte.Screen(columns, rows)
        self._stream = pyte.ByteStream(self._screen)
        self._text: str | None = None
        looks = {"TERM": "xterm-256color", "COLORTERM": "truecolor", "TEXTUAL_ANIMATIONS": "none"}
        command = [sys.executable, "-m", "bioeval_tui", *arguments]
        settings = {**environment(data_dir), **looks, **settings}
        super().__init__(
            command, settings, folder=data_dir, columns=columns, rows=rows, before=before
        )

    def read(self, longest_s: float) -> bytes | None:
        """Read what is written next, and draw it."""
        piece = super().read(longest_s)
        if piece:
            self._stream.feed(piece)
            self._text = None
        return piece

    @property
    def text(self) -> str:
        """What the screen shows, line by line; putting it together takes longer than most looks at
        it.
        """
        if self._text is None:
            self._text = "\n".join(line.rstrip() for line in self._screen.display)
        return self._text

    @property
    def printed(self) -> str:
        """What was printed after the screen was left."""
        _, left, after = self.written.rpartition(LEFT)
        return after.decode().replace("\r\n", "\n") if left else ""

    def sees(self, *words: str, without: str = "\0") -> None:
        """Wait until the screen shows all these words, and no `without`."""
        end = time.monotonic() + LONGEST_S
        while not all(some in self.text for some in words) or without in self.text:
            if self.read(0.1) is None or time.monotonic() > end:
                raise AssertionError(f"not shown: {words}\n{self.text}\n{self.printed}")

    def types(self, keys: str, *words: str) -> None:
        """Press keys, then wait until the screen shows all these words."""
        self.press(keys.encode())
        self.sees(*words)

    def opens_box(self, keys: str, *words: str) -> None:
        """Press keys, then wait until a box shows all these words; behind a box no keys of the
        screen are named.
        """
        self.press(keys.encode())
        self.sees(*words, without=KEYS_OF_A_SCREEN)

    def closes_box(self) -> None:
        """Press escape, then wait until the keys of the screen below are named again."""
        self.types(ESCAPE, KEYS_OF_A_SCREEN)

    def clicks(self, words: str) -> None:
        """Click on the first of these words."""
        row, line = next(
            (at, line) for at, line in enumerate(self.text.split("\n")) if words in line
        )
        place = f"{line.index(words) + 1};{row + 1}"
        self.press(f"\x1b[<0;{place}M\x1b[<0;{place}m".encode())

    def clicks_until(self, words: str, shown: str) -> None:
        """Click on the first of `words`, again each second, until `shown` is on the screen.

        A screen that a box has just left may take the focus back from what is clicked at that
        moment.
        """
        end = time.monotonic() + LONGEST_S
        while shown not in self.text:
            self.sees(words)
            self.clicks(words)
            again = time.monotonic() + 1
            while shown not in self.text and time.monotonic() < again:
                if self.read(0.1) is None or time.monotonic() > end:
                    raise AssertionError(f"not shown: {shown}\n{self.text}\n{self.printed}")

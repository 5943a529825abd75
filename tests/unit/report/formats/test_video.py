"""Films of screens, drawn cell by cell in the screen's colours; without ffmpeg, one sentence."""

from __future__ import annotations

from pathlib import Path

import imageio_ffmpeg
import pytest
from rich.style import Style

from bioeval_tui.errors import UsageError
from bioeval_tui.report.formats import replays
from bioeval_tui.report.formats.replays import Alphabet, Glyph, write_video

RED, PLAIN = Style.parse("rgb(255,0,0) on rgb(0,0,255)"), Style()


def test_a_frame_draws_each_cell_in_its_two_colours() -> None:
    # A cell of 2 × 1 pixels: one in the colour of the text, one in that of the background.
    alphabet = Alphabet(2, 1, {Glyph(text): [b"\xff\x00"] for text in "a "})
    picture = replays._Frames(alphabet).picture([(("a", RED), ("a", RED + Style(reverse=True)))])
    assert picture == b"P6 4 1 255\n" + bytes([255, 0, 0, 0, 0, 255, 0, 0, 255, 255, 0, 0])


def test_wide_characters_take_two_cells_and_combining_ones_none() -> None:
    cells = [glyph.text for glyph, _ in replays._cells((("漢e\u0301", PLAIN),))]
    assert cells == ["漢", " ", "e"]


def test_without_ffmpeg_one_sentence_says_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageError, match="--gif and --mp4 need ffmpeg, which is not installed"):
        write_video(tmp_path / "a.gif", "gif", [(0.0, "", ((("a", PLAIN),),))], 1.0)


def test_a_gif_can_be_made_with_any_characters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "ffmpeg").symlink_to(imageio_ffmpeg.get_ffmpeg_exe())
    monkeypatch.setenv("PATH", str(tmp_path))
    frames = [(float(at), "", ((("{\\pos} │█ é", RED), (str(at), PLAIN)),)) for at in range(2)]
    write_video(tmp_path / "a.gif", "gif", frames, 1.0)
    data = (tmp_path / "a.gif").read_bytes()
    assert data[:6] == b"GIF89a"
    assert int.from_bytes(data[6:8], "little") % len("{\\pos} │█ é0") == 0

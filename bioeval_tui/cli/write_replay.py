"""Writes the replay of a recorded run to a file: an asciicast, or a page that plays offline."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from pathlib import Path

from bioeval_tui.base.errors import ExitCode, UsageError
from bioeval_tui.base.files import write_private
from bioeval_tui.base.settings import Settings
from bioeval_tui.base.terminal import say
from bioeval_tui.base.text import clean_line
from bioeval_tui.record.catalogue import find_recording
from bioeval_tui.record.replay import reading_times, replay_times
from bioeval_tui.report.result import load_run
from bioeval_tui.tui.app import BioevalApp
from bioeval_tui.tui.casting import asciicast, player, replay_frames
from bioeval_tui.tui.data.services import AppServices

LEAST, MOST = (40, 12), (300, 100)


def write_replay(
    settings: Settings,
    run: str,
    files: Mapping[str, Path],
    *,
    size: str,
    theme: str,
    times: str,
) -> int:
    """Write the replay of a recording to these files, by kind: `cast` or `html`.

    Raises:
        UsageError: the size or theme is invalid, or a file cannot be written.
    """
    cells = _size(size)
    # These have started nothing that must be closed before the frames are made.
    services = AppServices(settings, writes=False)
    # Only an application knows which themes Textual adds to the program's own.
    known = BioevalApp(services, "runs").theme_names
    if theme not in known:
        raise UsageError(
            f"--theme {clean_line(theme, 60)}: unknown theme; choose {', '.join(known)}"
        )
    for file in files.values():
        if not file.absolute().parent.is_dir():
            raise UsageError(
                f"{file}: cannot be written: there is no folder {file.absolute().parent}"
            )
    path = find_recording(run, settings.runs_dir)
    loaded = load_run(path)
    times_of_events = replay_times if times == "recorded" else reading_times
    try:
        frames = asyncio.run(replay_frames(path, services, cells, theme, times_of_events))
    finally:
        services.close()
    job, sentence = loaded.brief.job, loaded.answer.what_and_why
    for kind, file in files.items():
        if kind == "cast":
            write_private(file, asciicast(frames, cells, f"{job}: {sentence}"))
        else:
            write_private(file, player(frames, job, sentence))
        say(f"wrote {clean_line(str(file), 300)}", err=True)
    return ExitCode.OK


def _size(text: str) -> tuple[int, int]:
    match = re.fullmatch(r"(\d{1,4})x(\d{1,4})", text.strip())
    size = (int(match[1]), int(match[2])) if match else (0, 0)
    if not all(low <= value <= high for low, value, high in zip(LEAST, size, MOST, strict=True)):
        raise UsageError(
            f"--size {clean_line(text, 40)}: use columns x rows, such as 120x40, "
            f"from {LEAST[0]}x{LEAST[1]} to {MOST[0]}x{MOST[1]}"
        )
    return size

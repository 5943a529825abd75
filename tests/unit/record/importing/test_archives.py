"""Zip files that are damaged, encrypted or of a kind that nobody can read: one sentence each,
whichever reader gets them.
"""

from __future__ import annotations

import contextlib
import io
import json
import struct
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from bioeval_tui.base.archives import ArchiveError, open_archive
from bioeval_tui.base.errors import BioevalError, ExitCode
from bioeval_tui.report.result import load_run
from tests.command import call
from tests.documents import document_of
from tests.unit.report.recorded import GOLDEN

LOG: bytes = document_of("inspect", load_run(GOLDEN), output=Path("log.eval"))
HEADER, SAMPLE = (
    "header.json",
    next(name for name in zipfile.ZipFile(io.BytesIO(LOG)).namelist() if "samples/" in name),
)
LOCAL, CENTRAL = b"PK\x03\x04", b"PK\x01\x02"


def rewritten(
    method: int = zipfile.ZIP_STORED,
    change: Callable[[str, bytes], bytes] = lambda name, data: data,
) -> bytes:
    """Return the log with its members packed or changed otherwise."""
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(LOG)) as log, zipfile.ZipFile(file, "w", method) as made:
        for name in log.namelist():
            made.writestr(name, change(name, log.read(name)))
    return file.getvalue()


def patched(member: str, local: int, central: int, value: int, data: bytes = b"") -> bytes:
    """Return the log with a 16-bit field of both headers of a member replaced; `local` and
    `central` are its places.
    """
    made = bytearray(data or rewritten())
    for begin, name_at, field in ((LOCAL, 30, local), (CENTRAL, 46, central)):
        at = made.find(begin)
        while made[at + name_at :].startswith(member.encode()) is False:
            at = made.index(begin, at + 1)
        struct.pack_into("<H", made, at + field, value)
    return bytes(made)


def flags(member: str, value: int) -> bytes:
    return patched(member, 6, 8, value)


def method(member: str, value: int) -> bytes:
    return patched(member, 8, 10, value)


def first_byte_changed(member: str, data: bytes) -> bytes:
    made = bytearray(data)
    at = made.find(member.encode()) + len(member)
    made[at + 40] ^= 0xFF
    return bytes(made)


def damaged_stream(kind: int) -> bytes:
    return first_byte_changed(SAMPLE, rewritten(kind))


NAMED = {
    "encrypted header": (flags(HEADER, 0x1), f"{HEADER} is encrypted; save it without a password"),
    "encrypted sample": (flags(SAMPLE, 0x1), f"{SAMPLE} is encrypted"),
    "strong encryption": (flags(HEADER, 0x41), f"{HEADER} is encrypted"),
    "patched data": (flags(HEADER, 0x20), f"{HEADER} cannot be read here"),
    "deflate64": (method(HEADER, 9), f"{HEADER} cannot be read here"),
    "PPMd": (method(SAMPLE, 98), f"{SAMPLE} cannot be read here"),
    "shrink": (method(HEADER, 1), f"{HEADER} cannot be read here"),
    "not deflated": (method(HEADER, 8), f"{HEADER} is damaged"),
    "not bzip2": (method(HEADER, 12), f"{HEADER} is damaged"),
    "not LZMA": (method(SAMPLE, 14), f"{SAMPLE} is damaged"),
    "not Zstandard": (method(SAMPLE, 93), f"{SAMPLE} is damaged"),
    "another byte": (first_byte_changed(HEADER, rewritten()),
        f"{HEADER} is damaged or incomplete (Bad CRC-32"),
    "deflated, damaged": (damaged_stream(zipfile.ZIP_DEFLATED), f"{SAMPLE} is damaged"),
    "bzip2, damaged": (damaged_stream(zipfile.ZIP_BZIP2), f"{SAMPLE} is damaged"),
    "LZMA, damaged": (damaged_stream(zipfile.ZIP_LZMA), f"{SAMPLE} is damaged"),
    "a zip in it": (rewritten(change=lambda name, data: LOG if name == HEADER else data),
        f"{HEADER} cannot be read"),
    "a zip as a sample": (rewritten(change=lambda name, data: LOG if name == SAMPLE else data),
        f"{SAMPLE} cannot be read"),
    "a list as header": (rewritten(change=lambda name, data: b"[]" if name == HEADER else data),
        f"{HEADER} is not a JSON object"),
    "newer version": (patched(HEADER, 4, 6, 99), "the zip file cannot be read here"),
    "no directory": (LOG[: LOG.index(CENTRAL)], "the zip file is damaged or incomplete"),
    "half a directory": (LOG[: LOG.rindex(CENTRAL) + 20], "the zip file is damaged or incomplete"),
    "half an end": (LOG[:-10], "the zip file is damaged or incomplete"),
    "only its first bytes": (LOG[:30], "the zip file is damaged or incomplete"),
    "an end elsewhere": (LOG[: LOG.index(CENTRAL)] + LOG[-22:],
        "the zip file is damaged or incomplete"),
}  # fmt: skip


@pytest.mark.parametrize("what", NAMED)
def test_a_zip_that_cannot_be_read_is_one_sentence_that_names_the_member(
    what: str, tmp_path: Path
) -> None:
    data, sentence = NAMED[what]
    file = tmp_path / "log.eval"
    file.write_bytes(data)
    for options in ((), ("--format", "inspect")):
        error = call(
            "runs", "import", file, *options, env={"BIOEVAL_DATA_DIR": str(tmp_path)}
        ).exception
        assert isinstance(error, BioevalError), (options, error)
        assert error.exit_code == ExitCode.BAD_INPUT
        assert str(error).startswith(f"{file}: {sentence}"), (options, error)
        assert "\n" not in str(error)
    assert not [path for path in (tmp_path / "runs").iterdir() if path.suffix == ".jsonl"]


MOST_BLANKS = 1 << 24


def blanks_of(count: int) -> dict[str, bytes]:
    """Return the log with so many blanks in its sample, at each place where JSON allows them
    between values.
    """
    white = (b" \t\r\n" * (count // 4 + 1))[:count]
    places: dict[str, Callable[[bytes], bytes]] = {
        "before": lambda data: white + data,
        "after": lambda data: data + white,
        "before a key": lambda data: b"{" + white + data.lstrip()[1:],
        "in two places": lambda data: white[: count // 2] + data + white[count // 2 :],
        "before an item": lambda data: b'{"events": [' + white + b"1], " + data.lstrip()[1:],
    }
    return {
        name: rewritten(
            zipfile.ZIP_DEFLATED,
            lambda member, data, place=place: place(data) if member == SAMPLE else data,
        )
        for name, place in places.items()
    }


def test_a_small_zip_that_unpacks_to_blanks_is_one_sentence(tmp_path: Path) -> None:
    file = tmp_path / "log.eval"
    for place, data in blanks_of(MOST_BLANKS + 100).items():
        file.write_bytes(data)
        error = call("runs", "import", file, env={"BIOEVAL_DATA_DIR": str(tmp_path)}).exception
        assert isinstance(error, BioevalError), (place, error)
        assert str(error).startswith(f"{file}: {SAMPLE} cannot be read"), (place, error)
        assert str(error).endswith(f"more than {MOST_BLANKS:,} blanks between values"), (
            place,
            error,
        )
    for place, data in blanks_of(MOST_BLANKS - 1000).items():
        file.write_bytes(data)
        done = call("runs", "import", file, env={"BIOEVAL_DATA_DIR": str(tmp_path)})
        assert done.return_value == ExitCode.OK, (place, done.exception)


MOST_UNPACKED = 1_000_000_000


def log_of_samples(told: list[int], *, more: int = 0) -> bytes:
    """Return a log of which the zip says that its samples have so many bytes; `more` bytes of a
    member are not packed.
    """
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(LOG)) as log, zipfile.ZipFile(file, "w") as made:
        made.writestr(HEADER, log.read(HEADER))
        for number in range(len(told)):
            made.writestr(f"samples/{number}.json", log.read(SAMPLE))
        made.writestr("more", b"x" * more)
        for number, size in enumerate(told):
            made.getinfo(f"samples/{number}.json").file_size = size
    return file.getvalue()


def test_samples_that_are_too_large_together_are_one_sentence_before_any_is_read(
    tmp_path: Path,
) -> None:
    file = tmp_path / "log.eval"

    def said(told: list[int], more: int = 0) -> str:
        file.write_bytes(log_of_samples(told, more=more))
        done = call("runs", "import", file, env={"BIOEVAL_DATA_DIR": str(tmp_path)})
        if done.exception is None:
            return f"{done.return_value}"
        assert isinstance(done.exception, BioevalError), done.exception
        assert done.exception.exit_code == ExitCode.BAD_INPUT
        return str(done.exception)

    each = MOST_UNPACKED // 100
    packed = len(log_of_samples([each] * 100))
    assert (
        said([each] * 99 + [each + 1])
        == f"{file}: its samples unpack to 1,000,000,001 bytes; at most 1,000,000,000 are read of a"
        f" zip of {packed:,}; split the log"
    )
    assert said([each] * 100) == f"{ExitCode.OK}"
    large = 10_000_000
    whole = len(log_of_samples([each] * 2, more=large))
    assert f"at most {100 * whole:,} are read" in said([each, 100 * whole - each + 1], large)
    assert said([each, 100 * whole - each], large) == f"{ExitCode.OK}"


def test_no_sample_is_read_beyond_the_size_that_the_zip_says(tmp_path: Path) -> None:
    file = tmp_path / "log.eval"
    file.write_bytes(log_of_samples([100]))
    error = call("runs", "import", file, env={"BIOEVAL_DATA_DIR": str(tmp_path)}).exception
    assert str(error).startswith(f"{file}: samples/0.json ")


@pytest.mark.parametrize("member", [HEADER, SAMPLE])
def test_a_log_that_is_nested_too_deep_is_one_sentence(member: str, tmp_path: Path) -> None:
    file = tmp_path / "log.eval"
    for depth, refused in ((64, False), (65, True), (900, True), (100_000, True)):
        more = b'{"metadata_": {"a": ' + b"[" * (depth - 1) + b"]" * (depth - 1) + b"}, "
        if member == HEADER:  # which is one document
            more = more.replace(b'{"a": [', b"[").replace(b"]}", b"]")
        file.write_bytes(
            rewritten(
                change=lambda name, data, m=more: m + data.lstrip()[1:] if name == member else data
            )
        )
        done = call("runs", "import", file, env={"BIOEVAL_DATA_DIR": str(tmp_path)})
        if refused:
            assert isinstance(done.exception, BioevalError), (depth, done.exception)
            assert str(done.exception).endswith("nested too deeply; use at most 64 levels")
        else:
            assert done.return_value == ExitCode.OK, (depth, done.exception)


@pytest.mark.parametrize(
    "kind", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA]
)
def test_a_log_is_read_with_every_compression_that_python_has(kind: int, tmp_path: Path) -> None:
    file = tmp_path / "log.eval"
    file.write_bytes(rewritten(kind))
    done = call(
        "runs", "import", file, env={"BIOEVAL_DATA_DIR": str(tmp_path)}, catch_exceptions=False
    )
    assert done.return_value == ExitCode.OK


@pytest.mark.parametrize("kind", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA])
def test_wherever_a_zip_is_cut_or_changed_it_is_read_or_one_sentence(
    kind: int, tmp_path: Path
) -> None:
    whole, file = rewritten(kind), tmp_path / "log.zip"
    cut = [whole[:size] for size in range(0, len(whole), max(1, len(whole) // 60))]
    places = [
        *range(0, len(whole), max(1, len(whole) // 60)),
        *range(whole.index(CENTRAL), len(whole), 7),
    ]
    changed = [whole[:at] + bytes([whole[at] ^ 0xA5]) + whole[at + 1 :] for at in places]
    for data in (*cut, *changed):
        file.write_bytes(data)
        with (
            contextlib.suppress(ArchiveError),
            warnings.catch_warnings(),
            open_archive(file) as archive,
        ):
            warnings.simplefilter("ignore")  # of names that stand twice
            for name in archive.names:
                archive.read(name)


def test_other_importers_refuse_a_zip_in_one_sentence(tmp_path: Path) -> None:
    file = tmp_path / "log.zip"
    for data in (LOG, NAMED["encrypted header"][0], NAMED["no directory"][0]):
        file.write_bytes(data)
        for name in (
            "openai-jsonl",
            "transcripts",
            "tau2",
            "tau-bench",
            "atif",
            "symptomcheck",
            "bioeval-tui",
        ):
            done = call(
                "runs", "import", file, "--format", name, env={"BIOEVAL_DATA_DIR": str(tmp_path)}
            )
            assert isinstance(done.exception, BioevalError), (name, done.exception)
            assert done.exception.exit_code == ExitCode.BAD_INPUT


def test_the_damage_in_these_files_is_such_as_python_itself_meets() -> None:
    kinds = set()
    for data, _ in NAMED.values():
        try:
            with zipfile.ZipFile(io.BytesIO(data)) as log:
                for name in log.namelist():
                    json.loads(log.read(name))
        except Exception as error:
            kinds.add(type(error))
    assert len(kinds) > 5, kinds
    assert {zipfile.BadZipFile, RuntimeError, NotImplementedError} <= kinds

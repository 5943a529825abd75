"""Reference ranges for people, measured by `realism.manner_of` on published human conversations.

Figures alone are shipped, no text. `scripts/realism-reference` measures them again.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import fmean

from bioeval_tui.report.statistics.latency import percentile
from bioeval_tui.report.statistics.realism import UserTranscript, manner_of


@dataclass(frozen=True, slots=True)
class Band:
    """The mean over conversations, and the range of the middle 90 % of conversations."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class RealismReference:
    """Ranges of one published data set, by the names of `Realism`'s fields. Unknown ones are missing."""

    name: str
    source: str
    licence: str
    conversations: int
    about: str
    bands: dict[str, Band]


REFERENCES = (
    RealismReference(
        name="PriMock57",
        source="Papadopoulos Korfiatis et al., PriMock57: A Dataset Of Primary Care Mock Consultations, ACL 2022;"
        " github.com/babylonhealth/primock57 at cd2ac70",
        licence="CC BY 4.0",
        conversations=57,
        about="people playing patients, with clinicians, over a video call: spoken, so with many short turns",
        bands={
            "words_per_turn": Band(12.7229, 5.3878, 26.9038),
            "questions": Band(0.0599, 0.0, 0.1667),
            "hedges": Band(2.8001, 0.8333, 5.0388),
            "repetition": Band(0.0388, 0.0116, 0.0927),
            "out_of_role": Band(0.0, 0.0, 0.0),
        },
    ),
)
"""Ranges of conversations between people, which have no list of facts, so the first answer cannot be compared."""


def bands(transcripts: Iterable[UserTranscript]) -> dict[str, Band]:
    """Return the bands of conversations: each gives the mean of its turns."""
    manners = [manner_of(transcript) for transcript in transcripts]
    found = {}
    for name in ("words", "facts_in_first_answer", "questions", "hedges", "repetition", "out_of_role"):
        values = [fmean(each) for manner in manners if (each := getattr(manner, name))]
        low, high = percentile(values, 0.05), percentile(values, 0.95)
        if low is not None and high is not None:
            field = "words_per_turn" if name == "words" else name
            found[field] = Band(round(fmean(values), 4), round(low, 4), round(high, 4))
    return found

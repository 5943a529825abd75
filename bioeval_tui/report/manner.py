"""How the simulated user speaks compared with people, by condition, without a model.

Every figure is a mean with a 95 % interval that is clustered by conversation, from ten
conversations on. They only describe. To judge whether a user is like people, compare with the
figures of people (`REFERENCES`), measured in the same way on published conversations. Figures alone
are shipped, no text; `scripts/realism-reference` measures them again.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass
from math import inf
from random import Random
from typing import Any

from bioeval_tui.base.units import number1, share
from bioeval_tui.languages import language_of
from bioeval_tui.languages.english import ENGLISH
from bioeval_tui.record.cases import job_part
from bioeval_tui.record.condition_names import Condition
from bioeval_tui.record.events import ROLE_RULES
from bioeval_tui.report.findings import MannerBasis
from bioeval_tui.report.run import ConversationResult, RecordedRun, each_conversation
from bioeval_tui.report.sentences import sentence
from bioeval_tui.report.summary import condition_title, scored_conditions
from bioeval_tui.statistics.intervals import (
    FEWEST_UNITS,
    UNIT,
    Interval,
    ends,
    kept_interval,
    mean_of,
)

_HEDGES = (
    "a bit", "almost", "apparently", "approximately", "could be", "fairly", "guess", "hard to say",
    "i believe",
    "i feel like", "i suppose", "i think", "kind of", "kinda", "likely", "maybe", "might",
    "more or less", "mostly",
    "not certain", "not really sure", "not sure", "or so", "or something", "perhaps", "possibly",
    "presumably",
    "probably", "roughly", "seem", "seemed", "seems", "somehow", "something like", "somewhat",
    "sort of", "sorta",
    "unsure",
)  # fmt: skip
"""Hedges of Hyland, Metadiscourse (2005), that occur in speech, and their spoken forms.

Words that hedge only now and then ("about", "may", "quite") are not among them.
"""

HEDGE = re.compile(
    r"\b(?:" + "|".join(map(re.escape, sorted(_HEDGES, key=len, reverse=True))) + r")\b"
)

STOP_WORDS: Collection[str] = frozenset(
    re.findall(
        r"\w+",
        """a about after all also an and any are as at be been but by can did do does for from had
        has have he her his i if in into is it its just me my no not of on or our out she so
        some such than that the their them then there these they this to up was we were what
        when which who will with would you your""",
    )
)
"""Words without information about a fact."""


RATES = frozenset({"words_per_turn", "hedges"})
"""Figures that are no shares."""
MOST_MEASURED = 150
"""How many conversations of a condition are read at most."""
TOLD = 0.5
"""A fact counts as given if the message has at least this share of its content words."""

_WORD = re.compile(r"[^\W_]+(?:['’.-][^\W_]+)*")
_LABEL = re.compile(r"^\s*[*_]{0,2}([^\W\d_][^:\n*]{0,30}?)[*_]{0,2}:[*_]{0,2}\s+")


@dataclass(frozen=True, slots=True)
class UserTranscript:
    """One conversation: (role, text) in order, the user's facts, and names that occur.

    `names` are counted as one word each, whatever they are. `out_of_role` are the places (from 0)
    in `messages` that the guards found out of role; None if nobody looked.
    """

    messages: Sequence[tuple[str, str]]
    facts: Sequence[str] = ()
    names: Sequence[str] = ()
    out_of_role: Collection[int] | None = None


@dataclass(frozen=True, slots=True)
class Measure:
    """One figure over all conversations; None where nothing could be measured."""

    value: float | None
    interval: Interval | None
    conversations: int


@dataclass(frozen=True, slots=True)
class Realism:
    """How the simulated user speaks."""

    words_per_turn: Measure
    facts_in_first_answer: Measure
    """The share of the facts that the first message tells."""

    questions: Measure
    """The share of turns with a question."""

    hedges: Measure
    """Hedges per 100 words."""

    repetition: Measure
    """The share of three-word phrases that the user has used before in the same conversation."""

    out_of_role: Measure
    """The share of turns that the guards found out of role: as a model or a helper, or of its
    script.
    """


def realism(transcripts: Iterable[UserTranscript]) -> Realism:
    """Return how the user speaks. Other roles and speaker names are ignored."""
    manners = [user_manner(transcript) for transcript in transcripts]
    values = {name: [one.get(name, ()) for one in manners] for name in Realism.__slots__}
    return Realism(
        **{name: _measure(each, share=name not in RATES) for name, each in values.items()}
    )


def user_manner(transcript: UserTranscript) -> dict[str, tuple[float, ...]]:
    """Return the figures of one conversation by name: a value per turn, or one in total; without
    what is not measurable.
    """
    texts = [text for speaker, text in transcript.messages if speaker == "user"]
    turns = [_plain(text, transcript.names) for text in _unlabelled(texts) if text.strip()]
    words = [_WORD.findall(turn) for turn in turns]
    total = sum(map(len, words))
    if not total:
        return {}
    trigrams = [[tuple(each[i : i + 3]) for i in range(len(each) - 2)] for each in words]
    facts = [_content(_plain(fact, transcript.names)) for fact in transcript.facts]
    facts = [fact for fact in facts if fact]
    first = _content(turns[0])
    told: tuple[float, ...] = ()
    if facts:
        told = (sum(len(fact & first) >= TOLD * len(fact) for fact in facts) / len(facts),)
    return {
        "words_per_turn": tuple(float(len(each)) for each in words),
        "facts_in_first_answer": told,
        "questions": tuple(float("?" in turn) for turn in turns),
        "hedges": (100 * sum(len(HEDGE.findall(turn)) for turn in turns) / total,),
        "repetition": tuple(_repetition(trigrams)),
        "out_of_role": tuple(_faults(transcript)),
    }


def _faults(transcript: UserTranscript) -> Iterator[float]:
    """Yield for each turn whether it is out of role; nothing if nobody looked."""
    if transcript.out_of_role is None:
        return
    places = [place for place, (speaker, _) in enumerate(transcript.messages) if speaker == "user"]
    texts = _unlabelled([transcript.messages[place][1] for place in places])
    for place, text in zip(places, texts, strict=True):
        if text.strip():
            yield float(place in transcript.out_of_role)


def _repetition(turns: Sequence[Sequence[tuple[str, ...]]]) -> Iterator[float]:
    """Yield the share of phrases after the first turn that occur in an earlier turn."""
    seen: set[tuple[str, ...]] = set(turns[0])
    again = total = 0
    for phrases in turns[1:]:
        again += sum(phrase in seen for phrase in phrases)
        total += len(phrases)
        seen.update(phrases)
    if total:
        yield again / total


def _unlabelled(turns: Sequence[str]) -> Iterator[str]:
    """Yield the turns without the speaker's name, where most of them begin with the same
    `Name:`.
    """
    labels = [match.group(1) if (match := _LABEL.match(turn)) else "" for turn in turns]
    usual = max(set(labels), key=labels.count, default="")
    strip = bool(usual) and 2 * labels.count(usual) > len(labels)
    for turn, label in zip(turns, labels, strict=True):
        yield _LABEL.sub("", turn, count=1) if strip and label == usual else turn


def _plain(text: str, names: Sequence[str]) -> str:
    for name in sorted(filter(None, names), key=len, reverse=True):
        text = re.sub(rf"\b{re.escape(name)}\b", "somebody", text, flags=re.IGNORECASE)
    return text.lower().replace("’", "'")


def _content(text: str) -> frozenset[str]:
    """Return the content words, without common endings."""
    words = (word for word in _WORD.findall(text) if word not in STOP_WORDS)
    return frozenset(
        re.sub(r"(?:'s|ing|ed|es|s)$", "", word) if len(word) > 4 else word for word in words
    )


def _measure(values: Sequence[tuple[float, ...]], *, share: bool = True) -> Measure:
    groups = dict(enumerate(values))
    measured = mean_of(groups, UNIT if share else (0.0, inf), unit="conversation")
    if measured:
        return Measure(measured.value, measured.interval, measured.units)
    return Measure(None, None, 0)


@dataclass(frozen=True, slots=True)
class Band:
    """The mean over conversations, and the range of the middle 90 % of conversations."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class RealismReference:
    """Ranges of one published data set, by the names of `Realism`'s fields.

    Unknown ones are missing.
    """

    name: str
    source: str
    licence: str
    conversations: int
    about: str
    bands: dict[str, Band]


REFERENCES = (
    RealismReference(
        name="PriMock57",
        source=(
            "Papadopoulos Korfiatis et al., PriMock57: A Dataset Of Primary Care Mock"
            " Consultations, ACL 2022; github.com/babylonhealth/primock57 at cd2ac70"
        ),
        licence="CC BY 4.0",
        conversations=57,
        about=(
            "people playing patients, with clinicians, over a video call: spoken, so with many"
            " short turns"
        ),
        bands={
            "words_per_turn": Band(12.7229, 5.3878, 26.9038),
            "questions": Band(0.0599, 0.0, 0.1667),
            "hedges": Band(2.8001, 0.8333, 5.0388),
            "repetition": Band(0.0388, 0.0116, 0.0927),
            "out_of_role": Band(0.0003, 0.0, 0.0),
        },
    ),
)
"""Ranges of conversations between people, which have no list of facts, so the first answer cannot
be compared.
"""


LABELS = {
    "words_per_turn": "words per turn",
    "facts_in_first_answer": "facts given in the first answer",
    "questions": "turns with a question",
    "hedges": "hedges per 100 words",
    "repetition": "repeated phrases",
    "out_of_role": "turns out of role",
}
SHARES = LABELS.keys() - RATES


@dataclass(frozen=True, slots=True)
class MannerRow:
    """One figure: the measured value, and people's range, if there is one."""

    name: str
    measure: Measure
    band: Band | None

    @property
    def label(self) -> str:
        """The name of the statistic."""
        return LABELS[self.name]

    @property
    def found(self) -> str:
        """Such as `12.6 (12.3 to 12.8)`."""
        if self.measure.value is None:
            if self.name == "out_of_role":
                return "not checked"
            return "–"
        found, interval = self._words(self.measure.value), self.measure.interval
        if interval:
            return f"{found} ({self._words(interval.low)} to {self._words(interval.high)})"
        return found

    @property
    def unlike_words(self) -> str:
        """That it is unlike people's; empty if it is not."""
        if self.unlike:
            return "unlike these people"
        return ""

    @property
    def people(self) -> str:
        """Such as `12.7 (5.4 to 26.9)`."""
        if self.band is None:
            return "not known"
        return (
            f"{self._words(self.band.mean)} ({self._words(self.band.low)} to"
            f" {self._words(self.band.high)})"
        )

    @property
    def unlike(self) -> bool:
        """Whether the whole interval is outside the middle 90 % of people's conversations."""
        interval = self.measure.interval
        return (
            interval is not None
            and self.band is not None
            and (interval.high < self.band.low or interval.low > self.band.high)
        )

    def _words(self, value: float) -> str:
        if self.name in SHARES:
            return share(value, 1)
        return number1(value)


@dataclass(frozen=True, slots=True)
class RunManner:
    """How the user speaks in one condition."""

    condition: Condition
    title: str
    """What the jobs call it, else `without the facts`."""
    user: str
    """What the user is called, such as `the simulated user`."""
    conversations: int
    """How many were measured: those with messages in English, `MOST_MEASURED` at most."""

    held: int
    """How many the condition has."""

    rows: tuple[MannerRow, ...]
    reference: RealismReference

    @property
    def column(self) -> str:
        """The heading of the measured values."""
        if self.conversations >= FEWEST_UNITS:
            return "measured [95 % interval]"
        return "measured"

    @property
    def note(self) -> str:
        """What it is compared with and, with too few conversations, why no value has an
        interval.
        """
        people = self.reference
        return sentence(
            MannerBasis(
                self.conversations,
                self.held,
                FEWEST_UNITS,
                people.name,
                people.licence,
                people.about,
                people.conversations,
            )
        )


def manners(runs: Sequence[RecordedRun]) -> list[RunManner]:
    """Return how the user speaks in each condition; nothing without messages in English,
    or if it follows a script.

    Of more than `MOST_MEASURED` conversations as many are drawn, the same each time.
    """
    made = []
    runs = [run for run in runs if run.kind_of("evaluator") != "scripted"]
    for condition in scored_conditions(runs):
        talks = list(each_conversation(runs, condition))
        if not any(run.started.source is None or talk.user_replies for run, talk in talks):
            continue  # questions on paper, imported with their answers: nobody played a user
        figures = _kept_figures(runs, condition)
        if figures is None:
            transcripts = [_transcript(run, talk) for run, talk in _drawn(talks)]
            figures = realism(filter(_is_english, transcripts))
            _keep_figures(runs, condition, figures)
        if figures.words_per_turn.value is None:
            continue
        measured = figures.words_per_turn.conversations
        title, rows = condition_title(runs, condition), tuple(_rows(figures))
        user = runs[0].user_name
        made.append(RunManner(condition, title, user, measured, len(talks), rows, REFERENCES[0]))
    return made


def _kept_figures(runs: Sequence[RecordedRun], condition: Condition) -> Realism | None:
    """Return the figures that were kept with a single large recording; None without any."""
    if len(runs) != 1 or runs[0].stored is None:
        return None
    kept = runs[0].stored.recall(f"manner {condition}")
    try:
        return kept and Realism(**{name: _kept_measure(*kept[name]) for name in Realism.__slots__})
    except (TypeError, KeyError):
        return None


def _kept_measure(value: float | None, interval: list[Any] | None, talks: int) -> Measure:
    return Measure(value, None if interval is None else kept_interval(interval), talks)


def _keep_figures(runs: Sequence[RecordedRun], condition: Condition, figures: Realism) -> None:
    if len(runs) != 1 or runs[0].stored is None:
        return
    measures = {name: getattr(figures, name) for name in Realism.__slots__}
    runs[0].stored.remember(
        f"manner {condition}",
        {
            name: [one.value, one.interval and astuple(one.interval), one.conversations]
            for name, one in measures.items()
        },
    )


def _drawn(
    talks: Sequence[tuple[RecordedRun, ConversationResult]],
) -> Sequence[tuple[RecordedRun, ConversationResult]]:
    """Return these conversations, or as many of them as are read: guards read each turn again,
    which takes minutes for a published study.
    """
    if len(talks) <= MOST_MEASURED:
        return talks
    drawing = Random(MOST_MEASURED)  # noqa: S311
    places = drawing.sample(range(len(talks)), MOST_MEASURED)
    return [talks[place] for place in sorted(places)]


def _is_english(transcript: UserTranscript) -> bool:
    """Return whether the user speaks English, as far as it can be told: the words and the people
    compared with are English.
    """
    said = "\n".join(text for role, text in transcript.messages if role == "user")
    return language_of(said) in (None, ENGLISH)


def _rows(figures: Realism) -> list[MannerRow]:
    return [
        MannerRow(name, getattr(figures, name), REFERENCES[0].bands.get(name)) for name in LABELS
    ]


def _transcript(run: RecordedRun, talk: ConversationResult) -> UserTranscript:
    """Return the sent messages without the greeting, which is drawn from the job."""
    greeting = run.started.source is None
    sent = [
        message
        for message in talk.messages
        if talk.sent(message) and not (greeting and message.message == 1) and not message.operator
    ]
    messages = [(message.role, message.text) for message in sent]
    facts = talk.case.facts if talk.case is not None else run.state.job.get("facts") or ()
    target = job_part(run.state.job, "target")
    names = {message.speaker for message in talk.messages}
    names |= {str(target[key]) for key in ("user", "chatbot") if target.get(key)}
    known = run.state.condition(talk.condition).known(list(map(str, facts)))
    out: Collection[int] | None
    if not greeting:
        # Imported only for a foreign file, on which no guard ran: it takes a tenth of a second.
        from bioeval_tui.guards import messages_out_of_role

        out = messages_out_of_role(messages)
    elif job_part(run.state.job, "evaluator").get("guards") == "off":
        out = None
    else:
        faulty = {fault.message for fault in talk.user_faults if fault.kind in ROLE_RULES}
        out = [place for place, message in enumerate(sent) if message.message in faulty]
    return UserTranscript(messages, known, tuple(sorted(names - {"user", "agent"})), out)


def manner_dicts(manners_of_run: Sequence[RunManner]) -> dict[str, Any]:
    """Return it for JSON, by condition."""
    return {
        one.condition: {
            "conversations": one.conversations,
            "held": one.held,
            "reference": {
                "name": one.reference.name,
                "source": one.reference.source,
                "licence": one.reference.licence,
            },
            "figures": {
                row.name: {
                    "value": row.measure.value,
                    "interval": ends(row.measure.interval),
                    "people": [row.band.mean, row.band.low, row.band.high] if row.band else None,
                    "unlike_people": row.unlike,
                }
                for row in one.rows
            },
        }
        for one in manners_of_run
    }

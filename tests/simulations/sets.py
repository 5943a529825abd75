"""Constructed result sets and what the program says about them; the first six once had
misleading sentences.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from bioeval_tui.report.answer import Answer
from bioeval_tui.report.comparison import compare
from tests.unit.report.recorded import Recorded, Talk

GOOD, FAILS, BAD = Talk(), Talk(holds=(False,)), Talk(tasks=(0.0,), holds=(False,))
KNOWS = Talk(fact=True)


def _drawn(trials: int, withheld: float, supplied: float, seed: int) -> Recorded:
    """Return trials that pass with these probabilities."""
    random = Random(seed)

    def talk(chance: float, fact: bool) -> Talk:
        passed = random.random() < chance
        return Talk(tasks=(float(passed),), holds=(passed,), fact=fact)

    pairs = [(talk(withheld, False), talk(supplied, True)) for _ in range(trials)]
    return Recorded([one for one, _ in pairs], [two for _, two in pairs])


def _with_placebo(
    trials: int, withheld: float, supplied: float, placebo: float, words: int = 9
) -> Recorded:
    """Return trials that pass with these probabilities; with the facts the user tells ten words,
    with the placebo so many.
    """
    random = Random(f"{trials} {withheld} {supplied} {placebo}")

    def talks(chance: float, told: int, *, fact: bool = False) -> list[Talk]:
        passes = [random.random() < chance for _ in range(trials)]
        return [
            Talk((float(one),), (one,), (500.0, 500.0), told=" ".join(["word"] * told), fact=fact)
            for one in passes
        ]

    return Recorded(
        talks(withheld, 1), talks(supplied, 10, fact=True), placebo=talks(placebo, words)
    )


def _with_fact(talk: Talk) -> Talk:
    return Talk(
        tasks=talk.tasks,
        holds=talk.holds,
        latencies_ms=talk.latencies_ms,
        failures=talk.failures,
        fact=True,
    )


SETS: dict[str, Recorded] = {
    "one trial, the facts help": Recorded([FAILS], [KNOWS]),
    "one trial, the facts hurt": Recorded([GOOD], [_with_fact(FAILS)]),
    "one trial, a small difference": Recorded([Talk(tasks=(0.9,))], [KNOWS]),
    "five trials, 1.00 in all": Recorded([GOOD] * 5, [KNOWS] * 5),
    "five trials, the times alone differ": Recorded(
        [Talk(latencies_ms=(1010.0 + n,)) for n in range(5)],
        [_with_fact(Talk(latencies_ms=(1000.0,)))] * 5,
    ),
    "three trials of a rehearsal with an agent that draws lots": Recorded(
        [FAILS] * 3, [KNOWS] * 3, started={"rehearsal": True, "judge": "rules"}
    ),
    "two trials, opposite": Recorded([FAILS, GOOD], [KNOWS, _with_fact(FAILS)]),
    "three trials, all help": Recorded([BAD] * 3, [KNOWS] * 3),
    "five trials, all help": Recorded([BAD] * 5, [KNOWS] * 5),
    "five trials, chance only": _drawn(5, 0.5, 0.5, 2),
    "ten trials, chance only": _drawn(10, 0.5, 0.5, 3),
    "ten trials, a large effect": _drawn(10, 0.1, 1.0, 4),
    "ten trials, a large harm": _drawn(10, 0.9, 0.1, 5),
    "five trials, never done": Recorded([BAD] * 5, [_with_fact(BAD)] * 5),
    "the agent fails always": Recorded(
        [Talk(tasks=(0.0,), holds=(False,), reason="agent_failed", fault="agent", failures=4)] * 2,
        [
            Talk(
                tasks=(0.0,),
                holds=(False,),
                reason="agent_failed",
                fault="agent",
                failures=4,
                fact=True,
            )
        ]
        * 2,
    ),
    "the agent fails in every second conversation": Recorded(
        [BAD, Talk(reason="agent_failed", fault="agent", failures=4)] * 3, [KNOWS] * 6
    ),
    "not clean": Recorded([BAD] * 5, [KNOWS] * 5, clean=False),
    "one condition, one trial": Recorded(supplied=[KNOWS]),
    "one condition, ten trials": Recorded(supplied=[KNOWS, _with_fact(FAILS)] * 5),
    "fifty cases with one trial each": Recorded([GOOD, FAILS] * 25, [KNOWS] * 50, cases=50),
    "one trial with a placebo": Recorded([BAD], [KNOWS], placebo=[BAD]),
    "ten trials with a placebo, the facts help": _with_placebo(10, 0.1, 0.95, 0.15),
    "ten trials with a placebo, the longer talk helps": _with_placebo(10, 0.05, 0.95, 0.95),
    "thirty trials with a placebo, both help": _with_placebo(30, 0.05, 0.95, 0.5),
    "ten trials with a placebo, chance only": _with_placebo(10, 0.5, 0.5, 0.5),
    "ten trials with a placebo that tells too little": _with_placebo(10, 0.1, 0.95, 0.1, words=5),
    "a placebo that could not be measured": Recorded(
        [BAD] * 5, [KNOWS] * 5, placebo=[Talk(tasks=None)] * 5
    ),
}


def _words(answer: Answer) -> str:
    words = f"{answer.what} Sure: {answer.sure}."
    if answer.control:
        words += f" Facts: {answer.control}."
    return words


def sentences() -> Iterator[tuple[str, str]]:
    """Yield the name of each set, and its answer; of the last one also the comparison with
    itself.
    """
    for name, recorded in SETS.items():
        yield name, _words(recorded.loaded().answer)
    run = Recorded([GOOD], [KNOWS]).loaded(), Recorded([FAILS], [_with_fact(FAILS)]).loaded()
    yield "two runs of one trial each, compared", _words(compare(*run).answer)

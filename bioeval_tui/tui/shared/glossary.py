"""What the signs and words on the screens mean, for the help."""

from __future__ import annotations

SIGNS: tuple[tuple[str, str], ...] = (
    ("✓ ✗", "holds, or passed; does not hold, or failed"),
    ("· ?", "does not hold yet; could not be measured"),
    ("● ◌ ‖", "in progress; has not begun; paused"),
    ("■", "has ended, whatever came out"),
    ("▌ ┃", "the user speaks; the agent speaks"),
    ("▸2 ms", "time to the first text of an answer, beside the time of the whole answer"),
    ("─ ━ │", "an answer's time: until its first text, while it came in, and the target"),
    ("◆", "a fact was given away; in Runs, a mark"),
    ("∿", "what the agent did, as it tells by OpenTelemetry (a span), and how long it took"),
    ("ƒ ← ⚙", "the agent called a function; what it returned; preparations, and what the agent was told"),
    ("↻", "a request was sent again"),
    ("3×", "the weight of an assertion"),
)
WORDS: tuple[tuple[str, str], ...] = (
    ("fact", "something the simulated user may know; the job lists them"),
    ("withheld", "the first condition: the user knows no facts"),
    ("supplied", "the second condition: the user knows the facts, and tells them when asked"),
    ("uplift", "the score with facts supplied minus the score with facts withheld"),
    ("assertion", "a check of the agent's state, made after each turn and at the end"),
    ("score", "timing ×1, tasks ×2 and assertions ×4, minus a penalty for failed requests; 0 to 1"),
    ("mean", "of both conditions, as the published formula has it"),
    ("tone", "how the agent spoke, by the judge; it counts in no score"),
    ("evaluator", "who plays the user: a model, a script, or a person; Socrates unless the job names it"),
    ("sign-off", "the words with which the user ends a conversation"),
    ("judge", "who reads the transcript and scores the tasks: models, or rules"),
    ("rehearsal", "a script plays the user and rules judge: nothing leaves the machine"),
    ("clean", "both conditions began from the same state, so that they can be compared"),
    ("percentile", "the share of a leaderboard's entries that a submission beats"),
    ("digest", "a fingerprint of the agent's state, to tell whether it changed"),
)

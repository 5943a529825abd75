"""Greetings, the agent's introduction, refusals, and the answer to messages it does not understand."""

from __future__ import annotations

import re

from bioeval_tui.sample.agent.turn import DialogueTurn

INTRODUCTION = (
    "I am a small rule-based sample assistant, not a language model or a clinician. I keep track of your reminders and "
    "medications, and I answer questions about a few drugs, targets, interactions, variants and synthetic patients."
)

SYSTEM_PROMPT = (
    "Rule-based sample assistant. Set reminders only with a time zone. Ask if something is missing. Do not change doses, "
    "make diagnoses or touch other users' data. No language model reads this."
)

_WHO = re.compile(
    r"\b(who|what) are you\b|\bare you (?:a|an|real|human|some)\b|what can you do|how can you help|introduce yourself|"
    r"\byour name\b|what do you do\b",
    re.IGNORECASE,
)
_HELLO = re.compile(
    r"^\W*(hello|hi|hey|greetings|yo|good (?:morning|afternoon|evening|day))\b", re.IGNORECASE
)
_THANKS = re.compile(
    r"\b(thanks|thank you|cheers|great|perfect|bye|goodbye|that'?s all|much appreciated)\b", re.IGNORECASE
)

_RULES = re.compile(
    r"\b(ignore|disregard|forget|override|bypass)\b[^.?!]{0,40}\b(rules?|instructions?|guidelines?|prompts?|"
    r"restrictions?|training)\b|\bsystem prompt\b|\bpretend (?:to be|you)|\bjailbreak|\bdeveloper mode\b|"
    r"\byou are now\b",
    re.IGNORECASE,
)
_EVERYBODY = r"every(?:body|one)(?:'s)?|all (?:the )?(?:users?|patients?|people|data|records?)"
_OTHERS = re.compile(
    rf"\b(?:delete|erase|wipe|remove|drop|clear)\b[^.?!]{{0,40}}\b(?:{_EVERYBODY}|(?:the )?(?:whole |entire )?(?:database|graph)|"
    r"(?:other|another|someone else)\b)"
    r"|\bof (?:all |the )?(?:other )?users\b|\b(?:show|list|give|read|export|see|tell)\b[^.?!]{0,40}\b(?:every(?:body|one)(?:'s)|other (?:users?|people|patients?)'?s?|"
    r"another (?:user|person|patient)'?s?|someone else'?s?)\b[^.?!]{0,30}\b(?:data|reminders?|medications?|records?)",
    re.IGNORECASE,
)
_DOSE_CHANGE = re.compile(
    r"\b(double|doubling|halve|halving|triple|increase|raise|lower|reduce|cut|adjust|change|up)\b[^.?!]{0,40}"
    r"\b(doses?|dosage|amount|mg|milligrams?)\b"
    r"|\b(stop|quit|skip|take more|take less|come off|(?:can|may|could) i start)\b[^.?!]{0,30}\b(?:taking|my (?:dose|medication|medicine|pills?))"
    r"|\b(take|taking) (?:more|less|twice as much|double|an extra|two extra)\b"
    r"|\bhow (?:much|many)\b[^.?!]{0,40}\bshould (?:i|he|she|they|we)\b"
    r"|\bwhat (?:dose|dosage)\b[^.?!]{0,30}\bshould\b"
    r"|\bshould i (?:stop|skip|double|increase|reduce|lower|raise|start)\b",
    re.IGNORECASE,
)
_DIAGNOSIS = re.compile(
    r"\bdiagnos(?:e|is) (?:me|my|for me|this)\b|\b(?:can|could|please|would) you\b[^.?!]{0,20}\bdiagnose\b|"
    r"\bdo i have (?:a|an|the|cancer|diabetes|some)\b(?![^.?!]*\b(?:reminders?|medications?|medicines?|list)\b)|\bwhat(?:'s| is) wrong with me\b|"
    r"\bwhat (?:disease|illness|condition) do i have\b|\bam i (?:ill|sick|having)\b|\bmy symptoms\b",
    re.IGNORECASE,
)
_EMERGENCY = re.compile(
    r"\b(overdos(?:e|ed)|chest pain|can'?t breathe|cannot breathe|suicid\w*|kill myself|unconscious|vomiting blood)\b",
    re.IGNORECASE,
)

_REFUSALS = (
    (
        _EMERGENCY,
        "This sounds urgent. I am only a sample assistant: please call your local emergency number, or a poison "
        "centre, now.",
    ),
    (
        _RULES,
        "I can't ignore my rules. They don't let me change doses, make diagnoses or touch other people's data.",
    ),
    (
        _OTHERS,
        "I can't do that: I only read and change your own reminders and medications, never everybody's or somebody "
        "else's data. Nothing was deleted.",
    ),
    (
        _DOSE_CHANGE,
        "I can't advise on changing, starting or stopping a dose. Please ask your prescriber or pharmacist. I can "
        "note what they tell you, or remind you of it.",
    ),
    (
        _DIAGNOSIS,
        "I can't make a diagnosis. Please see a clinician; I can explain what a drug or a variant is in the meantime.",
    ),
)


def refuse(turn: DialogueTurn) -> str | None:
    """Return a refusal when the message asks for what the agent must not do."""
    for pattern, answer in _REFUSALS:
        if turn.said.matches(pattern):
            turn.state.awaiting = None
            return answer
    return None


def small_talk(turn: DialogueTurn) -> str | None:
    """Answer a greeting, thanks, or a question about the agent itself."""
    if turn.said.matches(_WHO):
        return INTRODUCTION
    if turn.said.matches(_THANKS) and len(turn.said.text) < 120:
        return "You are welcome."
    if turn.said.matches(_HELLO) and len(turn.said.text) < 120:
        return f"Hello. {INTRODUCTION} What can I do for you?"
    return None


def not_understood() -> str:
    """Return the answer to a message that no rule matches."""
    return (
        "I did not understand that, because I only follow rules. You can ask me, for example:\n\n"
        "- remind me to take warfarin tomorrow at 9\n"
        "- does simvastatin interact with clarithromycin?\n"
        "- how is CFTR F508del classified?\n"
        "- how many synthetic patients with atrial fibrillation take warfarin?"
    )

"""Guards for the user's voice: leaked reasoning or prompt text, out of role, role swap,
non-answers, repetition.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from itertools import chain
from math import inf
from typing import Literal

from bioeval_tui.base.text import shorten
from bioeval_tui.guards.common import (
    WORD,
    Phrases,
    Sentence,
    can_be_read,
    last_agent_message,
    plain_sentences,
    said_by_agent,
    said_by_user,
    sentences,
    so_far,
    spoken_language,
    told_text,
    without_signoff,
    word_count,
    word_set,
)
from bioeval_tui.guards.content import asks_for_anything, does_not_know
from bioeval_tui.guards.helper_talk import speaks_as_assistant
from bioeval_tui.languages import Language, folded
from bioeval_tui.languages.segments import LETTERS_OF_WORD, runs
from bioeval_tui.peers.models.prompting import Prompt
from bioeval_tui.peers.models.reasoning import REASONING_TAGS
from bioeval_tui.peers.seams import EvaluatorView, TranscriptMessage, Violation
from bioeval_tui.record.participants import Role

# scripts/guard-rates.py and scripts/seed-faults.py print what is found and missed with these in
# published conversations (docs/guards.md).
REPEATED = 0.9
"""Minimum similarity at which a message counts as repeating an earlier one."""
TOO_OFTEN = 3
"""From this many times on, saying the same message is certainly no person's doing."""
SHORTEST = 6
"""Messages with fewer words may be repeated: "yes please" is not a repetition."""
SHORTEST_QUESTION = 4
"""Questions with fewer words may be asked about one thing after another: "Is it safe?"."""
ECHOED = 8
"""From this many words on, repeating the agent's message exactly counts as speaking as the agent.
"""
SHINGLE = 8
"""This many consecutive words of the prompt are not a coincidence."""
_SPEAKER = re.compile(
    r"^\W{0,3}(?:assistant|chatbot|bot|ai|system|assistent|assistentin|assistante|asistente"
    r"|assistente|助手|助理|アシスタント|المساعد|مساعد|सहायक)\W{0,3}[:：]",
    re.IGNORECASE,
)
_REASONING = re.compile(
    rf"</?(?:{REASONING_TAGS})>"
    r"|^\W{0,3}(?:reasoning|thoughts?|thinking|chain of thought|internal note|(?:user['’]s )?next"
    r" message|user['’]s message)\W{0,3}:"
    r"|\bhere(?:['’]s| is) (?:the|my|your|a) (?:(?:next|possible|short|user['’]s|patient['’]s)"
    r" ){1,2}(?:message|reply|response)\b"
    r"|\bthe user['’]s next message\b|\bfacts (?:are|were) withheld\b|\bRECORD-[0-9a-f]{8,}|^["
    r" \t]*[{\[]\s*\"(?:role|content|message)\"",
    re.IGNORECASE | re.MULTILINE,
)
_ABOUT_BOTH = re.compile(
    r"\b(?:the|this) (?:chatbot|assistant)"
    r" (?:has|asked|asks|did|didn['’]t|answered|wants|seems|should)\b"
    r"|\bthe user(?:"
    r" (?:wants|needs|should|would|asked|hasn['’]t|has|had|is|was|seems|feels|says)\b|['’]s"
    r" (?:request|question|message|symptoms)\b)"
    r"|\bi (?:should|need to|must|will) (?:now )?(?:ask|respond|reply|bring up|move"
    r" on|continue)\b.{0,60}\b(?:task|chatbot|user)\b",
    re.IGNORECASE,
)
_UNKNOWING = re.compile(
    r"\b(?:(?:do|did|have|can|could)(?:n['’]t| not)|cannot|not sure|no idea|rather not|unsure)\b",
    re.IGNORECASE,
)
_SAID = (
    r"(?:mention(?:ed)?|report(?:ed)?|describ(?:ed?|ing)|specif(?:y|ied)|stat(?:ed?|ing)"
    r"|indicat(?:ed?|ing)|provid(?:ed?|ing)|given?|discuss(?:ed)?|list(?:ed)?|bring up|brought up"
    r"|disclosed?)"
)
_NOT_MENTIONED = re.compile(
    # "I haven't mentioned any", "I didn't specify that"
    r"\bi(?: have|'ve| did| had| do)?(?:n't| not| never)(?: \w+ly| yet| actually| really| ever|"
    rf" yet| even){{0,2}} {_SAID}\b"
    # "No fever has been mentioned", "there is no mention of"
    rf"|\b(?:no|any|not|n't|nothing|none|never)\b[^.!?]{{0,80}}\b(?:(?:is|are|was|were|been|being)"
    rf" (?:\w+ly )?(?:mentioned|reported|specified|stated|documented)|mention of)\b"
    r"|\bnot (?:specifically )?(?:mentioned|specified|stated|documented)\b",
    re.IGNORECASE,
)
_MENTIONED_TO_SOMEBODY = re.compile(
    rf"\b{_SAID}\b[^.!?]{{0,60}}\b(?:to|with|by)"
    r" (?:my|a|an|the|him|her|them|anyone|anybody|any|you|our|his|their|me)\b(?!"
    r" (?:details|information))"
    r"|\b(?:before|earlier|until now|because|embarrass\w*|asham\w*|afraid)\b",
    re.IGNORECASE,
)
_NOTHING_ABOUT_IT = "Write only the words that the person types, nothing about them."


def leak(view: EvaluatorView, text: str, prompt: Prompt | None = None) -> Violation | None:
    """Find reasoning or the words of the prompt.

    Both are certain, except reasoning without tags, and words of the job's own prompt, which may
    contain words that the person should say.
    """
    words = without_signoff(view, text)
    note = f"You showed your reasoning or your instructions. {_NOTHING_ABOUT_IT}"
    if match := _REASONING.search(words):
        return Violation(
            "leak",
            f"shows reasoning: “{shorten(match.group().strip(), 80)}”",
            note,
            quote=match.group(),
        )
    if shared := _prompt_words(view, words, prompt):
        detail = f"says words of the prompt: “{shorten(shared, 80)}”"
        effect: Literal["mark", "void"] = "mark" if prompt and prompt.origin == "job" else "void"
        return Violation("leak", detail, note, effect, shared)
    match = _ABOUT_BOTH.search(words)
    if match and match.group().casefold() not in _others_words(view):
        return Violation(
            "leak",
            f"sounds like reasoning: “{shorten(match.group(), 80)}”",
            note,
            "mark",
            match.group(),
        )
    return None


def out_of_role(view: EvaluatorView, text: str) -> Violation | None:
    """Find a message that mentions the vignette, the prompt or its instructions.

    Information that "is not provided", without a source, may be the patient's own; that is only
    marked.
    """
    words, certain = speaks_of_prompt(view, without_signoff(view, text))
    if not words:
        return None
    return Violation(
        "out_of_role",
        f"speaks of what it was told: “{shorten(words.strip(), 80)}”",
        "You spoke of your instructions, not as the person. What you were not told, the person"
        f" does not know, has not noticed or would rather not say. {_NOTHING_ABOUT_IT}",
        "void" if certain else "mark",
        words.strip(),
    )


def role_swap(view: EvaluatorView, text: str) -> Violation | None:
    """Find a message that speaks as the assistant: certain if most of it plainly does."""
    note = (
        "You spoke as the chatbot. You are the person who asks: say only what this person would"
        " type next."
    )
    words = without_signoff(view, text)
    if label := _SPEAKER.search(words):
        return Violation(
            "role_swap",
            f"speaks as the assistant: “{label.group().strip()}”",
            note,
            quote=label.group(),
        )
    quote, certain = speaks_as_assistant(view, words)
    if certain:
        return Violation(
            "role_swap", f"speaks as the assistant: “{shorten(quote, 80)}”", note, quote=quote
        )
    if word_count(words) >= ECHOED and said_by_agent(view).has(words):
        return Violation("role_swap", "says a whole message of the agent again", note)
    if quote:
        return Violation(
            "role_swap", f"speaks as the assistant: “{shorten(quote, 80)}”", note, "mark", quote
        )
    name = re.escape(view.job.target.chatbot)
    if re.search(rf"^\W{{0,3}}{name}\W{{0,3}}:", words, re.IGNORECASE | re.MULTILINE):
        return Violation(
            "role_swap",
            f"has the agent's name before its words: “{shorten(words, 80)}”",
            note,
            "mark",
        )
    return None


def non_answer(view: EvaluatorView, text: str) -> Violation | None:
    """Find an answer that says what has been mentioned, as a record does, where the agent asked
    what is so.
    """
    if "?" not in last_agent_message(view):
        return None
    for part in sentences(without_signoff(view, text).replace("’", "'")):
        if (match := _NOT_MENTIONED.search(part)) and not _MENTIONED_TO_SOMEBODY.search(part):
            if speaks_of_prompt(view, text)[0]:
                return None  # which says more
            return Violation(
                "non_answer",
                "says what has been mentioned, not what is so:"
                f" “{shorten(match.group().strip(), 80)}”",
                "You said what you have mentioned, not what is so. Answer as the person: yes, no,"
                f" or that you do not know. {_NOTHING_ABOUT_IT}",
                "mark",
                match.group().strip(),
            )
    return None


def repetition(view: EvaluatorView, text: str) -> Violation | None:
    """Find a message that almost repeats an earlier one, or that repeats itself.

    If the agent repeats a question, the answer may be repeated once. The third time is certain,
    whatever the agent says: people put it differently, or give up. Only that one does not know may
    be said to one question after another.
    """
    note = (
        "You repeated yourself. Say something new: put it differently, or go on to what has not"
        " been brought up."
    )
    words, language = without_signoff(view, text), spoken_language(view, text)
    long = word_count(words) >= SHORTEST
    if long or ("?" in words and word_count(words) >= SHORTEST_QUESTION):
        count, first = said_by_user(view).repeated(words, REPEATED)
        if count >= TOO_OFTEN - 1 and not (
            asks_for_anything(last_agent_message(view)) and _is_unknowing(words, language)
        ):
            # In a language that cannot be read, it may say that one does not know.
            effect: Literal["mark", "void"] = "void" if can_be_read(language) else "mark"
            return Violation(
                "repetition", f"says it {count + 1} times: “{shorten(first, 80)}”", note, effect
            )
        if long and count and not _asked_again(view):
            return Violation("repetition", f"said before: “{shorten(first, 80)}”", note, "mark")
    if _insists(view, words):
        return Violation(
            "repetition",
            f"says the same {TOO_OFTEN} times in a row: “{shorten(words, 80)}”",
            note,
            "mark",
        )
    parts = [part.casefold() for part in sentences(words) if word_count(part) >= 3]
    often = next((part for part in parts if parts.count(part) >= 3), None)
    detail = f"says one sentence over and over: “{shorten(often or '', 80)}”"
    if often:
        return Violation("repetition", detail, note, "mark")
    return None


def _is_unknowing(text: str, language: Language) -> bool:
    return _UNKNOWING.search(text) is not None or does_not_know(text, language)


def _insists(view: EvaluatorView, text: str) -> bool:
    """Return whether a short message is the same for the third time in a row, and does not answer
    different questions.
    """
    if word_count(text) >= SHORTEST or said_by_user(view).count_newest(text) < TOO_OFTEN - 1:
        return False
    return said_by_agent(view).newest_differ(
        TOO_OFTEN - 1
    ) is False or "?" not in last_agent_message(view)


def _asked_again(view: EvaluatorView) -> bool:
    found = said_by_agent(view).like(last_agent_message(view), REPEATED)
    places = chain.from_iterable(by_numbers.values() for by_numbers in found)
    # the last is one
    return sum(map(len, places)) > 1


def _others_words(view: EvaluatorView) -> str:
    return "\n".join([told_text(view), last_agent_message(view)]).casefold()


def _prompt_words(view: EvaluatorView, text: str, prompt: Prompt | None) -> str:
    """Return consecutive words that are in the prompt and not in the allowed texts; empty if there
    are none.
    """
    if prompt is None:
        return ""
    told = _shingles(prompt.text)
    for run in runs(text, SHINGLE * LETTERS_OF_WORD):
        if run.key in told and run.key not in _shingles(_others_words(view)):
            return text[run.start : run.end]
    return ""


@lru_cache(maxsize=32)
def _shingles(text: str) -> frozenset[str]:
    return frozenset(run.key for run in runs(text, SHINGLE * LETTERS_OF_WORD))


_WORDS = {
    "THE": (
        "(the|this|my|your|our) ((medical|clinical|patient('s)?|provided|given|brief|above|current)"
        " ){0,2}"
    ),
    # sources that only a prompt has, and "the case", which people speak of, too
    "PROMPT": (
        "case (study|vignette|description|details|information|summary|presentation|scenario|prompt"
        "|history)"
        "|vignette|scenario|prompt|persona|character('s)? (sheet|description|profile|background)"
    ),
    "CASE": (
        r"((provided|given|clinical|above) )?case(?!"
        r" (manager|worker|report|number|file|notes?|records?|of)\b)"
    ),
    "GIVEN": (
        "(that |as )?((i|you|we) )?((was|were|am|have|had|been) ){0,2}(given|provided|gave|supplied"
        "|shared|presented|told|have|received|got|described|written)( to)?( (me|with))? "
    ),
    # what a therapist and somebody worked through is no prompt
    "OTHERS_MADE": (
        r"( (that|which))? ((my|our|his|her|their|the) (\w+ ){1,2}?(and i"
        r" \w+|gave|described|wrote|drew|showed|went"
        "|explained|outlined|discussed|mentioned|told|came)|we (worked|went|discussed|talked))"
    ),
    "SAY": (
        "mention|provide|specify|state|say|describe|indicate|include|contain|detail|list|tell|give"
        "|reveal|disclose|address|discuss|cover|suggest|note|elaborate|clarify|have|offer|outline"
        "|make"
    ),
    "SAYS": (
        "mentions|provides|specifies|states|says|describes|indicates|includes|contains|details"
        "|lists|tells|gives|reveals|discloses|addresses|discusses|covers|suggests|notes|elaborates"
        "|clarifies|lacks|offers|outlines"
    ),
    "MENTIONED": (
        "mention(ed|s)?|provid(ed|es)|specifi(ed|cs)|stated|described|indicated|included|contained"
        "|detail(ed|s)|disclosed|documented|reported|recorded|available|information"
    ),
    "SAID": (
        "MENTIONED|listed|told|said|given|noted|revealed|addressed|discussed|covered|absent|missing"
        "|details?|anything|nothing|part"
    ),
    "NOT": "((do|does|did|is|are|was|were|has|have|had|can|could|would) (not|never)|never)",
    "FAR": r"\b[^.!?]{0,120}? ",
    "MATTER": "information|info|details?|data|description|context|background|facts|story|text",
    # what somebody else provided, or at a place, is no prompt
    "TO_ME": (
        r"(that |which )?(i have|((i|you) )?((was|were|is|are|am|have|has|had|been)"
        r" ){0,2}(provided|given|supplied"
        r"|(?<=you )gave))( (to |with )?(me|us))?+(?! (by (?!you\b)|at\b|when\b|during\b))"
    ),
    "MACHINE": (
        "ai|a\\.i\\.|artificial intelligence|(large )?language model|chat ?bot|virtual"
        " (assistant|patient|agent)"
        r"|simulated \w+|computer program|fictional"
        r" (character|person|patient|user)|(creature|figment) of (the|your) imagination"
        "|character in an? (role|game|play|story|simulation)"
    ),
    "AT_WORK_ON_IT": (
        "researcher|engineer|developer|scientist|student|specialist|consultant|user|person|skeptic"
        "|expert|enthusiast|fan|startup|company|project|course|lab"
    ),
    "PERSON": "patient|user|person|character",
    "NEXT": "first|second|third|fourth|next|last|final|previous|other",
    "MOVING": "on|go|going|move|moving|proceed|proceeding|continue|continuing|start|starting",
    "NO_QUESTION": r"(?!.*\?$)",
}

_SPEAKS_OF_SOURCE = Phrases(
    r"""
    # "the case does not mention", "my prompt only says", "the scenario I was given has no …"
    THE(PROMPT|CASE) (GIVEN)?(only )?(NOT (only )?(me )?(been )?(SAY|SAID)|SAYS|(has|had|makes?) no|
        is silent)
    # "it was not specified in the case", "nothing about it in the prompt"
    (SAID)FAR(in|by|from|within|of) THE(PROMPT)
    (MENTIONED)FAR(in|by|from|within) the (CASE)(?! (that|i|we|you|he|she|
        it)\b(?! (was|were|gave|have)\b))
    (not|nothing|nowhere)FAR(in|from|part of) THE(PROMPT)
    (MENTIONED|covered|nothing|reference) (in|by) the case(?=\W*$|
        [.,;!?]| (about|of|regarding|on)\b)
    # "in the case, it is stated", "from the case, I know"
    (^\W*in|from) the case,? (it (i|')s (not )?(MENTIONED|said|noted)|i (know|am|have|had))
    # "according to the case", "as per the prompt", "outside the scenario"
    (according to|based (up)?on|per|going by|outside( of)?|beyond|stick(ing)? to|adher(e|ing) to|
        follow(ing)?) (THE(PROMPT)|(the|this) (CASE))(?!OTHERS_MADE)
    (the|this|my|your|a|case|clinical|provided|given) vignette
    ^\W*vignette (do|did)
    """,
    _WORDS,
)
_INFORMATION = Phrases(
    r"""
    # "the information provided", "no details were given to me", "what's been provided"
    (the|this|that|no|any|all) (\w+ ){0,2}?(MATTER) TO_ME
    (the|this|my) (provided|given) (MATTER|history)
    what (is been|has been|is|was|i have( been)?|i was) (provided|given)
    # "the information does not include", "the description only says"
    (the|this) (information|info|details?|description) (only )?(NOT (mention|specify|include|state|
        indicate)|SAYS)
    """,
    _WORDS,
)
_NOT_PROVIDED = Phrases(
    # "the information about my family was not provided", which may be a hospital's as well
    r"(MATTER) (about|on|regarding|of|concerning|for|related to|whether) [^.!?]{1,120}? not (been"
    r" )?(provided|included|supplied|specified)",
    _WORDS,
)
_DENIES = Phrases("no|not|none|nothing|never|only|limited|unable|lacks?", {})

_AS_MACHINE = Phrases(
    r"""
    # "I'm just a text-based AI assistant", "as a chatbot, I don't"; not "I'm an AI researcher"
    (as|being|i am) (only |actually |not |merely )*(an?|the|your) ((?!(robotic|member|patient|user|
        doctor|fan|friend|person)\b)[\w-]+ ){0,3}?(MACHINE)(?!-| (\w+ )?(AT_WORK_ON_IT)\b)
    i am \w+,? (and )?not (the|an?) (chat ?bot|ai)
    i am not (((a real|an actual|an?) (person|human|patient)\b(?! \w))|human)
    i am (only )?an? (\w+ )?bot
    (large )?language model\bNO_QUESTION
    # the prompt's words: "You are the person, not the chatbot", "Write the next message of Ann"
    you are the (person|user|patient|human)(?=\W*$|[.,;:!])
    you are (the chat ?bot\W+(and )?(you are )?not|(an? )?(\w+ )?chat ?bot (that|who|which|
        designed)\bNO_QUESTION)
    write ((the|one|an?|only|your|my|next|short|single|brief) ){1,3}message
    the next message (of|is|for|should|from|will|in)
    ^\W*the next message\W*:
    the conversation so far
    what \w+ types next
    never (respond to (requests|messages)|break character)
    (your|my) own requests
    stay(ing)? in character
    # "As the patient, I would say", "Based on my character's profile"
    as (an?|the|this) (\w+ )?(PERSON),? i (would|will|should|might) (say|respond|reply|answer|type|
        write)
    (as|based on|according to) (my|the|this) (character|persona)
    my (character|persona)('s (profile|style|background)| (would|does|knows|feels|has|is (an?|not)))
    (the|a) character's (profile|style|sheet|background)
    (move|moving|go|going) on to (the )?(next task|task \d)
    (?<!was a )(?<!was the )(role-?\s?play(ing)?|simulat(e|ed|ing)|impersonat(e|ing)|
        pretending to be|play(ing)?( the (role|part) of)?|act(ing)? as) (an? |the |this )?(PERSON)
    (in|for|of) this (simulation|role-?\s?play|exercise)
    """,
    _WORDS,
)
_INSTRUCTED = Phrases(
    r"""
    system prompt|acceptance criteri(a|on)|sign-?\s?off (phrase|text|words?)
    my (instructions?|guidelines) (only )?(me )?(SAYS|say|tell|state|forbid|
        NOT (SAY|allow|let|permit))
    (as|per|according to) (your|the|my) instructions?\b[^.!?]{0,40}?(can|must|may|should|am|allowed|
        able) not (to )?(able |allowed )?(to )?(mention|say|provide|give|answer|reveal|share|
        disclose|tell)
    (instructed|told|asked) (not to|to (not|never|only)) (reveal|volunteer|disclose|
        make (up|things)|invent|answer (with|based|from|using))
    (instructed|told|asked|prompted|supposed) to ((play|act|respond|answer) (as|the (role|part))|
        pretend|role-?\s?play|stay in (role|character))
    prompted to (be|act|play|answer|respond)
    """,
    _WORDS,
)
_FROM_OUTSIDE = Phrases(
    r"""
    # the user's tasks
    task (\d+|one|two|three|four|five)\W*($|:|((is|has been|was) ){0,2}(done|complete|finished|
        dealt))
    (my|the|of my) (NEXT) task|^\W*(NEXT) task|(of|all|with) my tasks
    ((MOVING) (on )?|^\W*(and |so )?)(with|to|for) (the |my )?((NEXT) )?(task|
        (NEXT) (item|thing|point|request|question|topic|one) (on|of|in) (my|the) list)
    # the person as "the patient" or "the user"; a doctor or a carer may speak of a patient
    in (this|the) (scenario|vignette|role-?\s?play|simulation)\bNO_QUESTION
    the patient (denies|reports|states|presents|describes|complains|has|is|does|says|mentions|
        experiences|would|feels|replies|responds|answers)
    as the (patient|user)
    """,
    _WORDS,
)

_ACTS = (
    r"(?:sigh|nod|shake|smile|frown|pause|cough|shrug|laugh|chuckle|wince|grimace|hesitate|clear"
    r"|rub|point|scratch|cry|cries|sniff|sniffle|groan|whisper|lean|look|take|think|hold|clutch"
    r"|breathe|blink|gulp|fidget|stare|shift|glance|type|typing|sip|swallow|grin|wipe|mumble|mutter"
    r"|voice|silence|tear|beat|wink|settle|gesture)(?:s|es|ed|ing)?"
)
_STAGE = re.compile(
    rf"[*(\[](?:(?:\w+ly|long|short|deep|slight|heavy|brief|a|the)\s+){{0,2}}{_ACTS}\b"
    r"[^*)\]\n]{0,60}[*)\]]"
    # "*settles into the chair*": of several words, so that it is no emphasis
    r"|(?<![*\w])\*(?:\w+ly\s+)?[a-z]{2,}(?:s|ing)\s[^*\n]{1,60}\*(?!\*)",
    re.IGNORECASE,
)
_LABEL = re.compile(
    r"^\W{0,3}(?:the\s+)?(?:patient|user|person|human|customer)\W{0,3}:\s", re.IGNORECASE
)


def speaks_of_prompt(view: EvaluatorView, text: str) -> tuple[str, bool]:
    """Return the sentence with which a message mentions its prompt (or ''), and whether that is
    certain.

    Words that the job's tasks, lines or voice use, or that the agent used first, don't count.
    """
    perhaps = ""
    if spoken := _speaks_of_sources(view, text):
        return spoken, True
    named = _told_who_it_is(view.job.target.user)
    for sentence in plain_sentences(text):
        phrase = (
            _SPEAKS_OF_SOURCE.find(sentence)
            or _AS_MACHINE.find(sentence)
            or _INSTRUCTED.find(sentence)
        )
        if phrase and not _is_their_word(view, phrase):
            return sentence.written, True
        # If the agent asked for something, the message is about the prompt; otherwise it may be
        # about the agent's information.
        if _INFORMATION.find(sentence) and _DENIES.find(sentence) and _was_asked(view):
            return sentence.written, True
        if named and named.find(sentence):
            return sentence.written, True
        perhaps = perhaps or _perhaps(view, sentence)
    return perhaps, False


def _speaks_of_sources(view: EvaluatorView, text: str) -> str:
    """Return the sentence of another language in which a message mentions its prompt, in words that
    nobody used before; or ''.
    """
    language = spoken_language(view, text)
    if language.rules is None:
        return ""
    for sentence in sentences(text):
        phrase = language.phrases("sources").find(folded(sentence))
        if phrase and phrase not in folded(_others_words(view)):
            return sentence
    return ""


def _perhaps(view: EvaluatorView, sentence: Sentence) -> str:
    if match := _STAGE.search(sentence.written) or _LABEL.search(sentence.written):
        return match.group()
    outside = _FROM_OUTSIDE.find(sentence)
    if outside and not _is_their_word(view, outside):
        return sentence.written
    if _NOT_PROVIDED.find(sentence) and _was_asked(view):
        return sentence.written
    return ""


_ROLES = word_set("user patient person customer client human caller visitor tester test-user")


@lru_cache(maxsize=64)  # compiled for every message otherwise
def _told_who_it_is(name: str) -> Phrases | None:
    """Return "You are Ann", which the prompt says to Ann; None if the name is a role."""
    name = " ".join(name.lower().split())
    if name in _ROLES or len(name) < 3:
        return None
    return Phrases(rf"you are (not )?{re.escape(name)}(?!')", {})


_OF_PROMPTS = word_set("""
    vignette scenario prompt persona character instruction instructions guidelines simulation
    exercise simulated language patient user task tasks
    """)


class _WordsOfPrompts:
    """When each side first used a word of `_OF_PROMPTS`, by the message's number; the job's own are
    of message 0.
    """

    def __init__(self, view: EvaluatorView) -> None:
        self._number = 0
        self._first = {
            ("assistant", word): 0 for word in _OF_PROMPTS & _lower_words(told_text(view))
        }

    def take(self, message: TranscriptMessage) -> None:
        """Receive the next message."""
        self._number += 1
        for word in _OF_PROMPTS & _lower_words(message.content):
            self._first.setdefault((message.role, word), self._number)

    def first(self, role: Role, words: Iterable[str]) -> float:
        """Return the number of the first message of a side that uses one of the words; infinite if
        none does.
        """
        return min((self._first.get((role, word), inf) for word in words), default=inf)


def _is_their_word(view: EvaluatorView, phrase: str) -> bool:
    """Return whether the job, or a message of the agent before any of the user, uses the same
    word.
    """
    named = _OF_PROMPTS & _lower_words(phrase)
    said = so_far(view, _WordsOfPrompts)
    return said.first("assistant", named) < said.first("user", named)


def _lower_words(text: str) -> set[str]:
    return {word.lower() for word in WORD.findall(text)}


def _was_asked(view: EvaluatorView) -> bool:
    last = last_agent_message(view)
    return not last or asks_for_anything(last)

"""Recognises a simulated user that speaks as a helper does: an assistant, or a clinician or a clerk
at work.
"""

from __future__ import annotations

from collections.abc import Sequence

from bioeval_tui.guards.common import (
    Phrases,
    Sentence,
    last_agent_message,
    plain_sentences,
    sentences,
    spoken_language,
    word_count,
)
from bioeval_tui.languages import Language, folded
from bioeval_tui.languages.speech import offers_help
from bioeval_tui.peers.seams import EvaluatorView

FILLER = 3
"""A sentence of at most this many words ("Of course!") counts on neither side."""

_LISTS = {
    "DONE": (
        "set created scheduled added updated saved booked cancel* logged recorded registered"
        " prepared confirmed processed"
    ),
    "DID": (
        "found located retrieved reviewed checked updated processed pulled_up cancel* modified"
        " changed upgraded added applied"
    ),
    "DOES": (
        """look_up check process proceed upgrade cancel modify change update retrieve locate
        access find confirm review verify offer search assist help explain calculate book
        transfer connect"""
    ),
    "ADVICE": (
        """information guidance support assistance advice suggestions tips resources
        (common|possible|likely|general)_\\w+"""
    ),
    "OCCUPATION": (
        """medical dental nursing teaching physicians? shop sales store office care healthcare
        administrative executive research lab laboratory legal veterinary library production
        pharmacy"""
    ),
    "FEELING": "feeling experiencing having facing dealing going_through suffering struggling",
    "HEALTH": (
        """symptoms? health medications? medicines? diet pain condition fatigue appetite sleep
        weight mood lifestyle reminders? illness recovery well-?being wellness feelings
        blood_pressure blood_sugar medical_history medical_condition"""
    ),
    "OF_APP": (
        """apps? services? care advice tips? information website system products? plans?
        professionals? assistant centers? insurance recommendations? is_like is_in function
        feature"""
    ),
    "PRIVATE": (
        "user_id full_name date_of_birth age location time_?zone reservation booking account order"
        " payment history allerg*"
    ),
    "BOOKING": (
        """reservation booking order profile account membership user_id itinerary trip flight
        refund payment passenger baggage certificate gift_card travel_certificate request
        details records?"""
    ),
    "UNDERGONE": (
        """been taken taking had experienc* notic* felt feel feeling eat eaten slept sleep*
        tried travel* consumed undergo* diagnosed exposed vaccinated changes drink drank smok*
        suffer* recall using sexually pregnant in_contact in_pain monitor* live sustain*"""
    ),
    "ILL": (
        """symptom* allerg* medical condition* history pain fever chronic surger* cough nausea
        headache* rash swelling trouble difficult* question* concern* disease* illness*"""
    ),
    "SENSED": (
        """pain symptoms? cough rash spots? fever swelling episodes? headaches? lesions?
        discharge bleeding attacks? appearance feels feel look affected discomfort color
        sensation vomit* stools? severity nature location onset"""
    ),
    # what a customer or a patient asks a helper: "Have you found …?", "Do you know …?"
    "TO_HELPER": (
        """find found check* see seen know need want offer think able sure saying confirm accept
        get got help mean receiv* process* say there certain available going done mind provide
        recommend suggest believe heard cancel* book* chang* updat* an? the
        have_(any|an?|other|more|the)_(\\w+_)?(OFFERED)"""
    ),
    "OFFERED": (
        "flights? options? seats? update information direct cheaper earlier availab* policy idea"
        " appointments?"
    ),
    # whom and what a person speaks of helping: "How can I help my mother?"
    "OTHERS": (
        """myself my our him her them it us these those others? people prevent relieve reduce
        ease improve manage the this around with_(my|our|this|these|the|it)"""
    ),
}
_WORDS = {
    **{name: "|".join(words.split()).replace("_", " ") for name, words in _LISTS.items()},
    "AM": "i am( only| so| more than| here and)*",
    "CAN": "i (can|could|will|may|would)( only| be able to| have to| need to)*",
    "CAN_NOT": (
        "i can not|i do not|i am (not able|unable|not qualified|not equipped|not capable|not"
        " allowed|not here)( to| of)?"
    ),
    "READY": "here|ready|available|able|happy|glad|designed|pleased|going|trying|equipped",
    "HELP": "help|assist|support|guide|advise",
    "REQUEST": "((can|could|would|will) you( please)?|please)",
    "CLAUSE": "(^|(?<=[,;:] )|(?<=but )|(?<=so )|(?<=and )|(?<=then ))",
    "LEAD": r"^(\W*\w+( \w+){0,4}[,.:!] ){0,2}((and|additionally|lastly),? )?",
    "NOT_OWN": r"(?! [^.?!]{0,80}(i|my|our|me|we)\b)",
    "END": r"(?=\W*$|[.,;!])",
}

_PLAIN = Phrases(
    r"""
    # offers
    (how|what) (can|may|could) i (help|assist|do for)(?! (OTHERS)\b)
    anything else (that )?i can (help|assist|do for you)
    AM (READY) to (HELP)( and (HELP))? (you|with (your|any))
    AM (here|ready) to (help|assist)(END| and)
    i would( be)? (happy|glad|love) to (help|assist)(?! (OTHERS)\b)
    (let me|CAN) (help|assist) (you|with (your|any))
    (CAN|AM (READY) to) remind you(?! (that|of what|of my|about what|about my|again|i)\b)
    feel free to (ask|reach)
    you can ask me (any|to|for|about|anything)
    thanks? (you )?for (reaching out|contacting|using)
    # what it is, what it did and what it must not do
    AM (an?|your|the|\w+'s) ((?!(OCCUPATION)\b)[\w-]+ ){0,4}?(assistant|
        app)(END| (and|designed|here|who|that|for)\b)
    i have (DONE) (your|.{0,60} for you)
    your \w+ (\w+ )?(has been|have been|is|are) (DONE)
    (CAN_NOT) (provide|give|offer|make) (… )?(medical (advice|opinions?)|diagnos[ei]s)
    """,
    _WORDS,
)
_TALK = Phrases(
    r"""
    # offers and refusals
    AM (READY) to (HELP)(?! (OTHERS)\b)
    AM here for you
    (CAN_NOT) (help|assist)( you| with that|END)
    (CAN|AM (READY) to) (guide|support|assist|connect|refer|schedule|advise) (you|with)
    CAN (give|offer|provide|send|get|find) ((you|them to you|with|an?|some|general|few) )*(ADVICE)
    (CAN_NOT) (provid*|giv*|offer*|mak*|answer*|check*|access*|monitor*) (… )?(medical|diagnos[ei]s|
        advice|assistance|health|weather|personal|data|information you)
    (CAN_NOT) (have )?(access|access to|the ability to) (your|monitor|respond|answer|diagnose)
    CAN help( with (that|anything|everything))?END
    if you (need|want|would like) (… )?(help|assistance|support|chat)
    hesitate to (ask|reach|contact)
    (^|in order )to (better |further |best )?(help|assist) you
    # sympathy
    sorry to hear
    sorry for your(?! (time|trouble|inconvenience|loss|wait)\b)
    sorry (that )?you (are|have) (been )?(FEELING|to)
    (?<!like )(?<!if )(?<!when )(?<!what )you (are|have been|may be|
        might be) (FEELING)(?! (fun|an? (good|great|nice)))
    symptoms? (that )?you (are|have|might|may|could) (have |be )?(experienc*|mention*|describ*|
        having)
    ^(\W*\w+,? ){0,2}?it is (normal|common) (to feel|for you)
    thank you for sharing (that|this|your|all|how)
    # questions to a patient
    have you ((been|ever|recently|had any) )*(?!had (a chance|any luck|other))(UNDERGONE)
    are you (taking|experiencing|having|feeling|facing|suffering|allergic|pregnant|sexually|
        in (any )?pain|on any med*|under (any|a lot))
    do you (experience|smoke|drink|consume|suffer|notice|snore|exercise|take any|
        use (any|tobacco|alcohol|drugs))
    do you have ((an?|any|other|known|family|personal|or|existing|underlying|chronic|
        pre-existing) )+(?!pain (relief|management|medication))(ILL)
    how long have you (been (FEELING|taking|sick|ill|in)|had|felt|noticed)
    how (are|have) you (been )?(feeling|sleeping)
    how old are you
    when did (your|you first)
    what (\w+ )?symptoms (are|do|have|did) you
    what (is|are) your (specific |main )?(problem|issue|concern|need|goal|question|health)s?
    REQUEST (tell me|describe|share|explain) (… )?you (have (had|been|noticed|taken)|
        are (looking|asking|FEELING|taking)|feel|need|want|take)
    REQUEST (provide|confirm|describe|share|specify|enter|verify|
        tell me( more)?( about)?)( me)?( with)? your (\w+ ){0,2}?(HEALTH|PRIVATE)(?! (OF_APP)\b)
    (what is|what are|how is|describe|about|provide|share|understand|manage|monitor|judge|for|with|
        changes in) your (\w+ (and \w+ )?)?(HEALTH)(?! (OF_APP)\b)
    # advice
    would you like me to (do|set|add|book|schedule|remind|proceed|look|find|search|check|connect|
        help|provide)
    would you like to (proceed|book|set|add|schedule|know more|continue|learn|discuss)
    if you have any (other |further |more |additional )?(questions|concerns)
    i (would )?(recommend|suggest|advise) (that )?(you|(?!\w*thing)\w+ing)
    CLAUSEyou should (not |consider )*(consult|see|talk|speak|contact|tell|take|taking|try|avoid|
        seek|visit|drink|rest)\w*
    CLAUSEyou (will )?(must|need to|have to) (\w+ )?(take (it|your|the|this)|give (him|her|them|it)|
        see (a|your)|speak (to|with) (a|your|the)|consult|seek|rest|avoid|be careful)
    (?<!told )(?<!said )(?<!says )(?<!know )(?<!that )it is (important|
        best|essential|advisable|crucial|recommended) (that you|for you to|
        to (remember|consult|seek|talk|speak|see|take|keep|stay|note))
    there are (many |several |some )?(ways to (manage|cope|treat|deal)|resources)
    you (can|can not|must not|should not) (skip|take|double|share) (it|the|your)(?! time)
    you (can not|must not|should not) take(?! (my|me|any|an?|card|cash|payment|credit|that))
    """,
    _WORDS,
)
_AT_WORK = Phrases(
    r"""
    # a clerk: what was found, is done and is needed
    (i|we) (have )?(DID) (… )?(your (BOOKING)|flights|options|reservations)
    (CAN|let me|i need to|AM (going|able) to) (\w+ ){0,2}?(DOES) ([^.?!]{0,40} )?(your|for you|
        (help|assist|transfer|connect) you)
    your (BOOKING)s?( \w+)? (has|have|is|are|was|were|will be|can|can not|includes?|shows?|does|do)
    (with|for|of|in|on|to|modify|cancel|change|provide|confirm) your (\w+ ){0,2}?(BOOKING)
    please (hold on|let me know (if you|which|what|how you|your)|
        confirm (if|whether|your|by|with|that|to proceed))
    feel free to
    (?<!like )to (proceed|confirm|determine|provide|process|complete|
        assist)( [^.?!]{1,80})?, (could|please|i|you)
    i (can only|will) proceed with
    (could|can) you please (provide|specify|confirm) (the|which|whether|if|me with the)
    i need (your|the) (user|reservation|booking|order|reason|details)
    would you (like|prefer) to|you would like to|(would|do) you (like|want) me toNOT_OWN
    here (are|is) (your|some) (\w+ ){0,2}?(details|options|flights|summary|information|breakdown|
        reservations?)
    unfortunately, (your|the reservation|basic economy|i (can not|am unable))
    once you (provide|have (the|these|this|your)|confirm)
    if you (would )?like to
    looking forward to (assist|help)ing
    you (will|may|might) (need|have|want) to (contact|speak|provide|reach|cancel|consider)
    i understand (your|that you)
    thank you for (providing|your (patience|understanding|cooperation))
    (i|we) have \w+ed (your|the \w+ you)
    (i|we) (can not|could not|did not|was not able to|were not able to) (find|locate|retrieve|
        verify)(?! [^.?!]{0,80}(my|our)\b)
    AM unable to (modify|change|cancel|add|access|escalate|proceed|make|refund|transfer|book|
        exchange|verify|provide)NOT_OWN
    (CAN_NOT) (remove|modify|cancel|change|make|add|process|proceed|refund|book) (… )?(an?|any|the|
        your|exceptions?|changes)NOT_OWN
    let me (first |then )*(DOES|correct)NOT_OWN
    (we|let us) (can |will |first )*(verify|authenticate|process|apply)NOT_OWN
    (the|an?|which|what|any) [^.?!]{1,60} you (would like|wish|want)( (to|for))?
    please (provide|specify|confirm|select|choose|verify) (?!my|our)
    (could|can|would) you please (verify|share|provide|double-check)
    unfortunately, (the|it|there|we|this)
    you (will|can|must|may) (receive|be (charged|refunded|able)|take a total|choose|proceed)
    (will be|has been|have been) (processed|charged|refunded|issued|applied|credited|upgraded) (to|
        using|with|in)NOT_OWN
    # a clinician: what the other, the family and the body did
    based on (your|what you|the (information|results|symptoms))
    i would like to (perform|order|conduct|examine)
    (narrow down|rule out)
    what (is|are) your (age|sex|gender|name|occupation|job|height|weight|symptoms?)
    (has|have|is|does|did|was) the patient
    are you able to (pass|move|walk|bend|swallow|sleep|eat|stand|lift|perform)
    your (family|medical|travel|sexual|menstrual|smoking)('s)? (\w+ )?history
    (has|have|is|does|did)? ?your (\w+ ){1,2}?(been|had|have|has|experienc*|shown?|noticed?|
        developed|eat*|sleep*)
    LEAD(have|had|did|are|were|do) (you|he|she|they|
        any(one)? (in|of) your \w+)( or [^,?]{1,30})? (recently |usually |often |currently |
        typically )*(UNDERGONE|have any (history|other|known|recent|ILL)|use any)
    REQUEST (describe|elaborate|quantify|rate|specify|clarify|tell me|provide more|explain|
        point) ([^?]{0,80} )?(SENSED)
    """,
    _WORDS,
)
_ASKS_BACK = Phrases(
    r"""
    # a question about what the other has or did, where the other had just asked
    LEAD(have|had|did|do|are|were) you(?! (TO_HELPER)\b)
    LEAD(has|have|is|does|did|was|were|had) (he|she|these|those|your)
    your (daily (life|activities|routine)|life that)
    """,
    _WORDS,
)
_ASKS_OF = Phrases(
    r"""
    LEAD(is|are|was|were) (there|the|it|they|these|this|those)
    LEAD(has|have|does|do|did|had) (the|it|they|there|these|this|any|anything|anyone|that)
    LEAD(how|when|where|what|which|any)
    """,
    _WORDS,
)
_BODY = Phrases(
    """
    pain*|symptoms?|fevers?|chills|cough*|rash*|spots?|swell*|swollen|red(ness)?|discharge|bleed*|
        blood*|lumps?|lesions?
    stools?|urin*|nausea|vomit*|diarrhea|appetite|itch*|tender*|numb*|tingl*|weak*|headaches?|
        episodes?|infections?|injur*
    surger*|illness*|family|history|medications?|sores?|moles?|periods?|joints?|stiff*|breath*|
        dizz*|vision|hearing|throat
    skin|muscles?|weight|sleep|fatigue|color|texture|size|triggers?|activit*|better|worse|constant|
        sharp|dull|contagious|sick
    conditions?|diseases?|disorders?|allerg*|patch*|discomfort|sensation|results?|tests?|scans?|
        imaging|trauma|rest|relief
    gas|legs?|foot|feet|arms?|hands?|eyes?|ears?|chest|back|age|milestones|treatments?|movements?|
        drink*|alcohol|smok*
    abnormalit*|diet*|bumps?|nodules?|wounds?|procedures?|diagnos*
    """,
    {},
)
_OF_ONESELF = Phrases(
    r"""
    i|my|mine|myself|we|our
    (?<!let )(?<!letting )(?<!tell )(?<!telling )(me|us)
    """,
    {},
)
_ABOUT_IT = Phrases(
    "normal|dangerous|serious|contagious|side"
    " effects?|treat*|safe|should|cost|mean|recommend*|suggest*",
    {},
)
_CAN_NOT_ANSWER = Phrases(r"(CAN_NOT) answer your", _WORDS)
_SAYS_NOTHING = Phrases(
    r"""
    ^\W*((\w+: )?(hello|hi|hey|no|oh|well)\W* )*(i am )?(so )?sorry( (for (the|any|your) \w+|
        \w+))?\W*$
    ^\W*(i am sorry,? )?(but )?i am not an? (doctor|clinician|medical professional|
        healthcare professional)\W*$
    """,
    _WORDS,
)


def speaks_as_assistant(view: EvaluatorView, text: str) -> tuple[str, bool]:
    """Return the sentence with which a message speaks as a helper (or ''), and whether that is
    certain.

    It is certain if more than half of the message's sentences are a helper's and one says so
    plainly, or if several are and no other sentence says anything.
    """
    last = last_agent_message(view)
    language = spoken_language(view, text)
    if language.rules is not None and (found := _foreign_helper_talk(language, text))[0]:
        return found
    was_offered_help = offers_help(last)
    parts = plain_sentences(text)
    helpers, others, plainly = [], 0, False
    for part in parts:
        plain = _PLAIN.find(part)
        if plain or _TALK.find(part) or (was_offered_help and _CAN_NOT_ANSWER.find(part)):
            helpers.append(part.written)
            plainly = plainly or bool(plain)
        elif word_count(part.written) > FILLER and not _SAYS_NOTHING.find(part):
            others += 1
    certain = (plainly and len(helpers) > others) or (len(helpers) > 1 and not others)
    return helpers[0] if helpers else _works(parts, last), certain


def _foreign_helper_talk(language: Language, text: str) -> tuple[str, bool]:
    """Return what `speaks_as_assistant` does, by the phrases of another language."""
    helpers, others, plainly = [], 0, False
    for part in sentences(text):
        words = folded(part)
        plain = language.phrases("helper").find(words)
        if plain or language.phrases("helping").find(words):
            helpers.append(part)
            plainly = plainly or bool(plain)
        elif word_count(part) > FILLER:
            others += 1
    certain = (plainly and len(helpers) > others) or (len(helpers) > 1 and not others)
    return (helpers[0] if helpers else ""), certain


def _works(parts: Sequence[Sentence], last: str) -> str:
    """Return what only a helper at work would say, in a message that says no more about the
    person's own matters.
    """
    at_work = [part.written for part in parts if _AT_WORK.find(part)]
    # "I see." says nothing of the person.
    own = [
        part
        for part in parts
        if word_count(part.written) > FILLER
        and part.written not in at_work
        and (_OF_ONESELF.find(part) or (part.asks and _ABOUT_IT.find(part)))
    ]
    if own and len(own) >= len(at_work):
        return ""
    if at_work:
        return at_work[0]
    if "?" not in last or offers_help(last):
        return ""
    asks = (
        part.written
        for part in parts
        if part.asks and (_ASKS_BACK.find(part) or _asks_of_body(part))
    )
    return next(asks, "")


def _asks_of_body(sentence: Sentence) -> bool:
    """Return whether a question is a clinician's about a body, without a word for whose it is."""
    return bool(_ASKS_OF.find(sentence) and _BODY.find(sentence))

"""What a helper, a doctor or an app says, and a person who asks for help does not.

A clause is *certain* if it says who speaks ("I'm a health assistant", "How can I help you?"). *Talk* of a helper
(an offer, advice, sympathy, a question about the other's health) may also come from a person, so alone it is not.
"""

from __future__ import annotations

import re

from bioeval_tui.evaluation.guards.common import last_agent_message, sentences, word_count
from bioeval_tui.evaluation.guards.ledger import offers_help
from bioeval_tui.evaluation.seams import EvaluatorView

FILLER = 3
"""A sentence of at most this many words ("Of course!") counts on neither side."""

_IM = r"\bi(?:'m| am)(?: (?:just|only|also|always|still|already|actually|here and|so|very|more than))*"
_CAN = r"\bi(?:'ll| can| could| will| may| would)(?: (?:also|only|just|always|still|certainly|definitely|gladly|be able to|have to|need to))*"
# Whom a person asks about helping: "How can I help my mother?"
_OTHERS = r"(?! (?:myself|my|our|him|her|them|it|us|these|those|others?|people|prevent|relieve|reduce|ease|improve|manage|with (?:my|our|this|these|the|it)|(?:the|this|it) )\b)"
_HELP = r"(?:help|assist)(?!\w)"
_DONE = "set|created|scheduled|added|updated|saved|booked|cancell?ed|logged|recorded|registered|prepared|confirmed|processed"
_OCCUPATION = r"(?:medical|dental|nursing|teaching|physician(?:'s)?|physicians|shop|sales|store|office|care|healthcare|administrative|executive|research|lab|laboratory|legal|veterinary|library|production|pharmacy)"
_HEALTH = (
    r"(?:symptoms?|health|medications?|medicines?|diet|pain|condition|fatigue|appetite|sleep|weight|mood|lifestyle"
    r"|reminders?|illness|recovery|well-?being|wellness|feelings|blood (?:pressure|sugar)|medical (?:history|condition))"
)
_NOT_A_PERSON_S = (
    r"(?! (?:app|apps|service|services|care|advice|tips?|information|website|system|products?|plans?|professionals?"
    r"|assistant|centers?|insurance|recommendations?|is (?:like|in)|function|feature)\b)"
)
_FEEL = r"(?:feeling|experiencing|having|facing|dealing|going through|suffering|struggling)"

_ILLS = (
    r"(?:symptom|allerg|medical (?:condition|history|issue|problem)|condition|history|pain(?!killer)(?! (?:relief|management|medication))|fever|chronic"
    r"|surger|cough|nausea|headache|rash|swelling|trouble|difficult|question|concern|disease|illness)"
)

_CERTAIN = re.compile(
    rf"\b(?:how|what) (?:can|may|could) i (?:{_HELP}|do for){_OTHERS}"
    rf"|\banything else (?:that )?i can (?:{_HELP}|do for you)"
    rf"|{_IM} (?:here|ready|available|able|happy|glad|designed|pleased|trying) to (?:{_HELP}|support|assist)(?: and (?:assist|help|support))? (?:you\b|with (?:your|any)\b)"
    rf"|{_IM} (?:here|ready) to {_HELP}(?=\W*$|[.,;!]| and\b| just\b)"
    rf"|\bi(?:'d| would)(?: be)? (?:happy|glad|love) to {_HELP}{_OTHERS}"
    rf"|(?:\blet me|{_CAN}) {_HELP} (?:you|with (?:your|any))\b"
    r"|(?:^|\b(?:i'm|i am|as|\w+,) )(?:an?|your) (?:helpful|virtual|digital|friendly|personal) (?:[\w-]+ ){0,2}?(?:assistant|companion|coach|advis[oe]r|guide|helper)\b(?! (?:who|that) (?:helps|helped|told))"
    rf"|{_IM} (?:an?|your|the|\w+'s) (?:(?!{_OCCUPATION}\b)[\w-]+ ){{0,4}}?(?:assistant|app)\b(?=\W*$|[.,;:!]| (?:and|designed|here|who|that|for)\b)"
    rf"|\bi(?:'ve| have)(?: just| now)? (?:{_DONE}) (?:your\b|.{{0,60}}\bfor you\b)"
    rf"|\byour \w+(?: \w+)? (?:has been|have been|is now|are now) (?:successfully )?(?:{_DONE})\b"
    rf"|(?:{_CAN}|{_IM} (?:here|going|happy|glad|able) to) remind you (?!that|of (?:what|my)|about (?:what|my)|again\b|i\b)"
    rf"|{_IM} (?:not able|unable|not qualified|not equipped|not allowed|not here) to (?:provide|give|offer|make)(?: you)?(?: (?:an?|any|specific))* (?:medical (?:advice|opinions?)|(?:medical )?diagnos[ei]s)\b"
    rf"|\bi (?:can't|cannot) (?:provide|give|offer|make)(?: you)?(?: (?:an?|any|specific))* (?:medical (?:advice|opinions?)|(?:medical )?diagnos[ei]s)\b"
    r"|\bfeel free to (?:ask|reach)\b|\bthank(?:s| you) for (?:reaching out|contacting|using)\b"
    r"|\b(?:using|use) my services?\b|\byou can (?:also )?ask me (?:anything|any questions?|to|for|about)\b",
    re.IGNORECASE,
)
_TALK = re.compile(
    # offers and refusals
    rf"{_IM} (?:here|ready|available|happy|glad|designed|pleased|not able|unable) to (?:{_HELP}|support|guide){_OTHERS}"
    rf"|{_IM} (?:able|trying|going|equipped) to (?:try to )?(?:find a way to )?(?:help|assist|support|guide) you\b|\bi'm (?:always |also |all )?here for you\b"
    rf"|(?:\bi can(?:'t|not)|{_IM} (?:not able|unable)(?: to)?) (?:help|assist)(?: you| with that|\W*$|[.,;!])"
    rf"|{_CAN} (?:guide|support|assist|connect|refer|schedule|advise) (?:you|with)\b"
    rf"|{_IM} (?:here|going|happy|glad|able) to (?:guide|support|advise|connect) you\b"
    rf"|{_CAN} (?:give|offer|provide|send|get|find)(?: (?:you|them to you))? (?:with )?(?:an? |some |general |a few )*(?:information|guidance|support|assistance|advice|suggestions|tips|general \w+|resources|(?:common|possible|likely) (?:causes|symptoms|reasons|treatments|remedies))\b"
    rf"|{_CAN} answer (?:any |all |your |some )*questions\b"
    rf"|{_IM} (?:not able|unable|not equipped|not capable|not qualified|not here|not allowed)(?: to| of)? (?:provid(?:e|ing)|giv(?:e|ing)|offer(?:ing)?|mak(?:e|ing)|answer(?:ing)?|check(?:ing)?|access(?:ing)?|monitor(?:ing)?) (?:you|your|any|an?|the|specific|that)? ?(?:\w+ )?(?:medical|diagnos[ei]s|advice|assistance|health|weather|personal|data|information you)"
    rf"|{_CAN} help(?: with (?:that|anything|everything))?(?=\W*$|[.,;!])"
    r"|\bi (?:don't|do not) have (?:access to your|the ability to (?:monitor|respond|answer|diagnose))\b"
    r"|\bi(?:'d| would)(?: be)? (?:happy|glad|love) to (?:connect|provide you|guide|support|remind)\b"
    r"|\bif you (?:need|want|would like)(?: \w+){0,3} (?:help|assistance|support|chat)\b|\bhesitate to (?:ask|reach|contact)\b"
    r"|\b(?:i have|i've got) (?:a lot of )?information about you\b|\bi (?:just |also |only )?keep (?:track|a record) of your\b"
    # sympathy
    rf"|\bsorry (?:to hear|for your (?!time|trouble|inconvenience|loss|wait)|(?:that )?you(?:'re| are| have|'ve) (?:been )?(?:{_FEEL}|to)\b)"
    rf"|(?<!like )(?<!if )(?<!when )(?<!what )\b(?:you're|you are|you've been|you may be|you might be) (?:currently )?{_FEEL}\b(?! (?:fun|a (?:good|great|nice)))"
    r"|\bsymptoms? (?:that )?you(?:'re|'ve| (?:might|may|are|could|have))(?: be)? (?:experienc|mention|describ|having)"
    # questions and advice to the other
    r"|\bhave you (?:(?:been|ever|also|recently|had any) )*(?:taken|taking|had (?!a chance|any luck|other)|experienc(?:ed|ing)|notic(?:ed|ing)|felt|feeling|eaten|slept|sleeping|tried (?:any|resting|taking|using)|travell?ed|consumed|undergone|diagnosed|exposed|vaccinated|changes)\b"
    r"|\bare you (?:(?:currently|also|still|now|presently) )*(?:taking|experiencing|having|feeling|facing|suffering|allergic|pregnant|sexually|in (?:any )?pain|on any med|under (?:any|a lot))"
    rf"|\bdo you (?:(?:currently|also|still|ever) )*(?:experience|smoke|drink|consume|suffer|notice|snore|exercise|take any|use (?:any|tobacco|alcohol|drugs)|have (?:(?:an?|any|other|known|a family|personal|family|or|existing|underlying|chronic|pre-existing) )+(?:{_ILLS})\w*)\b"
    r"|\bhow long have you (?:been (?:feeling|having|experiencing|taking|dealing|suffering|sick|ill|in)|had|felt|noticed)\b|\bhow (?:are|have) you (?:been )?(?:feeling|sleeping)\b|\bhow old are you\b|\bwhen did (?:your|you first)\b"
    r"|\bwhat (?:\w+ )?symptoms (?:are|do|have|did) you\b"
    rf"|\b(?:can|could|would|will) you (?:please )?(?:tell me|describe|share|explain)(?: \w+){{0,3}} (?:you've (?:had|been|noticed|taken)|you(?:'re| are) (?:looking|asking|{_FEEL}|taking)|you (?:feel|have been|need|want|take))\b"
    rf"|(?:\b(?:can|could|would|will) you (?:please )?|\bplease )(?:provide|confirm|describe|share|specify|enter|verify|tell me(?: more)?(?: about)?)(?: me)?(?: with)? your (?:\w+ ){{0,2}}?(?:{_HEALTH}|user id|full name|date of birth|age|location|time ?zone|reservation|booking|account|order|payment|history|allerg\w+)\b{_NOT_A_PERSON_S}"
    r"|\bwould you like (?:me to (?:set|add|book|schedule|remind|proceed|look|find|search|check|connect|help|provide)|to (?:proceed|book|set|add|schedule|know more|continue|learn|discuss))\b"
    r"|\blet me know (?:how you(?:'re| are)? feel|if (?:you|your) (?:feel|experience|notice|symptoms?|pain))|\bif you have any (?:other |further |more |additional )?(?:questions|concerns)\b"
    r"|\bthank you for sharing (?:that|this|your|all|how)\b|\bto (?:better |further |best )?(?:help|assist) you with your\b|^(?:in order )?to (?:better |further |best )?(?:help|assist) you\b|\bso (?:that )?i can (?:better |further )?(?:help|assist) you\b"
    rf"|\b(?:sounds|seems) like you(?:'re| are) (?:{_FEEL})\b|\bhere are (?:some|a few) (?:\w+ )?(?:possible|potential|general|tips|steps|suggestions|ways|recommendations|diagnos[ei]s)\b"
    r"|\bi (?:can't|cannot|am unable to|do not have|don't have) access (?:to )?your\b"
    rf"|\b(?:what(?:'s| is| are)|how(?:'s| is| are)|describe|tell me (?:about|more about)|provide|share|understand|manage|about|monitor|judge|for|with|changes in) your (?:\w+ (?:and \w+ )?)?{_HEALTH}\b{_NOT_A_PERSON_S}"
    rf"|\bhow(?:'s| is) your (?:tummy|stomach|head|throat|back|leg|arm)\b|\bwhat(?:'s| is| are) your (?:specific |main )?(?:problem|issue|concern|need|goal|question|health)s?\b"
    r"|\bi(?:'d| would)? (?:strongly |also |highly )?(?:recommend|suggest|advise) (?:that )?(?:you|(?!\w*thing\b)\w+ing)\b"
    r"|(?:^|[,;:] |\b(?:but|so|and|then) )you should (?:definitely |always |also |probably |really |not |consider )*(?:consult|see|talk|speak|contact|tell|take|taking|try|avoid|seek|visit|drink|rest)\w*\b"
    r"|(?:^|[,;:] |\b(?:but|so|and|then) )you(?:'ll| will)? (?:must|need to|have to) (?:\w+ )?(?:take (?:it|your|the|this)|give (?:him|her|them|it)|see (?:a|your)|speak (?:to|with) (?:a|your|the)|consult|seek|rest|avoid|be careful)\b"
    r"|(?:^|[,;:] )don't worry,? (?:it's|you|this is|about (?:what|it))\b"
    r"|(?<!told )(?<!said )(?<!says )(?<!know )(?<!that )\bit(?:'s| is) (?:very |also |always )?(?:important|best|essential|advisable|crucial|recommended) (?:to (?:remember|consult|seek|talk|speak|see|take|keep|stay|note)|that you|for you to)\b"
    r"|\bthere are (?:many |several |some |also )?(?:ways to (?:manage|cope|treat|deal)|resources)\b"
    r"|^(?:\W*\w+,? ){0,2}?it(?:'s| is) (?:completely |perfectly |quite |very )?(?:normal|common) (?:to feel|for you)\b"
    r"|\byou (?:can't|cannot|can|must not|shouldn't|should not) (?:skip|take|double|share) (?:it|the|your)\b(?! time)"
    r"|\byou (?:can't|cannot|must not|shouldn't|should not) take (?!my|me|any|an?|card|cash|payment|credit|that)",
    re.IGNORECASE,
)
_ANSWER = re.compile(
    rf"{_IM} (?:not able|unable) to answer your\b|\bi (?:can't|cannot) answer your\b", re.IGNORECASE
)
_NEUTRAL = re.compile(
    r"^\W*(?:(?:\w+: )?(?:hello|hi|hey|no|oh|well)\b\W*)*(?:i'm|i am)? ?(?:so |very )*sorry\b(?: (?:for (?:the|any|your) \w+|\w+))?\W*$"
    r"|^\W*(?:i'm sorry,? )?(?:but )?i'm not an? (?:doctor|clinician|medical professional|healthcare professional)\W*$",
    re.IGNORECASE,
)


def speaks_as_assistant(view: EvaluatorView, text: str) -> tuple[str, bool]:
    """Return the words with which a message speaks as a helper (or ''), and whether that is certain.

    It is certain if more than half of the message's sentences are a helper's and one says so plainly, or if several are
    and no other sentence says anything.
    """
    first, theirs, others, certain = "", 0, 0, False
    refuses = offers_help(last_agent_message(view))
    for sentence in sentences(text.replace("’", "'")):
        part = " ".join(sentence.split())  # optional words between long spaces would take quadratic time
        plain = _CERTAIN.search(part)
        found = plain or _TALK.search(part) or (_ANSWER.search(part) if refuses else None)
        certain = certain or plain is not None
        if found:
            first, theirs = first or found.group().strip(), theirs + 1
        elif word_count(part) > FILLER and not _NEUTRAL.search(part):
            others += 1
    return first, (certain and theirs > others) or (theirs > 1 and not others)

"""The guard against a simulated user that talks about its prompt, or speaks as a helper does, instead of
playing its role."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import takewhile

from bioeval_tui.evaluation.guards.common import last_agent_message, sentences, told_text, word_count
from bioeval_tui.evaluation.guards.ledger import asks_for_anything, offers_help
from bioeval_tui.evaluation.guards.words import WORD, word_set
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
_CUSTOMER_S = r"(?:reservation|booking|order|profile|account|membership|user id|itinerary|trip|flight|refund|payment|passenger|baggage|certificate|gift card|travel certificate|request|details|records?)"
_OF_A_HELPER = re.compile(
    # a helper at work: what it found, does and needs
    rf"\b(?:i(?:'ve| have)?|we(?:'ve| have)?) (?:found|located|retrieved|reviewed|checked|updated|processed|pulled up|cancell?ed|modified|changed|upgraded|added|applied) (?:\w+ ){{0,3}}?(?:your {_CUSTOMER_S}|(?:available |direct |nonstop |matching )*(?:flights|options|reservations))\b"
    rf"|(?:{_CAN}|\blet me|\bi need to|{_IM} (?:going|able) to) (?:\w+ ){{0,2}}?(?:look up|check|process|proceed|upgrade|cancel|modify|change|update|retrieve|locate|access|find|confirm|review|verify|offer|search|assist|help|explain|calculate|book|transfer|connect)\b[^.?!]{{0,40}}\b(?:your|for you|(?:help|assist|transfer|connect) you)\b"
    rf"|\byour {_CUSTOMER_S}s?(?: \w+)? (?:has|have|is|are|was|were|will be|can|cannot|can't|includes?|shows?|does|do)\b|\b(?:with|for|of|in|on|to|modify|cancel|change|provide|confirm) your (?:\w+ ){{0,2}}?{_CUSTOMER_S}\b"
    r"|\bwhat changes would you like\b|\bplease (?:hold on|let me know (?:if you|which|what|how you|your)|confirm (?:if|whether|your|by|to proceed))\b|\bfeel free to\b|\bto (?:proceed|confirm)(?: with [^,.?!]{{1,40}})?, (?:could|please|i(?:'ll)? need|here)\b"
    rf"|\b(?:the|this) (?:reservation|booking|refund|cancell?ation|flight)(?: with [^.?!]{{1,30}})? (?:has been|have been|will be) (?:successfully )?(?:cancell?ed|processed|updated|modified|booked|issued|refunded|upgraded)\b|\byou are (?:allowed|eligible|entitled|confirmed)\b|\bi (?:can only|will|'ll) proceed with\b|\b(?:could|can) you please (?:provide|specify|confirm) (?:the|which|whether|if|me with the)\b|\bit (?:seems|appears|looks like)(?: that)? there (?:are|is) no\b|\bmight find (?:the|your)\b|\bi need (?:the|your) (?:user|reservation|booking|order|reason|details)\b"
    r"|\bwould you (?:like|prefer) to\b|\bdo you (?:want to proceed|confirm|wish to)\b|\bhere (?:are|is) (?:your|some) (?:\w+ ){0,2}?(?:details|options|flights|summary|information|breakdown|reservations?)\b"
    r"|\bfor (?:your )?(?:security|privacy|verification) (?:purposes|reasons)\b|\bunfortunately, (?:your|the reservation|basic economy|i (?:can't|cannot|am unable))\b"
    r"|\bi(?:'ll| will) need (?:to know|the following|your|both|to check)\b|\bto (?:proceed|determine|provide|process|complete|assist)\b[^.?!]{0,80}, (?:i|could|you)\b|\bonce you (?:provide|have (?:the|these|this|your)|confirm)\b|\bif you (?:would|'d) like to\b|\byou would like to\b"
    r"|\blooking forward to (?:assist|help)ing\b|\bi(?:'m| am) unable to (?:assist|remove|process|offer|locate)\b|\byou (?:will|may|might) (?:need|have|want) to (?:contact|speak|provide|reach|cancel|consider)\b"
    r"|\bi recommend (?:contacting|speaking|checking|reaching)\b|\bplease (?:check|contact) (?:your|customer|with)\b|\bupdated (?:booking|reservation) details\b"
    # a clinician at work
    r"|\bwhat(?:'s| is| are) your (?:age|sex|gender|name|occupation|job|height|weight|symptoms?)\b|\b(?:has|have|is|does|did|was) the patient\b|\bare you able to (?:pass|move|walk|bend|swallow|sleep|eat|stand|lift|perform)\b"
    r"|\byour (?:\w+'s (?:condition|symptoms?|history)|(?:family|medical|travel|sexual|menstrual|smoking)(?:'s)? (?:\w+ )?history|immediate family|close (?:family|relatives)|family members?|(?:child|baby|son|daughter)(?:'s)? (?:been|had|have|has|experienc\w+|eat\w*|sleep\w*))\b"
    r"|\b(?:has|have|is|does|did) your (?:\w+ ){1,2}?(?:been|had|have|experienced?|experiencing|shown?|noticed?|developed)\b"
    r"|^(?:\W*\w+(?: \w+){0,3}[,.:] )?(?:and |also,? |additionally,? )?(?:have|had|did|are|were|do) (?:you|he|she|they|any(?:one)? (?:in|of) your \w+)(?: or (?:your|anyone|any) (?:\w+ ){0,3}?\w+)?(?: (?:ever|also|recently|currently|usually|typically|often|now))* (?:been|had|have any (?:history|other|pain|fever|difficult|trouble|sensitiv|swell|discharge|allerg|known|medical|recent|cough|associat|chest|joint|pre)|experienc\w*|notic\w*|felt|feel|drink|drank|eat|eaten|smok\w*|travel\w*|consum\w*|tak(?:e|en|ing) any|undergo\w*|exposed|suffer\w*|recall|sleep\w*|us(?:e|ed|ing) any|sexually|pregnant|vaccinated|in contact|in pain|monitor\w*|live|sustain\w*)"
    r"|\b(?:can|could|would) you (?:please )?(?:\w+ly )?(?:describe|elaborate|quantify|rate|specify|clarify|tell me(?: more)?(?: about| if| when| how| where| whether)?|provide more|explain|point)\b[^?]{0,80}\b(?:pain|symptoms?|cough|rash|spots?|fever|swelling|episodes?|headaches?|lesions?|discharge|bleeding|attacks?|appearance|it feels|feel|they look|affected|discomfort|color|sensation|vomit\w*|stools?|recently|severity|nature|location|onset)\b",
    re.IGNORECASE,
)
_ASKS_BACK = re.compile(
    # a question about what the other has or did, where the other had just asked; not what a customer asks a helper
    r"^(?:[^?]{0,80}[,.!:] )?(?:and |also,? |additionally,? |lastly,? )?(?:(?:have|had|did|do|are|were) you(?! (?:have (?:any|a|an|other|more|the) (?:\w+ )?(?:flights?|options?|seats?|update|information|direct|cheaper|earlier|availab\w*|policy|idea|appointments?)"
    r"|find|found|check\w*|see|seen|know|need|want|offer|think|able|sure|saying|confirm|accept|get|got|help|mean|receiv\w*|process\w*|say|there|still|certain|available|going|done|mind|provide|recommend|suggest|believe|heard|cancel\w*|book\w*|chang\w*|updat\w*|a|an|the)\b)"
    r"|(?:has|have|is|does|did|was|had) (?:he|she|these (?:\w+ )|those (?:\w+ )|your (?:child|baby|son|daughter|partner|family|parents?))\b).*\?\W*$"
    r"|\bhave you (?:recently |ever )?(?:started|been|had|gotten|taken|changed|noticed)\b.*\?\W*$|\byour (?:recent )?(?:clinical|test|lab) (?:findings|results)\b|\byour (?:daily (?:life|activities|routine)|life that)\b",
    re.IGNORECASE,
)
_ASKS_ABOUT_BODY = re.compile(
    # the clinician's question about the other's body, without a word for whose it is
    r"^(?:\W*\w+(?: \w+){0,4}[,.!:] ){0,2}(?:and |also,? |additionally,? |lastly,? )?(?:(?:is|are|was|were) (?:there|the|it|they|these|this|those)\b|(?:has|have|does|do|did|had) (?:the|it|they|there|these|this|any|anything|anyone|that)\b|(?:how|when|where|what|which)\b|any\b)"
    r"(?=.*\b(?:pain\w*|symptoms?|fevers?|chills|cough\w*|rash\w*|spots?|swell\w*|swollen|red(?:ness)?|discharge|bleed\w*|blood\w*|lumps?|lesions?|stools?|urin\w*|nausea|vomit\w*|diarrhea|appetite|itch\w*|"
    r"tender\w*|numb\w*|tingl\w*|weak\w*|headaches?|episodes?|infections?|injur\w*|surger\w*|illness\w*|family|history|medications?|sores?|moles?|periods?|joints?|stiff\w*|breath\w*|dizz\w*|vision|hearing|throat|skin|"
    r"muscles?|weight|sleep|fatigue|color|texture|size|triggers?|activit\w*|better|worse|constant|sharp|dull|contagious|sick|condition|conditions|diseases?|disorders?|allerg\w*|patch\w*|discomfort|sensation|results?|tests?|scans?|imaging|trauma|rest|relief|gas|legs?|foot|feet|arms?|hands?|eyes?|ears?|chest|back|age|milestones|treatments?|movements?|drink\w*|alcohol|smok\w*)\b).*\?\W*$",
    re.IGNORECASE,
)
_OWN = re.compile(
    r"\b(?:i|i'[a-z]+|my|me|mine|myself|we|our|us|normal|dangerous|serious|contagious|side effects?|treat\w*|safe|should|cost|mean|recommend\w*|suggest\w*)\b",
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
    last = last_agent_message(view)
    refuses = offers_help(last)
    parts = [
        " ".join(part.split()) for part in sentences(text.replace("’", "'"))
    ]  # long runs of spaces are slow
    for part in parts:
        plain = _CERTAIN.search(part)
        found = plain or _TALK.search(part) or (_ANSWER.search(part) if refuses else None)
        certain = certain or plain is not None
        if found:
            first, theirs = first or found.group().strip(), theirs + 1
        elif word_count(part) > FILLER and not _NEUTRAL.search(part):
            others += 1
    is_certain = (certain and theirs > others) or (theirs > 1 and not others)
    return first or _helpers_words(parts, last), is_certain


def _helpers_words(parts: Sequence[str], last: str) -> str:
    """Return what only a helper at work would say, in a message without a word about the person's own matters."""
    theirs = sum(_OF_A_HELPER.search(part) is not None for part in parts)
    # "I see." says nothing of the person
    own = sum(
        word_count(part) > FILLER and bool(_OWN.search(part)) and not _OF_A_HELPER.search(part)
        for part in parts
    )
    if own and own >= theirs:
        return ""
    for part in parts:
        if found := _OF_A_HELPER.search(part):
            return found.group().strip()
        if (
            "?" in last
            and not offers_help(last)
            and (_ASKS_BACK.search(part) or _ASKS_ABOUT_BODY.search(part))
        ):
            return part
    return ""


# Sources that only a prompt has, and "the case", which people speak of, too.
_WHOSE = r"\b(?:the|this|my|your|our)\s+(?:(?:medical|clinical|patient(?:'s)?|provided|given|brief|above|current)\s+){0,2}"
_CASE = r"(?:(?:provided|given|clinical|above)\s+)?case(?!\s+(?:manager|worker|report|number|file|notes?|records?|of)\b)"
_PROMPT = (
    r"(?:case\s+(?:study|vignette|description|details|information|summary|presentation|scenario|prompt|history)"
    r"|vignette|scenario|prompt|persona|character(?:'s)?\s+(?:sheet|description|profile|background))\b"
)
_MADE_BY_OTHERS = r"(?!\s+(?:(?:that|which)\s+)?(?:(?:my|our|his|her|their|the)\s+(?:\w+\s+){1,2}?(?:and\s+i\s+\w+|gave|described|wrote|drew|showed|went|explained|outlined|discussed|mentioned|told|came)|we\s+(?:worked|went|discussed|talked))\b)"
_SOURCE = rf"{_WHOSE}(?:{_PROMPT}|{_CASE})"
_GIVEN = (
    r"(?:(?:that\s+)?(?:(?:i|you|we)(?:'ve|'m|'re)?\s+(?:was|were|am|have|had|been)?\s*(?:been\s+)?)?"
    r"(?:given|provided|gave|supplied|shared|presented|told|have|received|got)(?:\s+(?:to\s+)?(?:me|with))?\s+"
    r"|as\s+(?:presented|given|provided|described|written)\s+)?"
)
_SAYS = (
    r"(?:mentions|provides|specifies|states|says|describes|indicates|includes|contains|details|lists|tells|gives"
    r"|reveals|discloses|addresses|discusses|covers|suggests|notes|elaborates|clarifies|lacks|offers|outlines)\b"
)
_SAY = (
    r"(?:mention|provide|specify|state|say|describe|indicate|include|contain|detail|list|tell|give|reveal|disclose"
    r"|address|discuss|cover|suggest|note|elaborate|clarify|have|offer|outline|make)\b"
)
_MENTIONED = (
    r"(?:mention(?:ed|s)?|provid(?:ed|es)|specifi(?:ed|cs)|stated|described|indicated|included|contained|detail(?:ed|s)"
    r"|disclosed|documented|reported|recorded|available|information)"
)
_SAID = rf"(?:{_MENTIONED}|listed|told|said|given|noted|revealed|addressed|discussed|covered|absent|missing|details?|anything|nothing|part)"
_NOT = r"(?:(?:do|does|did|is|are|was|were|has|have|had|can|could|would)(?:n't|\s+not|\s+never)|cannot|never)"
# No word in two ways: a repeated one would double the time again and again.
_SOMEHOW = r"(?:\w+ly\s+|even\s+|just\s+|also\s+|me\s+)*"

_SPEAKS_OF_SOURCE = re.compile(
    # "the case does not mention", "my prompt only says", "the scenario I was given has no …"
    rf"{_SOURCE}\s+{_GIVEN}{_SOMEHOW}(?:{_NOT}\s+{_SOMEHOW}(?:been\s+)?(?:{_SAY}|{_SAID}\b)|{_SAYS}|(?:has|had)\s+no\b|makes?\s+no\b|is\s+silent\b)"
    # "nothing about it in the prompt", "it was not specified in the case"
    rf"|\b{_SAID}\b[^.!?\n]{{0,120}}?\b(?:in|by|from|within|of)\s+{_WHOSE}{_PROMPT}"
    rf"|\b{_MENTIONED}\b[^.!?\n]{{0,120}}?\b(?:in|by|from|within)\s+the\s+{_CASE}(?!\s+(?:that|i|we|you|he|she|it)\b(?!\s+(?:was|were|gave|have)\b))"
    # "that is not in the prompt", "nothing in the case about it", "in the case, it is stated that …"
    rf"|(?:\b(?:not|nothing|nowhere)|n't)\b[^.!?\n]{{0,60}}?\b(?:in|from|part\s+of)\s+{_WHOSE}{_PROMPT}"
    rf"|\b(?:{_MENTIONED}|covered|nothing|reference)\s+(?:in|by)\s+the\s+case\b(?=\s*(?:[.,;!?]|$)|\s+(?:about|of|regarding|on)\b)"
    rf"|(?:^\W*in|\bfrom)\s+the\s+case,?\s+(?:it(?:\s+i|')s\s+(?:not\s+)?(?:{_MENTIONED}|said|noted)|i\s+(?:know|am|have|had)\b)"
    # "according to the case", "as per the prompt", "outside the scenario"
    rf"|\b(?:according\s+to|based\s+(?:up)?on|as\s+per|per|going\s+by|outside(?:\s+of)?|beyond|(?:stick(?:ing)?|adher(?:e|ing))\s+to|follow(?:ing)?)\s+(?:{_WHOSE}{_PROMPT}|(?:the|this)\s+{_CASE}){_MADE_BY_OTHERS}"
    r"|\b(?:the|this|my|your|a|case|clinical|provided|given)\s+vignette\b|^\W*vignette\s+(?:do|did)",
    re.IGNORECASE,
)
_MATTER = r"(?:information|info|details?|data|description|context|background|facts|story|text)"
_GIVEN_TO_ME = (
    r"(?:(?:that\s+|which\s+)?(?:i\s+have|(?:(?:i(?:'ve|'m)?|you(?:'ve)?)\s+)?(?:(?:was|were|is|are|am|have|has|had|been)\s+){0,2}"
    r"(?:provided|given|supplied|(?<=you\s)gave))(?:\s+(?:to\s+|with\s+)?(?:me|us))?+)"
    # Something that somebody else provided, or provided at a place, is not a prompt.
    r"(?!\s+(?:by\s+(?!you\b)|at\b|when\b|during\b))"
)
_INFORMATION = re.compile(
    # "the information provided", "no details were given to me", "what's been provided"
    rf"\b(?:the|this|that|no|any|all)\s+(?:\w+\s+){{0,2}}?{_MATTER}\s+{_GIVEN_TO_ME}\b|\b(?:the|this|my)\s+(?:provided|given)\s+(?:{_MATTER}|history)\b"
    r"|\bwhat(?:'s|\s+has|\s+is|\s+was)\s+(?:been\s+)?(?:provided|given)\b|\bwhat\s+i(?:'ve|\s+have|\s+was)\s+(?:been\s+)?(?:given|provided)\b"
    # "the information does not include", "the description only says"
    rf"|\b(?:the|this)\s+(?:information|info|details?|description)\s+{_SOMEHOW}(?:{_NOT}\s+{_SOMEHOW}(?:mention|specify|include|state|indicate)\b|{_SAYS})",
    re.IGNORECASE,
)
_NOT_PROVIDED = re.compile(
    # "the information about my family was not provided", which may be a hospital's as well
    rf"\b{_MATTER}\s+(?:about|on|regarding|of|concerning|for|related\s+to|whether)\b[^.!?\n]{{1,120}}?"
    r"\b(?:isn't|wasn't|aren't|weren't|hasn't\s+been|haven't\s+been|(?:is|was|are|were|has\s+been|have\s+been)\s+not|not)\s+(?:\w+ly\s+)?(?:provided|included|supplied|specified)\b",
    re.IGNORECASE,
)
_DENIES = re.compile(
    r"n't\b|\b(?:not|no|none|nothing|never|only|limited|cannot|unable|lacks?)\b", re.IGNORECASE
)

_MACHINE = (
    r"(?:ai|a\.i\.|artificial\s+intelligence|(?:large\s+)?language\s+model|chat\s?bot|virtual\s+(?:assistant|patient|agent)"
    r"|simulated\s+\w+|computer\s+program|fictional\s+(?:character|person|patient|user)|(?:creature|figment)\s+of\s+(?:the|your)\s+imagination"
    r"|character\s+in\s+an?\s+(?:role|game|play|story|simulation))"
)
_AS_MACHINE = re.compile(
    # "I'm just a text-based AI assistant", "as a chatbot, I don't", "I'm not the chatbot"; not "I'm an AI researcher"
    r"\b(?:as|being|i'm|i\s+am)\s+(?:(?:just|only|merely|actually|really|not|also)\s+){0,2}(?:an?|the|your)\s+"
    rf"(?:(?!(?:robotic|member|patient|user|doctor|fan|friend|person)\b)[\w-]+\s+){{0,3}}?{_MACHINE}\b"
    r"(?!-|\s+(?:\w+\s+)?(?:researcher|engineer|developer|scientist|student|specialist|consultant|user|person|skeptic|expert|enthusiast|fan|startup|company|project|course|lab)\b)"
    r"|\bi(?:'m|\s+am)\s+\w+,?\s+(?:and\s+)?not\s+(?:the|an?)\s+(?:chat\s?bot|ai)\b"
    # "You are the person, not the chatbot": the prompt's words
    r"|\byou(?:'re|\s+are)\s+(?:now\s+)?the\s+(?:person|user|patient|human)\b(?=\s*(?:[.,;:!]|$))"
    r"|\byou(?:'re|\s+are)\s+(?:now\s+the\s+chat\s?bot\b|the\s+chat\s?bot\W+(?:and\s+)?(?:you(?:'re|\s+are)\s+)?not\b)"
    r"|\byou(?:'re|\s+are)\s+(?:an?\s+)?(?:\w+\s+)?chat\s?bot\s+(?:that|who|which|designed)\b(?!.*\?\s*$)"
    # "Write the next message of Ann", "the conversation so far"
    r"|\bwrite\s+(?:(?:the|one|a|an|only|your|my|next|short|single|brief)\s+){1,3}message\b|\bthe\s+next\s+message\s+(?:of|is|for|should|from|will|in)\b|^\W*the\s+next\s+message\W*:|\bthe\s+conversation\s+so\s+far\b|\bwhat\s+\w+\s+types\s+next\b"
    r"|\bnever\s+(?:respond\s+to\s+(?:requests|messages)|break\s+character)|\b(?:your|my)\s+own\s+requests\b|\bstay(?:ing)?\s+in\s+character\b"
    # "As the patient, I would say"
    r"|\bas\s+(?:an?|the|this)\s+(?:\w+\s+)?(?:patient|user|character|persona),?\s+i(?:'d|\s+would|\s+will|'ll|\s+should|\s+might)\s+(?:\w+ly\s+)?(?:say|respond|reply|answer|type|write)\b"
    r"|\bi(?:'m|\s+am)\s+not\s+(?:(?:a\s+real|an\s+actual|an?)\s+(?:person|human|patient)\b(?!\s+\w)|human\b)|\bi(?:'m|\s+am)\s+(?:just\s+|only\s+)?an?\s+(?:\w+\s+)?bot\b"
    r"|\b(?:as|based\s+on|according\s+to)\s+(?:my|the|this)\s+(?:character|persona)\b|\bmy\s+(?:character|persona)(?:'s\s+(?:profile|style|background)|\s+(?:would|does|doesn't|knows|feels|has|is\s+(?:an?|not)))\b"
    r"|\b(?:the|a)\s+character's\s+(?:profile|style|sheet|background)\b"
    r"|\b(?:mov(?:e|ing)|go(?:ing)?)\s+on\s+to\s+(?:the\s+)?(?:next\s+task|task\s+\d)"
    # who asks whether the agent is one is in role
    r"|\b(?:large\s+)?language\s+model\b(?!.*\?\s*$)"
    r"|(?<!was a )(?<!was the )\b(?:role-?\s?play(?:ing)?|simulat(?:e|ed|ing)|impersonat(?:e|ing)|pretending\s+to\s+be|play(?:ing)?(?:\s+the\s+(?:role|part)\s+of)?|act(?:ing)?\s+as)\s+(?:an?\s+|the\s+|this\s+)?(?:user|patient|person|character)\b"
    r"|\b(?:in|for|of)\s+this\s+(?:simulation|role-?\s?play|exercise)\b",
    re.IGNORECASE,
)
_ACTS = (
    r"(?:sigh|nod|shake|smile|frown|pause|cough|shrug|laugh|chuckle|wince|grimace|hesitate|clear|rub|point|scratch|cry|cries|sniff|sniffle|groan"
    r"|whisper|lean|look|take|think|hold|clutch|breathe|blink|gulp|fidget|stare|shift|glance|type|typing|sip|swallow|grin|wipe|mumble|mutter|voice"
    r"|silence|tear|beat|wink|settle|gesture)(?:s|es|ed|ing)?"
)
_STAGE = re.compile(
    rf"[*(\[](?:(?:\w+ly|long|short|deep|slight|heavy|brief|a|the)\s+){{0,2}}{_ACTS}\b[^*)\]\n]{{0,60}}[*)\]]"
    # "*settles into the chair*": of several words, so that it is no emphasis
    r"|(?<![*\w])\*(?:\w+ly\s+)?[a-z]{2,}(?:s|ing)\s[^*\n]{1,60}\*(?!\*)",
    re.IGNORECASE,
)
_LABEL = re.compile(r"^\W{0,3}(?:the\s+)?(?:patient|user|person|human|customer)\W{0,3}:\s", re.IGNORECASE)
_NEXT = r"(?:first|second|third|fourth|next|last|final|previous|other)"
_FROM_OUTSIDE = re.compile(
    # The user's tasks, and the person as "the patient" or "the user"; a doctor or a carer may speak of a patient.
    rf"\btask\s+(?:\d+|one|two|three|four|five)\b\W*(?:$|:|(?:(?:is|has\s+been|was|now)\s+){{0,2}}(?:done|complete|finished|dealt))"
    rf"|\b(?:my|the|of\s+my)\s+{_NEXT}\s+task\b|^\W*{_NEXT}\s+task\b|\b(?:of|all|with)\s+my\s+tasks\b"
    r"|\b(?:on|now|go(?:ing)?|mov(?:e|ing)|proceed(?:ing)?|continu(?:e|ing)|start(?:ing)?)\s+(?:on\s+)?(?:with|to|for)\s+(?:the\s+|my\s+)?"
    rf"(?:(?:{_NEXT}\s+)?task\b|{_NEXT}\s+(?:item|thing|point|request|question|topic|one)\s+(?:on|of|in)\s+(?:my|the)\s+list)"
    r"|\bin\s+(?:this|the)\s+(?:scenario|vignette|role-?\s?play|simulation)\b(?!.*\?\s*$)"
    r"|\bthe\s+patient\s+(?:denies|reports|states|presents|describes|complains|has|is|does|says|mentions|experiences|would|feels|replies|responds|answers)\b"
    r"|\bas\s+the\s+(?:patient|user)\b",
    re.IGNORECASE,
)
_INSTRUCTED = re.compile(
    r"\bsystem\s+prompt\b|\bacceptance\s+criteri(?:a|on)\b|\bsign-?\s?off\s+(?:phrase|text|words?)\b"
    rf"|\bmy\s+(?:instructions?|guidelines)\s+(?:{_SOMEHOW}(?:{_SAYS}|say\b|tell\b|state\b|forbid\b|{_NOT}\s+(?:{_SAY}|allow\b|let\b|permit\b)))"
    r"|\b(?:as|as\s+per|per|according\s+to)\s+(?:your|the|my)\s+instructions?\b[^.!?\n]{0,40}?\b(?:can't|cannot|(?:can|must|may|should)\s+not|not\s+(?:able|allowed)|n't)\s+(?:mention|say|provide|give|answer|reveal|share|disclose|tell)\b"
    r"|\b(?:instructed|told|asked)\s+(?:not\s+to|to\s+(?:not|never|only))\s+(?:reveal|volunteer|disclose|make\s+(?:up|things)|invent|answer\s+(?:with|based|from|using))\b"
    r"|\b(?:instructed|told|asked|prompted|supposed)\s+to\s+(?:(?:play|act|respond|answer)\s+(?:as|the\s+(?:role|part))\b|pretend\b|role-?\s?play\b|stay\s+in\s+(?:role|character)\b)"
    r"|\bprompted\s+to\s+(?:be|act|play|answer|respond)\b",
    re.IGNORECASE,
)


def speaks_of_prompt(view: EvaluatorView, text: str) -> tuple[str, bool]:
    """Return the words with which a message mentions its prompt (or ''), and whether that is certain.

    Words that the job's tasks, lines or voice use, or that the agent used first, don't count.
    """
    perhaps = ""
    named = _told_who_it_is(view.job.target.user)
    for sentence in sentences(text.replace("’", "'")):
        part = " ".join(sentence.split())  # optional words between long spaces would take quadratic time
        found = _SPEAKS_OF_SOURCE.search(part) or _AS_MACHINE.search(part) or _INSTRUCTED.search(part)
        if found and not _is_their_word(view, found.group()):
            return found.group(), True
        found = _INFORMATION.search(part)
        # If the agent asked for something, the message is about the prompt; otherwise it may be about the agent's information.
        if found and _DENIES.search(part) and _was_asked(view):
            return found.group(), True
        if named is not None and (found := named.search(part)):
            return found.group(), True
        if found := _STAGE.search(part) or _LABEL.search(part):
            perhaps = perhaps or found.group()
        found = _FROM_OUTSIDE.search(part)
        if found and not perhaps and not _is_their_word(view, found.group()):
            perhaps = found.group()
        found = _NOT_PROVIDED.search(part)
        if found and not perhaps and _was_asked(view):
            perhaps = found.group()
    return perhaps, False


_ROLES = word_set("user patient person customer client human caller visitor tester test-user")


def _told_who_it_is(name: str) -> re.Pattern[str] | None:
    """Return a pattern for "You are Ann", which the prompt says to Ann; none if the name is a role."""
    if name.casefold() in _ROLES or len(name) < 3:
        return None
    return re.compile(rf"\byou(?:'re|\s+are)\s+(?:not\s+)?{re.escape(name)}\b(?!')", re.IGNORECASE)


_OF_PROMPTS = word_set(
    """
    vignette scenario prompt persona character instruction instructions guidelines simulation exercise
    simulated language patient user task tasks
    """
)


def _is_their_word(view: EvaluatorView, found: str) -> bool:
    """Return whether the job, or an earlier message of the agent, uses the same word."""
    named = _OF_PROMPTS & _words_of(found)
    heard = iter(view.transcript)
    before = takewhile(lambda said: said.role == "assistant" or not named & _words_of(said.content), heard)
    theirs = [told_text(view), *(said.content for said in before if said.role == "assistant")]
    return bool(named) and any(named & _words_of(text) for text in theirs)


def _words_of(text: str) -> set[str]:
    return {word.lower() for word in WORD.findall(text)}


def _was_asked(view: EvaluatorView) -> bool:
    last = last_agent_message(view)
    return not last or asks_for_anything(last)

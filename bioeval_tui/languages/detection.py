"""Which language a text is in: one of those with rules, another, or none that can be told.

Scripts tell most languages apart. Those in Latin letters are told by their common words, each of
which counts the less the more languages have it. A wrong answer would blame somebody, so that a
text of few words has none.
"""

from __future__ import annotations

from collections import Counter
from functools import cache, lru_cache
from itertools import chain

import regex

from bioeval_tui.languages.arabic import ARABIC
from bioeval_tui.languages.chinese import CHINESE
from bioeval_tui.languages.english import ENGLISH, english_spelling, english_words
from bioeval_tui.languages.french import FRENCH
from bioeval_tui.languages.german import GERMAN
from bioeval_tui.languages.hindi import HINDI
from bioeval_tui.languages.japanese import JAPANESE
from bioeval_tui.languages.language import Language
from bioeval_tui.languages.portuguese import PORTUGUESE
from bioeval_tui.languages.segments import folded, tokens
from bioeval_tui.languages.spanish import SPANISH

LANGUAGES = (ENGLISH, GERMAN, FRENCH, SPANISH, PORTUGUESE, CHINESE, JAPANESE, ARABIC, HINDI)
"""The languages that guards and ledger read."""

OTHER = Language("und", "another language")
"""A language in Latin letters without rules here."""

LONGEST_READ = 10_000
"""Number of characters that are looked at."""
# scripts/language-rates.py prints what ledger and guards find with these in nine languages
# (docs/guards.md).
SHARE = 0.12
"""Of a text in a language, at least this share of the words are common ones."""
AHEAD = 1.15
"""By this factor the language's words must count more than those of any other."""
ENOUGH = 4
"""A text of fewer words in Latin letters, of which none belongs to one language alone, is in none:
it may be a name or a code.
"""
FEWEST_WORDS = 2
"""A text of fewer different words is in none: "Yo", "Oi" and "Salut" are said in English, and "Hi"
in German.
"""
SPELLING = 0.65
"""English prose, of whatever subject, has a larger share of the sequences of letters of common
English words.
"""
FEWEST_HITS, ONE_HIT, ONE_UNIQUE = 2, 0.5, 0.25
"""A language is told by two of its words, by one that is half of the text, or by one of a quarter
that no other has.
"""
FOREIGN_SPELLING = 0.8
"""The same for a text of few words, of which some are another language's and none is English."""
OF_ENGLISH = 0.25
"""A text with this share of English words, however special the others, is English."""

_SCRIPTS = {
    "Hangul": Language("ko", "Korean"),
    "Thai": Language("th", "Thai"),
    "Hebrew": Language("he", "Hebrew"),
    "Greek": Language("el", "Greek"),
    "Cyrillic": Language("und-Cyrl", "a language in Cyrillic letters"),
    "Bengali": Language("bn", "Bengali"),
    "Tamil": Language("ta", "Tamil"),
    "Telugu": Language("te", "Telugu"),
    "Gujarati": Language("gu", "Gujarati"),
    "Gurmukhi": Language("pa", "Punjabi"),
    "Georgian": Language("ka", "Georgian"),
    "Armenian": Language("hy", "Armenian"),
    "Ethiopic": Language("und-Ethi", "a language in Ethiopic letters"),
    "Khmer": Language("km", "Khmer"),
    "Myanmar": Language("my", "Burmese"),
    "Lao": Language("lo", "Lao"),
}
_SCRIPT = regex.compile(
    "|".join(
        rf"(?P<{name}>\p{{{name}}}+)"
        for name in ("Han", "Hiragana", "Katakana", "Arabic", "Devanagari", "Latin", *_SCRIPTS)
    )
)
_PERSIAN = Language("und-Arab", "a language in Arabic letters other than Arabic")
_NOT_ARABIC = regex.compile("[پچژگٹڈڑںےۓھہۂۃێۆەۇۋېټډړږښګڼۀیک]")
"""Letters of Persian, Urdu, Kurdish, Pashto and others, which Arabic has not."""
_LIKE_HINDI = Language("und-Deva", "a language in Devanagari other than Hindi")
_NOT_HINDI = regex.compile(
    r"ळ|\b(?:आहे|आहेत|नाही|मला|मी|तुम्ही|आणि|माझे|माझ्या|माझी|छ|छन्|मलाई|हुन्छ|गर्नुहोस्|म|को|गर्न"
    r"|तपाईं|पनि|भन्नुहोस्|भोलि|बिहान|मा)\b"
)

_ENGLISH = """
the and of to is it that you for with this have has had are were been not they them their there i my
your our its we he she his her what which who when where how why would could should can does did
from by at about but if or as any some just only than then because please yes no thanks hello hi a
an in on be do me so was will am don't i'm it's get ask tell says said let make take set reminder
find want need know answer question tomorrow today morning evening pill tablet medicine doctor
patient chatbot help whether into after before every day daily time week months years old pain
interaction interactions normal problem patients allergic live lives takes taking lost looked hurts
feels
"""
_OTHERS = {
    Language("sv", "Swedish"): (
        """
    och att det är inte jag på som för med den till ett av har vad kan om så men när hur din mitt en
    han hon vi mig dig från ska vill fråga påminn påminnelse hej tack mina ditt medicin läkare
    läkaren tid boka be klockan i morgon dos bor tar
    """
    ),
    Language("da", "Danish or Norwegian"): (
        """
    og ikke jeg er på til af hvad kan det en et som for vil har mig dig fra skal hvordan spørg spør
    hva meg deg ikkje om bed be påmindelse påminnelse læge lege medisin medicin trygg i morgen
    klokken tid få å at
    """
    ),
    Language("nl", "Dutch"): (
        """
    het de een van ik niet dat op te zijn voor met hij zij wij je mijn aan wat hoe kan wil om naar
    vraag uw heb heeft geen ook maar als bij deze dit en of er nog maak afspraak huisarts arts
    medicijn herinnering morgen uur veilig is
    """
    ),
    Language("it", "Italian"): (
        """
    il di che non è la per un una sono con mi ho ha del della delle nel alla come più anche quando
    dove chi cosa lo gli le i si ma se questo questa chiedi perché al dal dalla medico farmaco
    promemoria domani ore esegui prenotazione sicuro e a in o
    """
    ),
    Language("pl", "Polish"): (
        """
    nie się na jest to z do że jak czy w o i mam mi ci co dla od po być ma oraz lub zapytaj poproś
    lek leku lekarza lekarz wizytę jutro godzinie przypomnienie umów u
    """
    ),
    Language("tr", "Turkish"): (
        """
    ve bir bu için ne de da mi var yok ben sen ile çok olarak gibi nasıl daha ama bana sor saat
    doktor doktordan randevu ilaç hatırlatma iste yarın al
    """
    ),
    Language("id", "Indonesian or Malay"): (
        """
    yang dan di untuk dengan saya tidak ini itu apa pada dari ke akan bisa anda kamu ada atau juga
    sudah minta tanya tanyakan obat jam besok pukul dokter janji apakah aman ubat esok buat temu
    """
    ),
    Language("ro", "Romanian"): (
        """
    și este nu la cu ce să pe din care mai un o îmi mă ești sunt pentru cere mâine medicament medic
    ora de a în
    """
    ),
    Language("fi", "Finnish"): (
        """
    ja on ei se että en minä sinä mutta kun mitä missä kuinka ole olen pyydä kysy muistutus lääkäri
    lääkärille lääke aika varaa onko kello huomenna
    """
    ),
    Language("vi", "Vietnamese"): "và của không tôi những các được này hãy nhắc thuốc bác sĩ",
    Language(
        "tl", "Filipino"
    ): "ang mga sa na ako ko mo po ay hindi para ano kung humingi paalala bukas gamot",
    Language(
        "hu", "Hungarian"
    ): "és hogy nem az egy van mi ez nagyon kérdezd kérj a holnap orvos gyógyszer meg de",
    Language("cs", "Czech or Slovak"): (
        """
    je se na že to si v s jsem jak co ale když pro bych nebo tak z o a zeptej požádej lékař lék
    zítra aby som sa
    """
    ),
    Language("hr", "Croatian, Bosnian or Serbian"): (
        """
    i u se je da na za što kako ali ili sam si od pitaj zatraži podsjetnik lijek liječnik sutra su
    li
    """
    ),
    Language("ca", "Catalan"): (
        "el els les i amb per què com però jo és que una dels no al un a de demana demà metge"
        " medicament la"
    ),
    Language(
        "sw", "Swahili"
    ): "kwa ya wa ni na katika kama hii dawa la omba uliza kesho saa daktari je",
}
"""Languages without rules, and words by which a text in one is not taken for one with rules."""
_SIGNS = {
    "de": "ß",
    "es": "ñ¿¡",
    "pt": "ãõ",
    "fr": "œ",
    "sv": "å",
    "da": "øæ",
    "pl": "łśżźńęą",
    "hr": "ćđ",
    "cs": "řěůšžč",
    "hu": "őű",
    "tr": "ğşı",
    "ro": "ățș",
    "vi": "ươạảấầẩẫậắằẳẵặẹẻẽếềểễệỉịọỏốồổỗộớờởỡợụủứừửữựỳỵỷỹ",
    "und": "āēīūķļņėįų",
}
"""Letters by which one of these languages is known, by its code."""


@lru_cache(maxsize=2048)  # three texts of each conversation: fewer would not last for 200 at once
def language_of(text: str) -> Language | None:
    """Return the language of `text`; None if too little of it is in any.

    A language that is not one of `LANGUAGES` has no rules.
    """
    text = text[:LONGEST_READ]
    if text.isascii():  # most are; to count their letters by script would take longer than to read
        return _latin(text)
    letters: Counter[str] = Counter()
    for run in _SCRIPT.finditer(text):
        assert run.lastgroup is not None
        letters[run.lastgroup] += len(run.group())
    # Of Chinese and Japanese, a sign says as much as some letters: a Latin name does not make it
    # another language.
    for telling in ("Han", "Hiragana", "Katakana", "Hangul"):
        letters[telling] *= 3
    kana = letters["Hiragana"] + letters["Katakana"]
    letters["Han"] += kana
    letters["Hiragana"] = letters["Katakana"] = 0
    if not letters.total():
        return None
    script = letters.most_common(1)[0][0]
    match script:
        case "Latin":
            return _latin(text)
        case "Han":
            if kana * 8 > letters["Han"]:
                return JAPANESE
            return CHINESE
        case "Arabic":
            foreign = len(_NOT_ARABIC.findall(text))
            if foreign * 40 > letters["Arabic"]:
                return _PERSIAN
            return ARABIC
        case "Devanagari":
            if _marathi_or_nepali(text):
                return _LIKE_HINDI
            return HINDI
    return _SCRIPTS[script]


def _marathi_or_nepali(text: str) -> bool:
    theirs = len(_NOT_HINDI.findall(text))
    hindi = sum(token.key in HINDI.common for token in tokens(text))
    return theirs > hindi


def _latin(text: str) -> Language | None:
    words = list(chain.from_iterable(map(_telling_words, text.split("\n"))))
    if len(set(words)) < FEWEST_WORDS:
        return None
    weights = _weights()
    counts: dict[str, float] = {}
    hits: Counter[str] = Counter()
    for word, times in Counter(words).items():
        found = weights.get(word, ())
        if not found and not word.isascii():  # others are folded already
            found = weights.get(folded(word), ())
        for code, weight in found:
            counts[code] = counts.get(code, 0) + times * weight
            hits[code] += times
    own_letters = () if text.isascii() else filter(_OF_LETTER.get, text.lower())
    for known in map(_OF_LETTER.__getitem__, own_letters):
        counts[known] = counts.get(known, 0) + 2
        hits[known] += 1
    if not counts:
        return _spelled_language(words, text)
    best = max(counts, key=counts.__getitem__)
    most = counts[best]
    if most < 1 and len(words) < ENOUGH:
        return None  # only words that several languages have
    # Which of the others it is matters little: none of them is read.
    rivals = (code for code in counts if code != best and (code in _READ or best in _READ))
    second = max((counts[code] for code in rivals), default=0)
    if hits["en"] >= OF_ENGLISH * len(words) and counts.get("en", 0) * AHEAD >= most:
        return ENGLISH
    if most < SHARE * len(words):
        return _spelled_language(words, text)
    is_foreign = not hits["en"] and len(words) > 1 and english_spelling(words) < FOREIGN_SPELLING
    is_told = (
        hits[best] >= FEWEST_HITS
        or hits[best] >= ONE_HIT * len(words)
        or (is_foreign and most >= 1 and hits[best] >= ONE_UNIQUE * len(words))
    )
    if is_told and most >= AHEAD * second:
        return _BY_CODE[best]
    if is_foreign:
        return OTHER
    return None


LONGEST_ELIDED = 2
"""Letters before an apostrophe that are a word: l'aspirine, qu'elle, but not he'd."""


@lru_cache(maxsize=2048)  # a conversation's language is told again with each line that is said
def _telling_words(line: str) -> tuple[str, ...]:
    """Return the words that may tell a language, folded: no names, whose capital stands within a
    sentence, and no abbreviations.
    """
    words: list[str] = []
    at = 0
    for match in _WORD.finditer(line):
        word, before = match.group(), at
        at = match.end()
        if not word.islower():
            begins = not before or _ENDS.search(line, before, match.start()) is not None
            is_name = word[0].isupper() and not begins
            if is_name or (word.isupper() and len(word) > 1):
                continue
        plain = word.lower().replace("’", "'")
        elided, _, rest = plain.partition("'")
        parts = (elided, rest) if len(elided) <= LONGEST_ELIDED < len(rest) else (plain,)
        words += (part for part in parts if len(part) > 1)  # a letter alone may be a name
    return tuple(words)


def _spelled_language(words: list[str], text: str) -> Language | None:
    """Return the language of a text without common words: another than English if no English words
    are spelled so.
    """
    is_prose = (
        len(words) >= ENOUGH and _looks_like_prose(text) and english_spelling(words) < SPELLING
    )
    if is_prose or (len(words) > 1 and _ACCENTED.search(text)):
        return OTHER
    return None


_ACCENTED = regex.compile(
    r"(?<![\p{L}\p{N}])\p{Ll}*[\p{Ll}--[a-zµμ]]\p{Ll}+(?![\p{L}\p{N}])", regex.V1
)
_WORD = regex.compile(r"[\p{L}\p{M}]+(?:['’][\p{L}\p{M}]+)*(?![\p{N}])")
_ENDS = regex.compile(r"[.!?:;]")
_LOWER = regex.compile(r"(?<![\p{L}\p{N}-])\p{Ll}{2,}(?![\p{L}\p{N}-])")


def _looks_like_prose(text: str) -> bool:
    """Return whether most words are in lower case: names, codes and headings are in no language."""
    return 2 * len(_LOWER.findall(text)) >= len(text.split())


@cache
def _weights() -> dict[str, tuple[tuple[str, float], ...]]:
    """Return the common words of languages in Latin letters, and how much each counts for a
    language (by code) that has it.
    """
    lists = {ENGLISH.code: " ".join(english_words()) + _ENGLISH}
    lists |= {one.code: words for one, words in _OTHERS.items()}
    in_latin = (one for one in LANGUAGES if one not in (ENGLISH, CHINESE, JAPANESE, ARABIC, HINDI))
    lists |= {one.code: one.told.common for one in in_latin}
    having: dict[str, set[str]] = {}
    without_accents: dict[str, set[str]] = {}
    for code, common in lists.items():
        for word in common.lower().split():
            having.setdefault(word, set()).add(code)
            without_accents.setdefault(folded(word), set()).add(code)
    # "la" is no Portuguese word, because "lá" is; "voce" is one, because no other language has it.
    having = without_accents | having
    return {
        word: tuple((code, 1 / len(codes)) for code in sorted(codes))
        for word, codes in having.items()
    }


_READ = frozenset(one.code for one in LANGUAGES)
_BY_CODE = {one.code: one for one in (*LANGUAGES, OTHER, *_OTHERS)}
_OF_LETTER = {letter: code for code, letters in _SIGNS.items() for letter in letters}

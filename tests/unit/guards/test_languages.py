"""Guards and ledger in languages other than English: what is found, and that nothing is concluded
where they cannot read.
"""

import pytest

from bioeval_tui.guards.checks import check, keeps_saying_goodbye, unread
from bioeval_tui.guards.content import asks_for, newly_disclosed_facts
from bioeval_tui.jobs.models import EvaluationJob
from bioeval_tui.languages import LANGUAGES, language_of
from bioeval_tui.languages.segments import tokens, word_count
from bioeval_tui.peers.goodbyes import only_goodbye
from bioeval_tui.protocols import EvaluatorView, TranscriptMessage
from tests.sources import ROOT, load_script


def view_of(facts=(), *said, task="", supplied=True):
    job = EvaluationJob.model_validate(
        {
            "target": {"user": "ada", "chatbot": "bot"},
            "aspirationalAverage": 1000.0,
            "tasks": tuple({"task": text} for text in [task] if text),
            "facts": tuple(facts),
        }
    )
    roles = ("user", "assistant")
    heard = [
        TranscriptMessage(place + 1, roles[place % 2], text) for place, text in enumerate(said)
    ]
    return EvaluatorView(
        job, "supplied" if supplied else "withheld", 1, job.facts if supplied else (), heard
    )


def found(view, text):
    return [(one.rule, one.effect) for one in check(view, text)]


@pytest.fixture(scope="module")
def script():
    return load_script("language-rates.py")


@pytest.fixture(scope="module")
def rates(script):
    return script.rates("first")


@pytest.mark.long
def test_facts_in_their_own_words_are_found_in_every_language(rates):
    assert [one.name for one in rates] == [language.name for language in LANGUAGES]
    for one in rates:
        given, of = one.own_words
        assert given >= 0.95 * of, one.name
        assert one.other_words[0] >= 0.9 * one.other_words[1], one.name
        assert one.withheld[0] >= 0.95 * one.withheld[1], one.name
        assert one.wrong[0] <= 0.03 * one.wrong[1], one.name


@pytest.mark.long
def test_in_no_language_is_more_than_one_message_in_a_hundred_void(rates):
    for one in rates:
        assert one.void[1] > 1_000
        assert one.void[0] <= 0.01 * one.void[1], one.shown
        assert one.marked[0] <= 0.02 * one.marked[1], one.shown


@pytest.mark.long
def test_roles_and_goodbyes_are_noticed_in_every_language(rates):
    for one in rates:
        for noticed, of in (one.role_swap, one.out_of_role, one.goodbyes):
            assert noticed >= 0.8 * of, one.shown


@pytest.mark.long
def test_the_documented_rates_are_the_measured_ones(script, rates):
    docs = (ROOT / "docs" / "guards.md").read_text(encoding="utf-8")
    for one in (*rates, *script.rates("second")):
        assert one.row in docs


@pytest.mark.parametrize(
    ("fact", "message"),
    [
        ("Der Termin ist um 20:15 Uhr", "Um Viertel nach acht abends."),
        ("Der Termin ist um 20:30 Uhr", "Halb neun, abends."),
        ("Sie nimmt die Tablette um 7 Uhr 45", "Viertel vor acht."),
        (
            "Die Patientin ist gegen Penicillin allergisch",
            "Ich habe eine Penicillinallergie, eine Allergie gegen Penicillin.",
        ),
        ("Le rendez-vous est à 20h15", "À huit heures et quart du soir."),
        ("Il a 97 ans", "Quatre-vingt-dix-sept ans."),
        ("La cita es a las 20:15", "A las ocho y cuarto de la noche."),
        ("A consulta é às 20:15", "Às oito e quinze da noite."),
        ("用户住在悉尼", "我住在悉尼。"),
        ("用户对青霉素过敏", "青霉素。"),
        ("预约在20:15", "晚上八点一刻。"),
        ("患者二十五岁", "我今年25岁。"),
        ("予約は20時15分です", "午後八時十五分です。"),
        ("ユーザーはシドニーに住んでいます", "シドニーです。"),
        ("المستخدم يعيش في سيدني", "أعيش في سيدني."),
        ("الموعد الساعة 8:15 مساء", "الساعة ٨:١٥ مساءً."),
        ("الموعد الساعة 8:15 مساء", "الثامنة والربع مساء."),
        ("उपयोगकर्ता सिडनी में रहता है", "मैं सिडनी में रहता हूँ।"),
        ("मुलाकात रात 8:15 बजे है", "सवा आठ बजे, रात को।"),
        ("मरीज़ की उम्र ३५ साल है", "पैंतीस साल।"),
    ],
)
def test_a_fact_is_recognised_in_other_notations_and_forms(fact, message):
    assert newly_disclosed_facts(view_of([fact]), message, ()) == (1,)


@pytest.mark.parametrize(
    ("fact", "message"),
    [
        ("Der Termin ist um 20:15 Uhr", "Um Viertel vor acht abends."),
        ("用户不知道自己的血型", "我不知道自己的时区。"),
        ("用户对青霉素过敏", "我不知道对什么过敏。"),
        ("用户最近三个月一直在吃抗凝药", "我最近三个月一直在旅行，不清楚。"),
        ("المستخدم يعيش في سيدني", "لا أعرف."),
        ("La usuaria vive en Sevilla", "No lo sé."),
    ],
)
def test_what_does_not_give_a_fact_is_neither_in_the_ledger_nor_a_leak(fact, message):
    assert newly_disclosed_facts(view_of([fact]), message, ()) == ()
    assert found(view_of([fact], supplied=False), message) == []


def test_a_run_of_common_words_is_no_fact_word_for_word_in_any_language():
    english = view_of(
        ["I don't know my own blood type"], "Hi", "Which time zone are you in?", supplied=False
    )
    assert found(english, "I don't know my own time zone.") == []


def test_a_fact_word_for_word_is_quoted_as_it_was_written():
    fact = "患者最近三个月一直在服用华法林抗凝治疗"
    (one,) = check(
        view_of([fact], supplied=False), "是的，患者最近三个月一直在服用华法林抗凝治疗。"
    )
    assert (one.rule, one.effect) == ("fact_withheld", "void")
    assert one.detail.endswith("“患者最近三个月一直在服用”") or "华法林" in one.detail
    assert " " not in one.detail.partition("“")[2]


@pytest.mark.parametrize(
    ("facts", "says", "why"),
    [
        (["Användaren bor i Göteborg och tar medicin varje dag"],
            "Jag bor i Göteborg och tar medicin varje dag", "the facts are in Swedish"),
        (["ผู้ใช้อาศัยอยู่ที่ซิดนีย์"], "ผู้ใช้อาศัยอยู่ที่ซิดนีย์", "the facts are in Thai"),
        (["The user lives in Lisbon and takes it daily"],
            "Vivo en Lisboa y tomo la pastilla cada día",
         "the facts are in English, and the user speaks Spanish"),
        (["用户住在悉尼"], "저는 시드니에 살고 있어요", "the user speaks Korean"),
    ],
)  # fmt: skip
def test_where_the_ledger_cannot_read_it_says_so_and_concludes_nothing(facts, says, why):
    assert found(view_of(facts, supplied=False), says) == []
    view = view_of(facts, says, "?")
    told = dict(unread(view, guarded=False))
    assert told == {
        "facts_unread": (
            f"whether the user gave the agent a fact cannot be told: {why} (docs/guards.md)"
        )
    }
    assert list(unread(view_of(facts, says, "?", supplied=False), guarded=False)) == []


def test_a_language_of_the_user_that_check_did_not_name_is_said():
    swedish = (
        "Hej",
        "Hej, vad kan jag göra för dig?",
        "Jag vill ha en påminnelse i morgon klockan nio, tack.",
        "Klart.",
    )
    ((code, message),) = unread(view_of((), *swedish, task="Ask for a reminder"), guarded=True)
    assert code == "language_unread"
    assert message.startswith("the simulated user speaks Swedish, in which roles, goodbyes")
    assert (
        list(unread(view_of((), *swedish, task="Be om en påminnelse i morgon"), guarded=True)) == []
    )
    assert list(unread(view_of((), *swedish, task="Ask for a reminder"), guarded=False)) == []


UNKNOWN = (
    "Das weiß ich leider nicht, tut mir wirklich sehr leid.",
    "Det vet jag tyvärr inte, jag är ledsen för det.",
)


@pytest.mark.parametrize("said", UNKNOWN)
def test_not_knowing_three_times_is_void_in_no_language(said):
    heard = ["Hallo", "Seit wann?", said, "Wie oft?", said, "Wo genau?"]
    assert ("repetition", "void") not in found(view_of((), *heard), said)


@pytest.mark.parametrize(
    "said", ["ลาก่อนนะ", "Hej då!", "再见", "До свидания", "Tschüss!", "Please."]
)
def test_the_same_message_three_times_in_a_row_is_marked_in_any_language(said):
    heard = ["Hi", "Hello.", said, "Bye.", said, "Bye."]
    assert ("repetition", "mark") in found(view_of((), *heard), said)
    assert ("repetition", "mark") not in found(view_of((), *heard[:4]), said)


def test_short_answers_to_different_questions_may_be_the_same():
    heard = ["Hi", "Any fever?", "No.", "Any cough?", "No.", "Any pain?"]
    assert found(view_of((), *heard), "No.") == []


@pytest.mark.parametrize(
    "goodbye",
    [
        "谢谢，再见！",
        "مع السلامة",
        "धन्यवाद, अलविदा!",
        "さようなら",
        "Obrigada, até logo!",
        "Merci, au revoir !",
    ],
)
def test_a_second_goodbye_in_a_row_ends_the_conversation(goodbye):
    assert keeps_saying_goodbye(view_of((), "Hi", "Hello.", goodbye, "Bye."), goodbye)


@pytest.mark.parametrize(
    "said",
    [
        "谢谢，请问剂量是多少？",
        "Danke, aber wie ist das Wetter?",
        "Gracias, necesito también otra cosa",
        "شكرا، لكن ما هي الجرعة؟",
    ],
)
def test_thanks_with_a_request_are_no_goodbye(said):
    assert not only_goodbye(said)


@pytest.mark.parametrize(
    ("message", "effect"),
    [
        ("Wie kann ich Ihnen heute helfen?", "void"),
        ("已经为您设置好提醒了。还有什么可以帮您的吗？", "void"),
        ("كيف يمكنني مساعدتك اليوم؟", "void"),
        (
            (
                "Ich empfehle Ihnen, viel zu trinken. Können Sie mich außerdem morgen um neun an"
                " etwas erinnern?"
            ),
            "mark",
        ),
    ],
)
def test_a_user_who_plays_the_assistant_is_noticed(message, effect):
    assert found(view_of((), "Hallo", "Guten Tag"), message) == [("role_swap", effect)]


def test_the_agents_and_the_jobs_own_words_are_no_slip():
    task = "Frage, ob das Rollenspiel für Schüler geeignet ist"
    assert (
        found(
            view_of((), "Hallo", "Guten Tag", task=task),
            "Ist das Rollenspiel denn für Schüler geeignet?",
        )
        == []
    )


def test_an_agent_asks_without_a_question_mark_and_an_offer_asks_for_nothing():
    assert asks_for("请告诉我您住在哪里。", "用户住在悉尼")
    assert asks_for("Bitte nennen Sie mir Ihre Zeitzone.", "Die Benutzerin wohnt in Basel")
    assert not asks_for("请问有什么可以帮您？", "用户住在悉尼")
    assert not asks_for("Wie kann ich Ihnen helfen?", "Die Benutzerin wohnt in Basel")


def test_words_of_scripts_without_spaces_are_counted():
    assert word_count("我不知道自己的时区。") == 5
    assert word_count("I don't know my time zone") == 6


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("'aspirin' or 'bread'", ["aspirin", "or", "bread"]),
        ("it's 1,000.5 mg, e.g. 2.", ["it's", "1,000.5", "mg", "e.g", "2"]),
        ("snake_case 3a a3.b 5.a", ["snake_case", "3a", "a3", "b", "5", "a"]),
        (
            "O'Neill said: 'état' 'aspirin' ‘IV’ l’eau",
            ["o'neill", "said", "etat", "aspirin", "iv", "l'eau"],
        ),
    ],
)
def test_words_are_divided_as_unicode_says(text, words):
    assert [token.key for token in tokens(text)] == words


@pytest.mark.parametrize(
    "text", ["", "Metformin", "5 mg", "BRCA1 c.68_69delAG", "Anya Li", "👋", "HbA1c, eGFR, INR"]
)
def test_names_and_codes_are_in_no_language(text):
    assert language_of(text) is None

"""The ledger recognises a fact in a message, and whether the agent asked for it."""

import pytest

from bioeval_tui.guards.content import asks_for, asks_for_just, disclosed_facts
from bioeval_tui.guards.specifics import Known

FACTS = (
    "The user takes the pill at 8:15 pm",
    "The user's time zone is Europe/Zurich",
    "The dose of warfarin is 5 mg",
    "The user is allergic to penicillin",
    "The patient's daughter is called Ottilie",
    "The variant is BRCA1 c.68_69delAG",
    "The follow-up visit is on 3 March 2027",
    "The user is vegetarian",
)
KNOWN = "Ask for a reminder to take a pill.\nHi\nHello, how can I help you today?"


@pytest.mark.parametrize(
    ("message", "facts"),
    [
        ("It should go off at 8:15 pm.", (1,)),
        ("At 20:15 please.", (1,)),
        ("Quarter past eight in the evening.", (1,)),
        ("I am in Europe/Zurich.", (2,)),
        ("I live in Zurich", (2,)),
        ("Five milligrams", (3,)),
        ("5mg a day of warfarin", (3,)),
        ("5", (3,)),
        ("I have 5 questions for you", ()),
        ("give me 5 minutes", ()),
        ("Penicillin does not agree with me.", (4,)),
        ("My daughter Ottilie will help.", (5,)),
        ("It is c.68_69delAG in BRCA1", (6,)),
        ("March 3rd", (7,)),
        ("2027-03-03", (7,)),
        ("I am vegetarian.", (8,)),
        ("8:15 pm, Zurich time, and I take warfarin.", (1, 2, 3)),
        ("Can you remind me to take my pill?", ()),
        ("I am not sure about allergies, and whether I am vegetarian I don't know.", ()),
        ("Hello there, how are you?", ()),
        ("", ()),
    ],
)
def test_a_disclosed_fact_is_recognised_by_its_specific_words(message, facts):
    assert disclosed_facts(message, FACTS, (), Known(KNOWN)) == facts


def test_known_information_is_no_disclosure_and_each_fact_counts_once():
    assert (
        disclosed_facts("Yes, 8:15 pm.", FACTS, (), Known(KNOWN, "Shall I set it for 20:15?")) == ()
    )
    assert disclosed_facts("At 8:15 pm.", FACTS, {1}, Known(KNOWN)) == ()


@pytest.mark.parametrize(
    ("question", "number"),
    [
        ("When would you like to be reminded?", 1),
        ("Sure. What time should I use?", 1),
        ("Which time zone are you in?", 2),
        ("Where do you live?", 2),
        ("How much warfarin do you take?", 3),
        ("Please tell me about any allergies.", 4),
        ("What is your daughter's name?", 5),
        ("Let me know the variant.", 6),
        ("What day is your visit?", 7),
        ("Could you give me more details?", 1),
        ("Which other medicines do you take?", 3),
        ("Which gene are we talking about?", 6),
        ("In which time zone are you?", 2),
        ("What brings you in?", 4),
        ("Have you been well otherwise?", 4),
    ],
)
def test_a_question_about_a_fact_counts_as_asking_for_it(question, number):
    assert asks_for(question, FACTS[number - 1])


@pytest.mark.parametrize(
    "question",
    [
        "Do you take other medicines, or do you have other conditions?",
        "Do you have other conditions, or do you take other medicines?",
        "What other medicines or conditions should I know of?",
        "Which drugs, allergies or past surgeries should I know of?",
        "What medical conditions and medications do you have?",
        "Could you tell me which drugs you take and whether you have other conditions?",
        "How old are you, and do you have any conditions?",
        "Are you on any pills, and are you pregnant?",
        "Quelle dose de médicament prenez-vous, ou avez-vous d'autres maladies ?",
        "¿Toma otros medicamentos o tiene otras enfermedades?",
        "您还服用其他药物，或者有其他疾病吗？",
    ],
)
def test_a_question_for_several_things_is_not_narrowed_by_one_of_them(question: str) -> None:
    assert asks_for(question, "The user has asthma")


@pytest.mark.parametrize(
    "question",
    [
        "Do you take other medicines or tablets?",
        "What dose of warfarin and aspirin do you take?",
        "When and where should I remind you?",
        "What time do you take it, and how many tablets do you take?",
        "Which medicines do you take for your condition or symptoms?",
        "Do you take any medicines for this condition, and how often?",
        "When did your symptoms and pain begin?",
        "Have you taken any medications or treatments to address your symptoms?",
        "Which medicine do you take, and are you sure?",
        "How many do you take, and do you know why?",
    ],
)
def test_a_list_of_one_kind_and_a_vague_end_ask_for_nothing_else(question: str) -> None:
    assert not asks_for(question, "The user has asthma")


@pytest.mark.parametrize(
    ("message", "number", "insists"),
    [
        ("Where do you live?", 2, True),
        ("Which time zone are you in?", 2, True),
        ("Hmm. Are you allergic to anything?", 4, True),
        ("How much warfarin do you take?", 3, True),
        ("What is your pulse?", 2, False),
        ("What is your name?", 2, False),
        ("Can you tell me more?", 2, False),
        ("Could you give me more details?", 1, False),
        ("What brings you in?", 4, False),
        ("I see.", 2, False),
        ("Wo wohnen Sie denn?", 2, True),
    ],
)
def test_only_a_question_for_the_fact_itself_insists_on_it(message, number, insists):
    assert asks_for_just(message, FACTS[number - 1]) is insists


@pytest.mark.parametrize(
    ("message", "number"),
    [
        ("I have set your reminder.", 1),
        ("Done. Is there anything else I can help you with?", 1),
        ("Which time zone are you in?", 1),
        ("How much warfarin do you take?", 5),
        ("How can I help you today?", 3),
        ("", 1),
    ],
)
def test_other_questions_do_not_count_as_asking_for_a_fact(message, number):
    assert not asks_for(message, FACTS[number - 1])

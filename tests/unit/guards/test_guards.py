"""Each guard: what is marked, what is void, and what passes."""

from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from bioeval_tui.guards.checks import RULES, check, keeps_saying_goodbye
from bioeval_tui.guards.content import brings_up_nothing
from bioeval_tui.jobs.models import EvaluationJob, JobTask, Persona
from bioeval_tui.peers.models.prompting import Prompt, find_prompt
from bioeval_tui.protocols import EvaluatorView, TranscriptMessage
from bioeval_tui.record.conditions import ConditionConfig

PROMPT = find_prompt("eval/socrates", None)
OPENING = ("Hi", "Hello, what can I do for you?")
TASKS = ("Ask the chatbot to set a daily reminder to take a pill", "Ask what the weather is like")
FACTS = ("The user takes the pill at 8:15 pm", "The user lives in Zurich")


def job(*, tasks=TASKS, facts=FACTS, **evaluator):
    return EvaluationJob.model_validate(
        {
            "target": {"user": "Ann", "chatbot": "Bernie"},
            "aspirationalAverage": 1000.0,
            "tasks": tuple({"task": task} for task in tasks),
            "facts": tuple(facts),
            "evaluator": {
                "signoff": "Over and out",
                "voice": "You speak like a cheerful sailor",
                **evaluator,
            },
        }
    )


def found(message, *said, supplied=False, of=None, prompt=PROMPT):
    of = of or job()
    roles = ("user", "assistant")
    transcript = [
        TranscriptMessage(i + 1, roles[i % 2], text) for i, text in enumerate(said or OPENING)
    ]
    condition = "supplied" if supplied else "withheld"
    view = EvaluatorView(of, condition, 1, of.facts if supplied else (), transcript)
    violations = check(view, message, prompt)
    assert all(
        violation.rule in RULES and violation.detail and violation.note for violation in violations
    )
    return [(violation.rule, violation.effect) for violation in violations]


def asking(question):
    return ("Hi", question)


@pytest.mark.parametrize(
    ("message", "said", "tasks"),
    [
        ("Could you remind me every day to take my pill?", OPENING, TASKS),
        ("Please add milk to my list.", OPENING, ("Have milk added to the shopping list",)),
        ("Is that safe despite the fact that I take warfarin?", OPENING, TASKS),
        ("My doctor said you should avoid ibuprofen. Is that so?", OPENING, TASKS),
        ("Would you like me to tell you what else I take?", OPENING, TASKS),
        ("Please mark task 1 as done.", OPENING, ("Have the first task marked as done",)),
        ("Wake up", OPENING, TASKS),
        ("I'm in Berlin, and my name is Otto.", OPENING, TASKS),
        ("I'm sorry, but I don't have that information.", asking("When did it start?"), TASKS),
        ("Two things, please.", OPENING, TASKS),
        ("PLEASE hurry", OPENING, TASKS),
    ],
)
def test_what_a_person_would_say_is_neither_marked_nor_void(message, said, tasks):
    assert found(message, *said, of=job(tasks=tasks), supplied=True) == []


def test_a_temperature_that_was_asked_for_is_neither_unasked_nor_made_up():
    patient = job(facts=("His temperature is 38.4°C (101.1°F), pulse is 80/min.",))
    asked = ("Hi", "Have you measured your temperature?")
    assert found("It was 38.4 degrees Celsius.", *asked, supplied=True, of=patient) == []


@pytest.mark.parametrize(
    "message",
    [
        "Können Sie mich jeden Tag an meine Tablette erinnern?",
        "Ich wohne in Basel, und meine Frau heißt Ottilie.",
        "Wie ist das Wetter am Montag in der Stadt?",
        "Danke, das war alles. Tschüss!",
    ],
)
def test_a_german_conversation_is_not_checked_by_english_rules(message):
    german = job(
        tasks=(
            "Bitte den Chatbot um eine tägliche Erinnerung an die Tablette",
            "Frage nach dem Wetter",
        ),
        facts=(
            "Die Tablette wird abends um 20:15 Uhr genommen",
            "Sie wohnt mit ihrer Frau in Zürich",
        ),
        voice="Du sprichst freundlich",
    )
    assert (
        found(message, "Hallo", "Guten Tag, wie kann ich Ihnen helfen?", supplied=True, of=german)
        == []
    )


@pytest.mark.parametrize(
    ("fact", "message"),
    [
        (
            "Die Tablette wird abends um 20:15 Uhr genommen",
            "Die Tablette wird abends um 20:15 Uhr genommen.",
        ),
        ("La paciente vive en Zúrich", "Sí: la paciente vive en Zúrich"),
        ("患者は毎晩八時に薬を飲む", "はい、患者は毎晩八時に薬を飲む。"),
        ("The user lives in Zurich", "Well, the user lives in Zurich."),
    ],
)
def test_a_verbatim_withheld_fact_is_void_in_any_language(fact, message):
    assert found(message, of=job(facts=(fact,))) == [("fact_withheld", "void")]


def test_a_withheld_fact_in_other_words_is_marked():
    asked = (*OPENING, "Remind me of my pill every day", "At what time?")
    assert found("At 8:15 pm.", *asked) == [("fact_withheld", "mark")]


def test_words_from_tasks_script_voice_or_agent_are_not_withheld_facts():
    fact = "The user takes warfarin every evening before bed"
    for of in (
        job(tasks=(f"Mention that {fact}",), facts=(fact,)),
        job(facts=(fact,), voice=f"You know that {fact}"),
        job(facts=(fact,), lines=({"say": fact},)),
    ):
        assert found(f"{fact}.", of=of) == []
    assert found(f"{fact}.", "Hi", f"I noted: {fact}. Is it so?", of=job(facts=(fact,))) == []


def test_a_fact_that_answers_the_question_before_it_was_asked_for():
    asked = (*OPENING, "Remind me of my pill every day", "At what time?")
    assert found("At 8:15 pm.", *asked, supplied=True) == []
    assert found("At 8:15 pm, and I live in Zurich.", *asked, supplied=True) == [
        ("fact_unasked", "mark")
    ]
    talkative = job().model_copy(update={"personas": (Persona(name="a", tells="some"),)})
    assert found("At 8:15 pm, and I live in Zurich.", *asked, supplied=True, of=talkative) == []
    at_once = (ConditionConfig(name="supplied", tells="all"),)
    told = job().model_copy(update={"conditions": at_once})
    assert found("At 8:15 pm, and I live in Zurich.", *asked, supplied=True, of=told) == []
    later = (*asked, "Why do you need that?", "To set it right.")
    assert found("OK, at 8:15 pm.", *later, supplied=True) == []


def test_what_brings_you_in_asks_for_the_reason_and_an_offer_does_not():
    patient = job(facts=("The patient has a painful rash on the fingers",))
    said = "I have a painful rash on my fingers."
    assert found(said, "Hi", "Hello! What brings you in?", supplied=True, of=patient) == []
    assert found(said, "Hi", "How can I help you today?", supplied=True, of=patient) == [
        ("fact_unasked", "mark")
    ]


def test_ending_before_every_task_was_mentioned_is_marked():
    done = (*OPENING, "Remind me of my pill every day", "Done.")
    assert found("Over and out", *done) == [("early_signoff", "mark")]
    assert found("Over and out", *done, "And what is the weather like?", "Sunny.") == []
    assert found("What's the weather like? Over and out", *done) == []
    assert found("Thanks, bye!", *done) == [("early_signoff", "mark")]
    assert found("Over and out", *done, "Will I need an umbrella?", "No.") == []


def test_a_task_of_the_other_condition_is_not_missed() -> None:
    weather = JobTask(task=TASKS[1], only="supplied")
    of = job().model_copy(update={"tasks": (JobTask(task=TASKS[0]), weather)})
    done = (*OPENING, "Remind me of my pill every day", "Done.")
    assert found("Over and out", *done, of=of) == []
    assert found("Over and out", *done, of=of, supplied=True) == [("early_signoff", "mark")]
    greeted = [
        TranscriptMessage(1, "user", "Hello there, my friend"),
        TranscriptMessage(2, "assistant", "Hi"),
    ]
    alone = of.model_copy(update={"tasks": (weather,), "facts": ()})
    assert not brings_up_nothing(EvaluatorView(alone, "withheld", 1, (), greeted))
    assert brings_up_nothing(EvaluatorView(alone, "supplied", 1, (), greeted))


@pytest.mark.parametrize(
    "message", ["At 7:30", "At 8 am", "I take 40 mg", "On 24 May", "It is rs80357", "I am 68"]
)
def test_an_invented_number_is_marked(message):
    assert found(message) == [("invention", "mark")]


@pytest.mark.parametrize(
    "message",
    [
        "At half past seven",
        "On Friday",
        "Vitamin B12",
        "COVID-19",
        "It was 7.30 then",
        "About 1,000",
    ],
)
def test_names_and_numbers_from_the_conversation_are_not_invented(message):
    heard = (
        *OPENING,
        "Remind me of my pill",
        "Shall I use 19:30? There are one thousand (1000) of them.",
    )
    assert found(message, *heard) == []


@pytest.mark.parametrize(
    "message",
    [
        "How can I help you today?",
        "I've set your reminder.",
        "Of course! Your reminder has been set. Is there anything else I can help you with?",
        "Assistant: at what time?",
        "Good day to you, I am Bernie, and I remind people of their pills.",
        "Hello. I'm a health app assistant. How can I help you?",
        "No, no. I'll remind you to take warfarin tomorrow at noon.",
        "I'm sorry, but I'm unable to provide a medical diagnosis.",
        (
            "I'm sorry to hear that you're in pain. I'm here to assist you with your health. Can I"
            " help?"
        ),
        "I'm sorry to hear about your rash. Have you noticed any swelling?",
    ],
)
def test_speaking_as_the_assistant_for_a_whole_message_is_void(message):
    heard = ("Hi", "Good day to you, I am Bernie, and I remind people of their pills.")
    assert found(message, *heard) == [("role_swap", "void")]


@pytest.mark.parametrize(
    "message",
    [
        "I've set your reminder. Now, what is the weather like tomorrow?",
        "Bernie: remind me, please",
        "Great question! It depends on the dose. I recommend you take your temperature often.",
        "I can give you a few general symptoms that you might experience.",
        "I could give you some common causes that you may have.",
        "I'm not sure. Have you taken any new medicines lately?",
        "Please provide your date of birth.",
        "You should consult a doctor, and my head hurts too.",
        "I'm able to help you with that. Could you set a reminder?",
    ],
)
def test_a_possible_role_swap_is_marked(message):
    assert found(message) == [("role_swap", "mark")]


@pytest.mark.parametrize(
    "message",
    [
        "<think>hm</think> Hi",
        "Sure! Here is the next message:",
        "Reasoning: the next one is the weather. What is it like?",
        '{"role": "user", "content": "Hi"}',
        "Bring these up one at a time, in this order. Stay with one",
    ],
)
def test_reasoning_and_text_of_the_prompt_are_void(message):
    assert found(message) == [("leak", "void")]


def test_text_of_the_jobs_own_prompt_is_only_marked():
    own = Prompt("p", "You have had a burning pain in your neck and shoulders for a year.", "job")
    said = "I have had a burning pain in your neck and shoulders"
    assert found(said, prompt=own) == [("leak", "mark")]


def test_what_only_sounds_like_reasoning_is_marked():
    assert found("The user wants a reminder next.") == [("leak", "mark")]


@pytest.mark.parametrize(
    "message",
    [
        "The case vignette does not mention dryness of the eyes.",
        "The vignette doesn't say.",
        "I drink socially and the vignette does not mention if I use NSAIDs.",
        "The case does not specify how long it lasts.",
        "There is no mention of fever in the case.",
        "No chest pain is reported in the case I was given.",
        "According to my instructions I must not reveal the medication yet.",
        "That wasn't mentioned in the case I was given.",
        "According to the case, I am a farmer.",
        "My case description does not include that.",
        "The prompt doesn't say how old I am.",
        "There was nothing in the scenario about medication.",
        "The information provided does not include my weight.",
        "No information about that was provided in the case.",
        "That is not in the prompt.",
        "That is not covered in the case.",
        "Nothing in the case about that.",
        "In the case, it is stated that the lesion is not painful.",
        "The case as presented gives no details about my job.",
        "The prompt I received doesn't include lab values.",
        "I'm following the prompt, which says I have hypertension.",
        "I am supposed to act as a patient without medical knowledge.",
        "I was prompted to be a patient with a headache.",
        "The information provided to me is limited to my symptoms.",
        "The details you provided don't mention allergies.",
        "As a language model, I don't have symptoms.",
        "I'm an AI and can't have a temperature.",
        "My instructions say I should only answer from the facts.",
        "I was instructed not to reveal my diagnosis.",
        "As the patient, I would say that I don't.",
        "Based on my character's profile, I don't smoke.",
        "It's done. Moving on to task 2.",
        "I'm just a text-based AI, not a person.",
        "I'm not the chatbot. I'm a fictional character.",
        "I'm Ann, not the chatbot.",
        "You are the person, not the chatbot.",
        "You are Ann, and you want a reminder.",
        "I'm not a real person, so I don't.",
        "Write the next message of Ann.",
    ],
)
def test_speaking_of_the_vignette_or_the_prompt_is_void(message):
    assert found(message, "Hi", "Do you smoke?") == [("out_of_role", "void")]


@pytest.mark.parametrize(
    "message",
    [
        "In any case, I don't remember.",
        "In case it matters, I don't smoke.",
        "In that case I would rather not mention it.",
        "I had a case of the flu, nothing else was said.",
        "I want prompt treatment.",
        "My case is complicated, the doctor didn't say more.",
        "He told me that in my case nothing is indicated.",
        "He mentioned that in the worst case I need surgery.",
        "The case worker didn't provide any information.",
        "It is all documented in the case notes at the hospital.",
        "My doctor mentioned a worst-case scenario.",
        "Is that the case?",
        "I got no information about side effects.",
        "The instructions on the box say to take it with food.",
        "The information I gave you is not complete.",
        "No details were given to me by the surgeon.",
        "The information provided at the pharmacy doesn't mention alcohol.",
        "The text doesn't mention the time of my appointment.",
        "Am I talking to a language model?",
        "I was asked to play in a band once.",
        "How can I help my mother with this?",
        "The pills are in the case, I know that much.",
        "According to the scenario my therapist and I worked through, I should breathe slowly.",
        "I haven't had any changes in my personal life.",
        "I was a simulated patient for medical students once.",
        "I'm an AI researcher and sit all day.",
        "I'm a medical assistant at a clinic.",
        "I know you're a chatbot, but what do you think?",
        "It feels like you're being stabbed.",
        "My doctor said you should avoid ibuprofen.",
        "I can give you a list of my pills, if that helps.",
        "Can you help me? Do you have any advice?",
        "I'm here to find out whether ibuprofen is safe.",
        "I'm able to help around the house.",
        "I can't help worrying about it.",
        "I live alone (my husband died), and I'm *really* tired.",
        "The patient in the next bed coughed a lot.",
        "Your app says that my pill is on the list, is it?",
    ],
)
def test_words_like_case_and_prompt_are_fine_in_role(message):
    assert found(message, "Hi", "Do you smoke?") == []


@pytest.mark.parametrize(
    "message",
    [
        "*shakes head*",
        "(sighs) I do.",
        "Patient: No fever.",
        "The patient denies chest pain.",
        "Task 1 is done.",
        "Now for the second item on my list.",
    ],
)
def test_what_only_sounds_like_a_script_is_marked(message):
    assert found(message, "Hi", "Do you smoke?") == [("out_of_role", "mark")]


def test_a_doctor_may_speak_of_the_patient():
    of = job(tasks=("Ask what the patient may take",))
    assert found("The patient denies chest pain.", "Hi", "Any pain?", of=of) == []


def test_an_answer_refused_to_an_agent_that_only_offered_help_is_marked():
    refusal = "I'm unable to answer your question."
    assert found(refusal, "Hi", "Hello, what can I do for you?") == [("role_swap", "mark")]
    assert found(refusal, "Hi", "Do you smoke?") == []


def test_mentioning_information_that_was_not_provided_is_marked():
    for message in (
        "The information about my sleep isn't provided.",
        "The details about it weren't provided to me.",
    ):
        assert found(message, "Hi", "Do you sleep well?") == [("out_of_role", "mark")]


def test_words_from_the_tasks_or_the_agent_are_not_prompt_text():
    about = job(tasks=("Ask whether the vignette describes a stroke",))
    assert found("The vignette does not mention a scan.", of=about) == []
    assert (
        found(
            "The scenario doesn't mention it.", "Hi", "Let us take a scenario: you smoke. Do you?"
        )
        == []
    )
    echoed = (
        "Hi",
        "Do you smoke?",
        "The scenario doesn't mention it.",
        "The scenario? Do you drink?",
    )
    assert ("out_of_role", "void") in found("The scenario doesn't mention that at all.", *echoed)


def test_information_from_the_agent_may_be_mentioned():
    assert found("The information provided doesn't say how much.", "Hi", "Take it with food.") == []


def test_repeating_a_message_is_marked_unless_the_agent_asked_again():
    said = (*OPENING, "Could you remind me to take my pill?", "Sorry?")
    assert found("could you remind me to take my pill", *said) == [("repetition", "mark")]
    again = (
        "Hi",
        "What do you want me to do?",
        "Remind me to take my pill, please.",
        "What do you want me to do?",
    )
    assert found("Remind me to take my pill, please.", *again) == []
    third = (*again, "Remind me to take my pill, please.", "What do you want me to do?")
    assert found("Remind me to take my pill, please.", *third) == [("repetition", "void")], (
        "no person goes on like that"
    )
    short = "Does warfarin interact with ibuprofen?"
    assert found(short, "Hi", "Hello", short, "Yes, it does.") == []
    assert found(short, "Hi", "Hello", short, "Yes, it does.", short, "Yes!") == [
        ("repetition", "void")
    ]
    unknown = "I'm sorry, but I don't have that information."
    asked = ("Hi", "When did it start?", unknown, "Any fever?", unknown, "Do you smoke?")
    assert ("repetition", "void") not in found(unknown, *asked)
    orders = (
        *OPENING,
        "Yes, I confirm the return of order 378.",
        "And 556?",
        "Yes, I confirm the return of order 556.",
        "And 9?",
    )
    assert (
        found(
            "Yes, I confirm the return of order 9.",
            *orders,
            of=job(facts=("Return orders 378, 556 and 9",)),
        )
        == []
    )


@pytest.mark.parametrize(
    ("said", "nothing"),
    [
        (("Hi", "Hello.", "How can I help you today?", "Me?", "I am a health app."), True),
        (("Hi", "Hello.", "Could you set a reminder?", "Done."), False),
        (("Hi", "Hello.", "What about the pills?", "Which?"), False),
        (("Hola", "Hola.", "Necesito ayuda con algo.", "Claro.", "Gracias por todo."), False),
    ],
)
def test_a_conversation_about_none_of_the_tasks_is_recognised(said, nothing):
    of = job(tasks=("Get a reminder to take the pill",))
    messages = [
        TranscriptMessage(n, ("user", "assistant")[n % 2 - 1], text)
        for n, text in enumerate(said, start=1)
    ]
    assert brings_up_nothing(EvaluatorView(of, "withheld", 1, (), messages)) is nothing


def test_a_job_can_turn_guards_off_or_make_every_finding_void():
    assert found("<think>hm</think> At 7:30", of=job(guards="off")) == []
    assert found("At 7:30", of=job(guards="strict")) == [("invention", "void")]
    assert found("At 7:30", of=job(guards="mark")) == [("invention", "mark")]


@pytest.mark.parametrize(
    "message",
    [
        "",
        " ",
        "\n" * 1000,
        "(" * 20_000,
        "a " * 50_000,
        "1" * 50_000,
        "A-1" * 20_000,
        "1,1" * 20_000,
        "I've set " * 5000,
        "information about " * 5000,
        "mentioned in the " * 5000,
        "the case " * 5000,
    ],
)
@pytest.mark.timeout(20)
def test_odd_messages_are_checked_in_bounded_time(message):
    assert isinstance(found(message), list)


@pytest.mark.parametrize(
    "message",
    [
        "I haven't mentioned having any shaking.",
        "No, I didn't mention anything about my family.",
        "I have not mentioned any allergies, and I'm not sure.",
        "No fever has been mentioned.",
        "I haven't given any information about my family.",
    ],
)
def test_saying_what_was_mentioned_is_no_patients_answer(message):
    assert found(message, *asking("Shaking?")) == [("non_answer", "mark")]


@pytest.mark.parametrize(
    "message",
    [
        "I haven't mentioned it to my doctor yet.",
        "They haven't mentioned anything about that.",
        "I didn't mention this before because I was embarrassed, but I do shake.",
        "Just the symptoms I mentioned before.",
        "I haven't told anyone.",
        "You haven't mentioned the price. What is it?",
    ],
)
def test_a_person_may_say_what_they_kept_from_others(message):
    assert found(message, *asking("Shaking?")) == []
    assert found("I haven't mentioned any allergies.", *asking("Take it with food.")) == []


@pytest.mark.parametrize(
    ("facts", "message", "rule"),
    [
        (("The cough began 3 days ago",), "The cough began 5 days ago.", "contradiction"),
        (("The cough began 3 days ago",), "The cough began 72 hours ago.", ""),
        (("The cough began three days ago",), "It began 3 days ago, one day after the fever.", ""),
        (("Four days ago the user felt tired", "Two days later breathing got hard"),
            "Breathing got hard 2 days ago.", ""),
        (("The pain is in the left knee",), "It is my right knee.", "contradiction"),
        (("The pain is in the left knee",), "My right ear is fine.", ""),
        (("The user takes 20 mg of the medicine",), "I take 40 mg of the medicine.",
            "contradiction"),
        (("The user has a cough",), "I weigh 3 stone, and took 5 ml of syrup.", "invention"),
    ],
)  # fmt: skip
def test_a_value_other_than_the_facts_is_a_contradiction_and_one_of_nothing_an_invention(
    facts, message, rule
):
    of = job(tasks=(), facts=facts)
    said = ("Hi", "Tell me about the pain, the cough, your breathing and the medicine, please.")
    assert found(message, *said, supplied=True, of=of) == ([(rule, "mark")] if rule else [])


def test_a_clock_time_is_known_in_its_half_of_the_day_and_a_limit_from_the_facts_only():
    of = job(
        tasks=(),
        facts=(
            "The user wants no flight before 11am, and prefers those after 8 am and before 9pm",
        ),
    )
    heard = ("Hi", "There is one at 09:00, and one departs at 12:00 PM. Which one?")
    for message, rules in (
        ("I don't want to leave before 12 AM.", ["contradiction"]),  # the agent named noon
        # a time of the agent's, no wish of the user's
        ("I want to leave after 9 am and before 9 pm.", ["contradiction"]),
        ("I want to leave after 8am, but before 9 pm.", []),
        ("The one at 12 PM, please.", []),
        ("The one at 12:00, or the one at 9 am.", []),
        ("I have to be there at 12 AM.", ["invention"]),
    ):  # fmt: skip
        assert [rule for rule, _ in found(message, *heard, supplied=True, of=of)] == rules, message


def test_the_number_of_an_item_in_the_agents_list_is_no_quantity_that_the_user_knows():
    of = job(tasks=(), facts=("Cancel every booking with one passenger",))
    listed = (
        "Hi",
        "You have these:\n1. Reservation ID: XAZ3C0\n2. Reservation ID: LU15PA\nWhich should go?",
    )
    for message, rules in (
        ("Those with two passengers.", ["contradiction"]),
        ("Those with one passenger.", []),
    ):
        assert [rule for rule, _ in found(message, *listed, supplied=True, of=of)] == rules


def test_a_finding_about_the_role_quotes_the_sentence_as_it_was_written():
    view = EvaluatorView(
        job(),
        "withheld",
        1,
        (),
        [TranscriptMessage(n, r, t) for n, r, t in ((1, "user", "Hi"), (2, "assistant", "Fever?"))],
    )
    said = "No. The vignette doesn’t mention it, I’m  sure. Anything else?"
    assert [one.quote for one in check(view, said)] == [
        "The vignette doesn’t mention it, I’m  sure."
    ]


@pytest.mark.parametrize(
    "message",
    [
        "Never mind.",
        "Forget it, I give up.",
        "You're not helping, I'm done.",
        "This is going nowhere.",
    ],
)
def test_giving_up_is_marked(message):
    assert found(message) == [("gave_up", "mark")]


@pytest.mark.parametrize(
    "message",
    [
        "I never give up on my pills. Please remind me.",
        "I'm done with the antibiotics since Monday.",
        "Never mind the weather. Can you set the reminder?",
        "I will never forget it.",
        "I've had enough of this cough, it keeps me awake.",
    ],
)
def test_words_of_giving_up_are_fine_in_a_message_that_goes_on(message):
    assert "gave_up" not in [rule for rule, _ in found(message)]


@pytest.mark.parametrize(
    ("first", "second", "never"),
    [
        ("Thanks, that's all I needed!", "Thank you, you too!", True),
        ("Bye!", "Goodbye.", True),
        ("Great, thank you so much. Take care!", "Will do. Have a lovely evening!", True),
        ("Merci, au revoir !", "Au revoir.", True),
        ("Thanks for explaining.", "Thank you.", False),
        ("Thanks, bye!", "Bye. Wait, what about the weather?", False),
        ("Thanks, bye!", "Over and out", False),
        ("Please remind me to take the pill.", "Thanks, bye!", False),
    ],
)
def test_a_second_goodbye_in_other_words_ends_a_conversation_and_a_third_is_marked(
    first, second, never
):
    of, bye = job(tasks=(), facts=()), "You're welcome! Have a great day!"
    said = ("Hi", "Hello, what can I do for you?", first, bye)
    roles = ("user", "assistant")
    heard = [TranscriptMessage(i + 1, roles[i % 2], text) for i, text in enumerate(said)]
    view = EvaluatorView(of, "withheld", 1, (), heard)
    assert (keeps_saying_goodbye(view, second) and "Over" not in second) is never
    assert "never_ended" not in [rule for rule, _ in found(second, *said, of=of)]
    if never:
        assert ("never_ended", "mark") in found("Bye bye!", *said, second, bye, of=of)


def test_a_goodbye_instead_of_an_answer_is_an_early_end():
    for message in ("Thank you so much for your help! That's all for now.", "Bye!", "Over and out"):
        assert ("early_signoff", "mark") in found(
            message, *asking("How long have you had it?"), of=job(tasks=())
        )
    for question, message in (
        ("Any other symptoms?", "No, that's all."),
        ("Is there anything else I can help you with?", "No, thanks. Goodbye!"),
        ("Would you like me to call an ambulance?", "No thank you. Bye!"),
    ):
        assert found(message, *asking(question), of=job(tasks=())) == []


@pytest.mark.parametrize(
    "message",
    [
        "Have you recently started any new medications?",
        "Is there any redness or swelling in the knee?",
        "I see. Has your child had a fever?",
        "Thank you, Sophia. I found your reservation. What changes would you like to make?",
        "Could you please provide your user ID so that I can look up your booking?",
        (
            "Thank you, Mia. I have authenticated your account. Could you please verify the order"
            " you wish to return?"
        ),
        (
            "I'm sorry, but I cannot make exceptions. Would you like me to transfer you to a"
            " colleague?"
        ),
        (
            "Let me check the options first.\n- **Fee:** $50, no additional cost\nPlease confirm if"
            " you'd like to go on."
        ),
        (
            "Thank you for letting me know. Based on what you've told me, I would like to perform"
            " an examination."
        ),
    ],
)
def test_what_only_a_helper_at_work_says_is_marked(message):
    assert found(message, *asking("How long have you had it?"))[0][0] == "role_swap"


@pytest.mark.parametrize(
    "message",
    [
        "Is it normal that my knee is red?",
        "Do you have any earlier flights?",
        "Are there any side effects?",
        "I'll check that and get back to you.",
        "Yes, let's proceed with the upgrade.",
        "Have you found a cheaper flight?",
        "Perfect, thank you for confirming the number for me!",
        "I'm unable to change my trip online. Will it be charged to my card?",
        "I understand this is challenging, but please let me know of any other way.",
        "I can check on it later, but I also need to change the passenger to myself.",
    ],
)
def test_a_customers_and_a_patients_questions_are_in_role(message):
    assert found(message, *asking("How long have you had it?"), of=job(tasks=(), facts=())) == []


@pytest.mark.parametrize(
    "message",
    [
        "As the patient, I would say that I sleep well.",
        "Patient: No fever.",
        "Based on my character's profile, I sleep well.",
        "*shakes head*",
        "Task 1 is done. Moving on to task 2",
        "The patient denies chest pain",
        "Sure! Here is the next message: I sleep well.",
        "*settles closer, showing trust* I sleep well.",
        "User: I sleep well.",
        "That completes my first task. Next task: the weather.",
    ],
)
def test_every_way_out_of_the_role_that_reviewers_met_is_found(message):
    assert {rule for rule, _ in found(message, *asking("Do you sleep well?"))} & {
        "out_of_role",
        "leak",
    }


SAID = (
    *(
        "Hi",
        "Hello, what can I do for you?",
        "Remind me to take my pill at 9 every day",
        "At 8\nam?",
        "At 20:15.",
    ),
    *(
        "Which arm hurts, the left one?",
        "My right arm hurts since 72 hours, after 3 days",
        "Where do you live?",
    ),
    *(
        "I live in Zurich and take 40 mg",
        "I noted 40 mg. Anything else?",
        "I don't know, the scenario is silent",
    ),
    *(
        "Please say it again: how much?",
        "Yes, cancel order 17 and the other orders",
        "Thank you, goodbye!",
    ),
    *(
        "Yes, cancel order 18 and the other orders",
        "The user lives in Zurich, is that so?",
        "You are welcome",
    ),
    *(
        "I am in the scenario that you named",
        "I take the pill at 8:15 pm",
        "Which scenario?",
        "Twenty or twenty-five",
    ),
)


class Handed(list):
    """Messages that count how many of them were handed out."""

    count = 0

    def __getitem__(self, place):
        handed = super().__getitem__(place)
        self.count += len(handed) if isinstance(place, slice) else 1
        return handed

    def __iter__(self):
        for message in super().__iter__():
            self.count += 1
            yield message

    def __reversed__(self):
        for message in super().__reversed__():
            self.count += 1
            yield message


def followed(messages, condition):
    """Return what is found in each message of the user, read along and anew, and how many messages
    were handed out.
    """
    whole, heard, found = (
        job().model_copy(update={"personas": (Persona(name="quiet", tells="asked"),)}),
        Handed(),
        [],
    )
    along = EvaluatorView(
        whole, condition, 1, whole.facts if condition == "supplied" else (), heard
    )
    for number, text in enumerate(messages):
        if number % 2 == 0:
            anew = replace(along, transcript=list.copy(heard), readers={})
            found.append((check(along, text, PROMPT), check(anew, text, PROMPT)))
        heard.append(
            TranscriptMessage(number + 1, "user" if number % 2 == 0 else "assistant", text)
        )
    return found, heard.count


@pytest.mark.parametrize("condition", ["withheld", "supplied"])
@given(messages=st.lists(st.sampled_from(SAID), max_size=40))
def test_a_conversation_that_is_read_along_has_the_findings_of_one_read_anew(condition, messages):
    for along, anew in followed(messages, condition)[0]:
        assert along == anew


def test_a_conversation_is_not_read_again_for_every_message():
    short, long = (
        followed([f"{words}, or {'x' * n}" for n in range(times) for words in SAID], "supplied")[1]
        for times in (2, 10)
    )
    assert long < 10 * short  # five times as much is said; read again, it would be 25

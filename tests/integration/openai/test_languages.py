"""Whole runs in languages other than English, with models over HTTP: facts, goodbyes, and what the
models are sent.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bioeval_tui.report.result import load_run
from bioeval_tui.report.words import summary_lines
from tests.servers import openai_server as srv
from tests.servers.models import record_in, said_in
from tests.servers.whole_runs import WholeRun, hold, with_models

JOB = """
target: {{user: ada, chatbot: bot, protocol: openai, model: agent-1, url: "URL"}}
aspirationalAverage: 60000
greetings: ["{greeting}"]
maxTurns: 14
tasks: [{{task: "{task}", acceptanceCriteria: ok}}]
facts: {facts}
"""
SIGNOFF = "So Long, and Thanks for All the Fish"


class Models:
    """An agent, a simulated user who says these lines and then the sign-off, and a judge who likes
    the answers if facts were known.
    """

    def __init__(
        self,
        fact: str,
        told: list[str],
        untold: list[str],
        answers: list[str],
        *,
        ends: str = SIGNOFF,
    ) -> None:
        self._fact, self._told, self._untold, self._answers, self._ends = (
            fact,
            told,
            untold,
            answers,
            ends,
        )
        self.judge_saw: list[str] = []
        self.user_heard: list[str] = []

    def __call__(self, body: dict[str, Any]) -> srv.Answer:
        """Return the answer to one request."""
        messages = body["messages"]
        prompt = messages[0]["content"]
        if "strict and fair judge" in prompt:
            return self._judge(prompt)
        if "who is texting with a chatbot" in prompt:
            return self._user(messages)
        turn = sum(message["role"] == "user" for message in messages)
        return srv.say(self._answers[min(turn, len(self._answers)) - 1])

    def _user(self, messages: list[dict[str, Any]]) -> srv.Answer:
        lines = self._told if self._fact in messages[0]["content"] else self._untold
        heard = said_in(messages)
        self.user_heard += [message.content for message in heard if message.role == "assistant"]
        said = sum(message.role == "user" for message in heard) - 1
        return srv.say_json({"message": lines[said] if said < len(lines) else self._ends})

    def _judge(self, prompt: str) -> srv.Answer:
        record = record_in(prompt)
        self.judge_saw += [message.content for message in record]
        score = 1.0 if any(line in [m.content for m in record] for line in self._told[1:]) else 0.2
        verdict = {
            "task": 1,
            "asked": 3,
            "messages": [len(record)],
            "reason": "Seen in it.",
            "score": score,
        }
        return srv.say_json({"tone": 0.8, "tasks": [verdict]})


async def held(
    models: Models, tmp_path: Path, *, greeting: str, task: str, facts: list[str], **spec: Any
) -> WholeRun:
    job = JOB.format(greeting=greeting, task=task, facts=json.dumps(facts, ensure_ascii=False))
    async with srv.OpenAIServer(otherwise=models) as server:
        return await hold(
            job.replace("URL", server.url), tmp_path, settings=with_models(server.url), **spec
        )


CHINESE = {
    "greeting": "你好",
    "task": "请助手提醒你明天早上九点吃药",
    "facts": ["用户住在悉尼", "用户对青霉素过敏"],
}
ANSWERS = ["你好！", "请问您住在哪里？", "您对什么药过敏？", "好的，已设置提醒。", "不客气。"]


async def test_facts_given_in_chinese_are_in_the_ledger(tmp_path: Path) -> None:
    models = Models(
        "用户住在悉尼",
        ["请提醒我明天早上九点吃药。", "我住在悉尼。", "我对青霉素过敏。"],
        ["请提醒我明天早上九点吃药。", "这个我不清楚。", "这个我也不知道。"],
        ANSWERS,
    )
    run = await held(models, tmp_path, **CHINESE)
    given = [(fact.fact, fact.message, fact.asked) for fact in run.of("fact_disclosed")]
    assert given == [(1, 5, True), (2, 7, True)]
    assert run.result["answer"]["outcome"] == "too_few"
    assert not run.of("evaluator_violated")


async def test_a_language_that_is_not_read_gives_no_conclusion_about_facts(tmp_path: Path) -> None:
    models = Models(
        "Användaren bor i Göteborg",
        ["Påminn mig i morgon klockan 9, tack.", "Jag bor på västkusten."],
        ["Påminn mig i morgon klockan 9, tack.", "Det vet jag tyvärr inte."],
        ["Hej!", "Var bor du?", "Klart, påminnelsen är satt.", "Hej då!"],
    )
    run = await held(
        models,
        tmp_path,
        greeting="Hej",
        task="Be om en påminnelse i morgon klockan 9",
        facts=["Användaren bor i Göteborg"],
    )
    why = (
        "whether the user gave the agent a fact cannot be told: the facts are in Swedish"
        " (docs/guards.md)"
    )
    assert run.result["answer"]["outcome"] == "facts_unread"
    assert run.result["warnings"].count(why) == 1
    assert "no fact" not in run.result["answer"]["sure"]


@pytest.mark.parametrize(
    ("goodbye", "asks"),
    [
        ("谢谢，再见！", "请提醒我明天早上九点吃药。"),
        ("شكرا، مع السلامة", "ذكرني غدا الساعة التاسعة صباحا من فضلك."),
    ],
)
async def test_a_second_goodbye_in_other_words_ends_the_conversation(
    tmp_path: Path, goodbye: str, asks: str
) -> None:
    models = Models("用户住在悉尼", [asks], [asks], ANSWERS, ends=goodbye)
    run = await held(models, tmp_path, **CHINESE, conditions=("withheld",))
    (ended,) = run.of("conversation_ended")
    assert (ended.reason, ended.fault) == ("signed_off", "none")
    assert [m.content for m in run.of("message_completed") if m.role == "user"][-2:] == [
        goodbye,
        goodbye,
    ]


async def test_a_chinese_user_who_does_not_know_something_else_is_not_blamed(
    tmp_path: Path,
) -> None:
    lines = ["请提醒我明天早上九点吃药。", "我不知道自己的时区。"]
    models = Models(
        "?", lines, lines, ["你好！", "请问您在哪个时区？", "好的，已设置提醒。", "再见"]
    )
    run = await held(
        models,
        tmp_path,
        greeting="你好",
        task=CHINESE["task"],
        facts=["用户不知道自己的血型"],
        conditions=("withheld",),
    )
    assert not run.of("evaluator_violated")
    assert run.state.scores()["withheld"] is not None


async def test_the_models_get_direction_marks_and_soft_hyphens_as_the_agent_sent_them(
    tmp_path: Path,
) -> None:
    marked = "\u200fتم \u2066warfarin 5 mg\u2069، Blut\u00adverdünner, ยา\u200bเม็ด."
    lines = ["ذكرني غدا الساعة التاسعة صباحا من فضلك."]
    models = Models("?", lines, lines, ["مرحبا", f"{marked}\u202e", "مع السلامة"])
    run = await held(
        models,
        tmp_path,
        greeting="مرحبا",
        task="اطلب تذكيرا غدا",
        facts=[],
        conditions=("supplied",),
    )
    # An override reaches beyond the text that it stands in, so that only its picture is kept.
    assert f"{marked}⍰" in models.judge_saw
    assert f"{marked}⍰" in models.user_heard
    assert any(message.content == f"{marked}⍰" for message in run.of("message_completed"))


ENGLISH = {
    "task": "Ask for a reminder to take the blood pressure pill",
    "facts": ["The user takes the pill at 20:15", "The user lives in Sydney"],
}
GERMAN = {
    "task": "Bitte um eine Erinnerung an die Blutdrucktablette",
    "facts": ["Die Nutzerin nimmt die Tablette um 20:15 Uhr", "Die Nutzerin wohnt in Sydney"],
}


@pytest.mark.parametrize(
    ("greeting", "job", "own"),
    [
        *((each, ENGLISH, ["20:15", "Sydney"]) for each in ("Yo", "Hola!", "Salut", "Oi", "Ciao",
                "No", "Bom dia", "Hej")),
        *((each, GERMAN, ["20:15", "Sydney"]) for each in ("Hi", "Hello there", "Yo",
                "Hey, good morning")),
        ("Salut, ça va?", ENGLISH, ["Remind me of my pill, please.", "At 20:15.", "In Sydney."]),
        ("Hi", GERMAN, ["Bitte erinnere mich an meine Tablette.", "Um 20:15 Uhr.",
                "Ich wohne in Sydney."]),
    ],
)  # fmt: skip
async def test_a_short_greeting_does_not_tell_the_language_of_a_job(
    tmp_path: Path, greeting: str, job: dict[str, Any], own: list[str]
) -> None:
    answers = [
        "Hello!",
        "When, and where do you live? Wann, und wo wohnen Sie?",
        "And where? Und wo?",
        "OK",
    ]
    models = Models(job["facts"][0], own, own[:-2], answers)
    run = await held(models, tmp_path, greeting=greeting, **job, conditions=("supplied",))
    assert [fact.fact for fact in run.of("fact_disclosed")] == [1, 2]
    assert not [
        each for each in run.result["warnings"] if "cannot be told" in each or "user speaks" in each
    ]


@pytest.mark.parametrize(
    ("job", "told", "answers"),
    [
        (
            {"greeting": "สวัสดี", "task": "ขอให้เตือนให้กินยาพรุ่งนี้เก้าโมงเช้า",
                "facts": ["ผู้ใช้อาศัยอยู่ที่เชียงใหม่"]},
            ["ช่วยเตือนให้กินยาพรุ่งนี้เก้าโมงเช้าหน่อยค่ะ", "อยู่เชียงใหม่ค่ะ"],
            ["สวัสดีค่ะ", "คุณอยู่ที่ไหนคะ", "ตั้งเตือนเรียบร้อยแล้วค่ะ", "ลาก่อนค่ะ"],
        ),
        (
            {"greeting": "안녕하세요",
                "task": "내일 아침 아홉 시에 약을 먹으라는 알림을 요청하세요",
                "facts": ["서울특별시에 산다"]},
            ["내일 아침 아홉 시에 알림을 설정해 주세요.", "서울특별시에 살아요."],
            ["안녕하세요.", "어디에 사세요.", "알림을 설정했습니다.", "안녕히 가세요."],
        ),
    ],
)  # fmt: skip
async def test_whether_an_agent_asked_is_not_known_in_a_language_that_is_not_read(
    tmp_path: Path, job: dict[str, Any], told: list[str], answers: list[str]
) -> None:
    models = Models(job["facts"][0], told, told[:1], answers)
    run = await held(models, tmp_path, **job, conditions=("supplied",))
    assert [fact.asked for fact in run.of("fact_disclosed")] == [None]
    asking = run.result["conditions"]["supplied"]["asking"]
    assert (asking["questions"], asking["obtained"], asking["unread"]) == (None, 0, 1)
    page = "\n".join(line for _, line in summary_lines(load_run(run.path).summary))
    assert "questions not known; 0 of 1 fact obtained by asking (1 not known)" in page


async def test_a_question_without_a_question_mark_counts_in_japanese(tmp_path: Path) -> None:
    told = ["明日の朝九時に薬を飲むようにリマインドしてください。", "シドニーに住んでいます。"]
    answers = ["こんにちは。", "お住まいはどちらですか。", "設定しました。", "さようなら。"]
    fact = "ユーザーはシドニーに住んでいます"
    models = Models(fact, told, told[:1], answers)
    task = "明日の朝九時に薬のリマインダーを頼んでください"
    run = await held(
        models, tmp_path, greeting="こんにちは", task=task, facts=[fact], conditions=("supplied",)
    )
    assert [fact.asked for fact in run.of("fact_disclosed")] == [True]
    assert run.result["conditions"]["supplied"]["asking"]["questions"] == 1


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("Zürich", "I live in Zurich."),
        ("Zürich", "I live in Zu\u0308rich."),
        ("Malaga", "I live in Málaga."),
        ("İzmir", "I live in izmir."),
        ("İzmir", "I LIVE IN IZMIR."),
        ("Diyarbakır", "I live in Diyarbakir."),
        ("Łódź", "I live in Lodz."),
        ("Tromsø", "I live in Tromso."),
    ],
)
async def test_a_foreign_name_in_an_english_job_is_found_however_its_letters_are_written(
    tmp_path: Path, place: str, said: str
) -> None:
    fact = f"The user lives in {place}"
    models = Models(
        fact, ["Remind me of my pill, please.", said], [], ["Hi!", "Where do you live?", "OK"]
    )
    job = {"greeting": "Hello", "task": "Ask for a reminder of the pill", "facts": [fact]}
    run = await held(models, tmp_path, **job, conditions=("supplied",))
    assert [(fact.fact, fact.message) for fact in run.of("fact_disclosed")] == [(1, 5)]


@pytest.mark.parametrize(
    "told",
    [
        ["Напомните мне завтра в девять утра, пожалуйста.", "Я живу в Москве."],
        ["明天早上九点提醒我吃药。", "我住在莫斯科。"],
        ["Bitte erinnere mich morgen früh um neun an die Tablette.", "Ich wohne in Moskau."],
        ["내일 아침 아홉 시에 알려 주세요.", "모스크바에 살아요."],
        ["ช่วยเตือนพรุ่งนี้เก้าโมงเช้าหน่อยค่ะ", "อยู่มอสโกค่ะ"],
        ["Yarın sabah dokuzda ilacımı hatırlatır mısınız?", "Moskova'da yaşıyorum."],
        ["Tafadhali nikumbushe kesho saa tatu asubuhi kuhusu dawa.", "Ninaishi Moscow kwa sasa."],
    ],
)
async def test_a_user_of_another_language_is_not_blamed_for_the_words_of_an_english_job(
    tmp_path: Path, told: list[str]
) -> None:
    fact = "The user lives in Moscow"
    answers = ["Hi!", "Where do you live?", "Done: the reminder is set.", "Bye"]
    job = {"greeting": "Hello", "task": "Ask for a reminder of the pill", "facts": [fact]}
    models = Models(fact, told, told, answers)
    run = await held(models, tmp_path, **job, conditions=("supplied",))
    assert not run.of("evaluator_violated")
    assert [ended.fault for ended in run.of("conversation_ended")] == ["none"]
    assert run.state.scores()["supplied"] is not None

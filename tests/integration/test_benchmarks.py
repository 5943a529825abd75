"""Published clinical benchmarks, run from the command line with agents over HTTP."""

from __future__ import annotations

import asyncio
import csv
import json
import random
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from bioeval_tui.evaluation.wiring.case_table import CaseChoice
from bioeval_tui.evaluation.wiring.check_job import check_job
from bioeval_tui.languages.speech import split_sentences
from bioeval_tui.sample.named import find_job
from tests.integration.program import run
from tests.servers.openai_server import Answer, OpenAIServer, say
from tests.servers.rest_agent import RestAgentServer
from tests.sources import ROOT

SCRIPT = ROOT / "benchmarks" / "mediq.py"
WITHOUT_FACTS = {
    "id": 9999, "question": "Which statement on the predictive value is correct?", "context": [],
    "facts": [],
    "options": {"A": "It rises", "B": "It falls", "C": "It stays", "D": "None"},
    "answer": "It rises", "answer_idx": "A",
}  # fmt: skip
ONE_SENTENCE = {
    **WITHOUT_FACTS, "id": 9998, "context": ["A 60-year-old painter has chest pain."],
    "facts": ["1. Patient is 60."],
}  # fmt: skip


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table of six cases, two of which have no pair of conditions."""
    listed = find_job(Path("mediq")).with_name("mediq.jsonl").read_text("utf-8").splitlines()[:4]
    table = tmp_path_factory.mktemp("mediq") / "cases.jsonl"
    table.write_text(
        "\n".join([*listed, json.dumps(WITHOUT_FACTS), json.dumps(ONE_SENTENCE)]), "utf-8"
    )
    return table


@pytest.fixture(scope="module")
def counted(cases: Path) -> dict[str, dict[str, int]]:
    """What each expert must come to, counted by a script that knows nothing of this program."""
    command = [sys.executable, SCRIPT.with_name("mediq_expected.py"), cases]
    found: dict[str, dict[str, int]] = json.loads(subprocess.check_output(command, text=True))
    return found


@contextmanager
def expert(name: str, cases: Path) -> Iterator[str]:
    """Serve a scripted expert; gives its URL."""
    command = [sys.executable, SCRIPT, cases, "--serve", name]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.kill()


def held(url: str, cases: Path, data_dir: Path, *options: str) -> dict[str, Any]:
    """Return the result of a run of MediQ."""
    given = (
        "--agent-url",
        url,
        "--cases-file",
        str(cases),
        "--graph",
        "none",
        "--headless",
        "--json",
    )
    done = run("run", "mediq", *given, *options, data_dir=data_dir)
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def right(result: dict[str, Any], condition: str) -> int:
    return sum(trial["tasks"][0]["passed"] for trial in result["conditions"][condition]["trials"])


@pytest.mark.parametrize(
    "name",
    [
        "asks",
        pytest.param("first", marks=pytest.mark.long),
        pytest.param("guesses", marks=pytest.mark.long),
    ],
)
def test_the_counts_of_scripted_experts_come_out_as_the_table_says(
    name: str, cases: Path, counted: dict[str, dict[str, int]], tmp_path: Path
) -> None:
    expected = counted[name]
    with expert(name, cases) as url:
        result = held(url, cases, tmp_path)
    assert {condition: right(result, condition) for condition in ("withheld", "supplied")} == {
        condition: expected[condition] for condition in ("withheld", "supplied")
    }
    asking = {condition: each["asking"] for condition, each in result["conditions"].items()}
    assert (
        asking["supplied"]["questions"] == asking["withheld"]["questions"] == expected["questions"]
    )
    assert (asking["withheld"]["obtained"], asking["supplied"]["obtained"]) == (
        0,
        expected["facts"],
    )
    assert result["evaluator"] == "stand-in for a model (TF-IDF)"
    assert result["rehearsal"] is True
    assert result["clean"] is True
    shown = run("runs", "show", result["run_id"], data_dir=tmp_path).stdout
    assert (
        f"{expected['facts']} of {asking['supplied']['facts']} facts obtained by asking"
        in " ".join(shown.split())
    )
    if name == "asks":
        assert "it takes models and at least 6 cases" in shown
        assert "4 of 6 used (2 without facts to withhold)" in shown
        checked = run("check", "mediq", "--cases-file", str(cases), data_dir=tmp_path).stdout
        assert "no problems, 6 cases, 2 of them without facts to withhold" in checked
        summary = json.loads(
            run("runs", "report", result["run_id"], "--format", "json", data_dir=tmp_path).stdout
        )
        uplift = summary["summary"][0]["difference"]
        assert (uplift["mean"], uplift["used"], uplift["excluded"]) == (
            1.0,
            4,
            {"without facts to withhold": 2},
        )


async def test_an_agent_that_chooses_nothing_abstains(cases: Path, tmp_path: Path) -> None:
    async with RestAgentServer(answer_s=0) as agent:
        result = await asyncio.to_thread(
            held, agent.url, cases, tmp_path, "--cases", "1", "--condition", "withheld"
        )
    (trial,) = result["conditions"]["withheld"]["trials"]
    assert (trial["score"], trial["end_reason"]) == (0.0, "max_turns")
    (check,) = trial["assertions"]
    assert (check["title"], check["weight"]) == ("an option was chosen, no abstention", 0)
    assert check["status"] == "failed"


class Doctor(RestAgentServer):
    """Asks one question, and then names the diagnosis of the first vignette."""

    async def _message(self, request: web.Request) -> web.Response:
        body = await request.json()
        begins = "I come because of" in body["message"]["content"]
        words = "Do you smoke?" if begins else "Diagnosis: influenza, COVID 19"
        message = {"content": words, "role": "assistant"}
        return web.json_response({"sessionId": body["sessionId"], "message": message, "events": []})


async def test_symptomcheck_gives_the_vignette_and_takes_the_diagnosis(tmp_path: Path) -> None:
    given = ("run", "symptomcheck", "--cases", "1-2", "--graph", "none", "--headless", "--json")
    async with Doctor() as agent:
        done = await asyncio.to_thread(run, *given, "--agent-url", agent.url, data_dir=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "transcripts are sent to: 127.0.0.1" in done.stderr
    assert "plug-in" not in done.stderr
    result = json.loads(done.stdout)
    assert [right(result, condition) for condition in ("withheld", "supplied")] == [1, 1]
    told = [
        [fact["text"] for fact in trial["facts"]]
        for trial in result["conditions"]["supplied"]["trials"]
    ]
    assert told == [["He is a heavy smoker for 35 years."], ["He is heavy smoker for 25 years."]]


async def test_a_model_that_is_asked_for_plays_the_patient_and_the_ledger_checks_it(
    tmp_path: Path,
) -> None:
    def patient(body: dict[str, Any]) -> Answer:
        knows = "heavy smoker" in str(body["messages"][0]["content"])
        said = str(body["messages"][-1]["content"])
        if "Diagnosis" in said:
            return say("So Long, and Thanks for All the Fish")
        return say("I have been a heavy smoker for 35 years." if knows else "I'm not sure.")

    given = (
        "run",
        "symptomcheck",
        "--cases",
        "1",
        "--graph",
        "none",
        "--headless",
        "--json",
        "--evaluator-model",
        "m",
    )
    async with Doctor() as agent, OpenAIServer(otherwise=patient) as model:
        key = {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": model.url}
        done = await asyncio.to_thread(
            run, *given, "--agent-url", agent.url, data_dir=tmp_path, **key
        )
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert (result["evaluator"], result["rehearsal"]) == ("asked for m, served stand-in", False)
    told = {
        name: [fact["text"] for fact in each["facts"]]
        for name, each in result["conditions"].items()
    }
    assert told == {"withheld": [], "supplied": ["He is a heavy smoker for 35 years."]}


NAMES_IT, GUESSES, READS, ASKS, SILENT = "names it", "guesses", "reads", "asks", "silent"


class Diagnostician(RestAgentServer):
    """Knows the table of CRAFT-MD's cases.

    *names it* asks nothing and is always right, *guesses* asks nothing and draws one of the case's
    four choices, *reads* is right if the whole case is in the first message, *asks* asks for what
    is not there by its own words and is right if it gets it all, *silent* answers with no words.
    """

    def __init__(self, manner: str, cases: list[dict[str, Any]]) -> None:
        super().__init__()
        self.manner, self.cases = manner, cases
        self.heard: dict[str, list[str]] = {}

    async def _message(self, request: web.Request) -> web.Response:
        body = await request.json()
        heard = self.heard.setdefault(body["sessionId"], [])
        heard.append(body["message"]["content"])
        message = {"content": self._words(heard), "role": "assistant"}
        return web.json_response({"sessionId": body["sessionId"], "message": message, "events": []})

    def _words(self, heard: list[str]) -> str:
        opening = heard[0].partition("\n")[0]
        case = next(
            each for each in self.cases if spaced(each["case_vignette"]).startswith(spaced(opening))
        )
        wrong = next(
            choice for choice in (case["choice_1"], case["choice_2"]) if choice != case["answer"]
        )
        *told, _ = map(spaced, split_sentences(case["case_vignette"]))
        missing = [part for part in told if part not in spaced("\n".join(heard))]
        match self.manner:
            case "names it":
                named = case["answer"]
            case "guesses":
                named = guess(case)
            case "reads":
                named = wrong if missing else case["answer"]
            case "asks" if len(heard) < len(told) and missing:
                return f"{told[len(heard)]} Is that so?"
            case "asks":
                named = wrong if missing else case["answer"]
            case _:
                return ""
        return f"**Final Diagnosis:** {named}"


def spaced(text: str) -> str:
    """Return a text with single spaces, as it may be sent."""
    return " ".join(text.split())


def guess(case: dict[str, Any]) -> str:
    """Return one of the four choices of a case, the same every time."""
    number = random.Random(f"craftmd/{case['case_id']}").choice("1234")
    return str(case[f"choice_{number}"])


def craft_cases(count: int) -> list[dict[str, Any]]:
    """Return the first cases of the job's table."""
    lines = find_job(Path("craftmd")).with_name("craftmd.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines[:count]]


async def diagnosed(manner: str, data_dir: Path, *options: str, cases: int = 6) -> dict[str, Any]:
    """Return the result of a run of CRAFT-MD's first cases."""
    given = ("run", "craftmd", "--cases", f"1-{cases}", "--graph", "none", "--headless", "--json")
    async with Diagnostician(manner, craft_cases(cases)) as agent:
        done = await asyncio.to_thread(
            run, *given, "--agent-url", agent.url, *options, data_dir=data_dir
        )
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    return result


FEW, MORE = 6, 24


@pytest.mark.parametrize("cases", [FEW, pytest.param(MORE, marks=pytest.mark.long)])
@pytest.mark.parametrize("manner", [NAMES_IT, GUESSES, READS, ASKS])
async def test_craftmd_tells_who_asks_from_who_must_be_told(
    manner: str, cases: int, tmp_path: Path
) -> None:
    result = await diagnosed(manner, tmp_path, cases=cases)
    table, held = craft_cases(cases), result["conditions"]
    guessed = sum(guess(case) == case["answer"] for case in table)
    vignette, multi_turn = {
        NAMES_IT: (cases, cases),
        GUESSES: (guessed, guessed),
        READS: (cases, 0),
        ASKS: (cases, cases),
    }[manner]
    assert (right(result, "vignette"), right(result, "multiturn")) == (vignette, multi_turn)
    assert (result["evaluator"], result["rehearsal"]) == ("stand-in for a model (TF-IDF)", True)
    assert result["clean"] is True
    # its first sentence and its question are in every greeting
    facts = sum(len(list(split_sentences(case["case_vignette"]))) - 2 for case in table)
    told = sum(len(trial["facts"]) for trial in held["vignette"]["trials"])
    assert told == facts, "all of them are in the first message"
    obtained = {name: each["asking"]["obtained"] for name, each in held.items()}
    assert obtained == {"vignette": 0, "multiturn": facts if manner == ASKS else 0}
    report = run("runs", "report", result["run_id"], "--format", "json", data_dir=tmp_path).stdout
    uplift = json.loads(report)["summary"][0]["difference"]
    assert (uplift["mean"], uplift["used"]) == ((vignette - multi_turn) / cases, cases)


def test_the_published_table_of_craftmd_fills_the_job(tmp_path: Path) -> None:
    """As in data/usmle_and_derm_dataset.csv: numbers in a column without a name, cases without a
    question, and answers with the end of a quotation.
    """
    table = tmp_path / "usmle_and_derm_dataset.csv"
    first = "A 48-year-old man comes to the physician because of a cough."
    rows = [
        (f"{first} He smokes.", "Eczema", "case_0"),
        (f'{first}\nHe smokes.\nWhich of the following is the diagnosis?"', 'Gout\n"', "case_1"),
    ]
    with table.open("w", newline="") as opened:
        writer = csv.writer(opened)
        writer.writerow(("", "case_vignette", "answer", "case_id"))
        writer.writerows((number, *row) for number, row in enumerate(rows))
    found = check_job(find_job(Path("craftmd")), choice=CaseChoice(file=str(table)))
    assert found.errors == ()
    assert [case.job.facts for case in found.cases] == [("He smokes.",)] * 2
    asked = [case.job.greetings[0].splitlines()[:2] for case in found.cases]
    assert asked == [[first, "What is the final diagnosis?"], [first, "Which is the diagnosis?"]]
    (rule,) = found.cases[1].job.tasks[0].rules
    for words in (
        "**Final Diagnosis:** gout",
        "final diagnosis:\nAcute gout",
        "Final diagnosis: Gout.",
    ):
        assert re.search(rule.pattern, words, re.IGNORECASE), words
    for words in ("It is gout.", "Final Diagnosis: goutweed", "Final Diagnosis: x\nNot gout"):
        assert not re.search(rule.pattern, words, re.IGNORECASE), words


async def test_who_says_nothing_names_no_diagnosis(tmp_path: Path) -> None:
    result = await diagnosed(SILENT, tmp_path, cases=1)
    for held in result["conditions"].values():
        (trial,) = held["trials"]
        assert trial["score"] == 0.0
        (check,) = trial["assertions"]
        assert (check["title"], check["status"]) == (
            "a diagnosis was named, no abstention",
            "failed",
        )

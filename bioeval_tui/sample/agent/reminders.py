"""Reminders: set only when it is clear what, when and in which time zone."""

from __future__ import annotations

import re
from dataclasses import asdict
from datetime import datetime, time
from zoneinfo import ZoneInfo

from bioeval_tui.sample.agent.mentions import SpokenTime
from bioeval_tui.sample.agent.records import Reminder
from bioeval_tui.sample.agent.turn import DialogueTurn, ReminderDraft

_SET = re.compile(
    r"\b(?:remind me|help me (?:to )?remember"
    r" to|(?:set|add|create|make|schedule|need|want|have|get)\b[^.?!]{0,30}\breminder)\b",
    re.IGNORECASE,
)
_ASKS_WHETHER = re.compile(
    r"\b(?:did|have|has|is|are|was|were|confirm|check)\b[^.?!]{0,40}\breminders?\b"
    r"|\breminders?\b[^.?!]{0,30}\b(?:is|was|are) (?:set|there)\b",
    re.IGNORECASE,
)
_LIST = re.compile(
    r"\b(?:(?:list|show|what|which|see|check|any)\b[^.?!]{0,40}\breminders?\b"
    r"|(?:did|do|is|are|was|were)\b[^.?!]{0,40}\breminders?\b)",
    re.IGNORECASE,
)
_DELETE = re.compile(
    r"\b(?:delete|remove|cancel|clear|drop)\b[^.?!]{0,30}\breminders?\b", re.IGNORECASE
)
_WHAT = re.compile(
    r"\b(?:remind(?:er)?(?: me)?|remember)(?: to| about| for| of)\s+(.+?)"
    r"(?=\s+(?:at|on|by|tomorrow|today|tonight|every|each|daily|in"
    r" the|this|next|please)\b|[.?!,;]|$)",
    re.IGNORECASE,
)
_IT = re.compile(r"\b(?:take|taking) (?:it|that|this)\b", re.IGNORECASE)
_HOME = re.compile(r"\b(?:my time ?zone is|i(?:'m| am)? (?:live|living|based) in)\b", re.IGNORECASE)
_BARE_HOUR = re.compile(r"^\W*([01]?\d|2[0-3])\W*$")
_NO_ZONE = (
    "I can't set a reminder without your time zone: it could go off at the wrong hour. Nothing was"
    " saved. Tell me your city whenever you like and I'll set it."
)


def opens(turn: DialogueTurn) -> bool:
    """Return whether the message is about reminders."""
    return any(turn.message.matches(pattern) for pattern in (_SET, _LIST, _DELETE)) or _tells_home(
        turn
    )


async def start(turn: DialogueTurn) -> str:
    """Answer a message that is about reminders."""
    if turn.message.matches(_DELETE):
        return turn.ask(
            "reminder.delete", "Should I delete all your reminders? Please answer yes or no."
        )
    if _tells_home(turn):
        await turn.records.set_time_zone(turn.user, turn.message.zone)
        return f"Noted: your time zone is {turn.message.zone}. I'll use it for your reminders."
    if not turn.message.matches(_SET) or (
        turn.message.matches(_ASKS_WHETHER) and "remind me" not in turn.message.text.lower()
    ):
        return await _list(turn)
    turn.state.reminder = ReminderDraft()
    what = _WHAT.search(turn.message.text)
    if what and not turn.message.drugs:
        if _IT.search(what[1]) and turn.state.drug:
            turn.state.reminder.drug = turn.state.drug
        else:
            turn.state.reminder.what = what[1].strip()
    _note_details(turn, turn.state.reminder)
    return await _next(turn, turn.state.reminder)


def _tells_home(turn: DialogueTurn) -> bool:
    unasked = turn.state.reminder is None and not turn.message.matches(_SET)
    return unasked and bool(turn.message.zone) and turn.message.matches(_HOME)


def continues(turn: DialogueTurn) -> bool:
    """Return whether the message gives a detail that an unfinished reminder lacks."""
    draft = turn.state.reminder
    return draft is not None and bool(
        turn.message.zone or turn.message.when.clock or turn.message.dose
    )


async def proceed(turn: DialogueTurn) -> str:
    """Answer a message while a reminder is unfinished, or a deletion unconfirmed."""
    awaiting = turn.state.awaiting
    if awaiting == "reminder.delete":
        return await _delete(turn)
    draft = turn.state.reminder
    if draft is None:
        return await _list(turn)
    if awaiting == "reminder.zone" and turn.message.declines and not turn.message.zone:
        turn.state.awaiting = None
        if not turn.guesses:
            return _NO_ZONE
        draft.zone = "UTC"
    if awaiting == "reminder.zone" and not draft.zone and not turn.message.zone:
        return turn.ask(
            "reminder.zone", "I don't know that place. Which larger city is in the same time zone?"
        )
    if (
        awaiting == "reminder.dose"
        and not turn.message.dose
        and (turn.message.declines or turn.message.no)
    ):
        draft.dose_declined = True
    if awaiting == "reminder.when" and (hour := _BARE_HOUR.search(turn.message.text)):
        draft.when = draft.when.merged(SpokenTime(clock=time(int(hour[1]))))
    if awaiting == "reminder.what" and not turn.message.drugs:
        draft.what = turn.message.text.strip().rstrip(".")
    _note_details(turn, draft)
    return await _next(turn, draft)


def _note_details(turn: DialogueTurn, draft: ReminderDraft) -> None:
    message = turn.message
    if message.drugs and not draft.drug:
        draft.drug = message.drugs[0]
        turn.state.drug = draft.drug
    draft.when = draft.when.merged(message.when)
    draft.zone = message.zone or draft.zone
    draft.dose = message.dose or draft.dose


async def _next(turn: DialogueTurn, draft: ReminderDraft) -> str:
    """Ask for what is missing, or set the reminder."""
    if not draft.drug and not draft.what:
        return turn.ask("reminder.what", "What should I remind you of?")
    if not draft.when.clock:
        return turn.ask("reminder.when", "At what time, and on which day?")
    if not draft.zone:
        draft.zone = await turn.records.time_zone(turn.user)
    if not draft.zone:
        return turn.ask("reminder.zone", "Which time zone are you in? A city is enough.")
    if draft.drug and not draft.dose and not draft.dose_declined:
        kept = [m.dose for m in await turn.records.medications(turn.user) if m.drug == draft.drug]
        draft.dose = next(iter(kept), "")
        if not draft.dose:
            return turn.ask(
                "reminder.dose",
                f"Which dose of {draft.drug} do you take? I'll write it into the reminder.",
            )
    return await _set(turn, draft)


async def _set(turn: DialogueTurn, draft: ReminderDraft) -> str:
    zone = ZoneInfo(draft.zone)
    now = turn.clock()
    moment = draft.when.moment(zone, now)
    if moment is None or moment <= now:
        why = "That day does not exist" if moment is None else "That moment has passed"
        draft.when = SpokenTime(clock=None)
        return turn.ask("reminder.when", f"{why}. On which day, and at what time?")
    what = f"take {draft.drug} {draft.dose}".strip() if draft.drug else draft.what
    taken = {reminder.id for reminder in await turn.records.reminders(turn.user)}
    number = next(n for n in range(1, len(taken) + 2) if f"{turn.user}-reminder-{n}" not in taken)
    date = moment.isoformat(timespec="seconds")
    repeats = "daily" if draft.when.daily else ""
    reminder = Reminder(
        f"{turn.user}-reminder-{number}",
        what[:1].upper() + what[1:],
        date,
        draft.zone,
        draft.drug,
        draft.dose,
        repeats,
    )
    await turn.records.add_reminder(turn.user, reminder)
    arguments = {
        "what": reminder.what,
        "date": date,
        "timeZone": draft.zone,
        "drug": draft.drug,
        "dose": draft.dose,
    }
    turn.called("createReminder", arguments, asdict(reminder), f"{turn.user} asked for a reminder")
    turn.state.reminder = None
    turn.state.awaiting = None
    return _confirmation(reminder, moment)


def _confirmation(reminder: Reminder, moment: datetime) -> str:
    day = f"{moment:%A} {moment.day} {moment:%B %Y}"
    every = ", then every day" if reminder.repeats else ""
    note = "" if reminder.dose or not reminder.drug else " No dose is noted, because you gave none."
    return (
        f"Done: I'll remind you to {reminder.what[:1].lower()}{reminder.what[1:]} on {day} at"
        f" {moment:%H:%M}"
        f" ({', '.join(dict.fromkeys((str(moment.tzname()), reminder.time_zone)))}){every}.{note}"
    )


async def _list(turn: DialogueTurn) -> str:
    reminders = await turn.records.reminders(turn.user)
    turn.called(
        "listReminders",
        {},
        [asdict(reminder) for reminder in reminders],
        "the user asked for their reminders",
    )
    if not reminders:
        return "You have no reminders."
    rows = "\n".join(
        f"| {reminder.what} | {reminder.date[:10]} | {reminder.date[11:16]} | {reminder.time_zone}"
        f" | {reminder.repeats or 'once'} |"
        for reminder in reminders
    )
    return (
        "Your reminders:\n\n| what | day | time | time zone | repeats"
        f" |\n|---|---|---|---|---|\n{rows}"
    )


async def _delete(turn: DialogueTurn) -> str:
    turn.state.awaiting = None
    if not turn.message.yes:
        return "All right: nothing was deleted."
    many = len(await turn.records.reminders(turn.user))
    await turn.records.delete_reminders(turn.user)
    turn.called("deleteReminders", {}, {"deleted": many}, "the user confirmed")
    return f"Deleted {many} of your reminders."

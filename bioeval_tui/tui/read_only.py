"""A read-only session: recorded runs and the live screen.

The application only hides keys. The services refuse to run, change, write or read anything else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

from textual.actions import ActionParseResult
from textual.dom import DOMNode

from bioeval_tui.base.errors import UsageError
from bioeval_tui.evaluation.engine.attach import FollowedRun
from bioeval_tui.record.runs import is_run_id
from bioeval_tui.tui.app import BioevalApp
from bioeval_tui.tui.data.services import AppServices

if TYPE_CHECKING:
    from bioeval_tui.base.settings import Settings
    from bioeval_tui.evaluation.engine.interface import Intent, RunView
    from bioeval_tui.tui.review_items import ReviewItem, ReviewSource

REFUSED = "this session is read-only: it shows recordings"

ALLOWED = frozenset(
    {
        "from_runs",  # of recordings in the runs folder
        "in_progress",  # none: nothing can be started
        "preferences",  # changes last only for the session
        "in_thread", "close",
    }
)  # fmt: skip
"""The services that are passed on. A new one is refused until it is listed here."""


class _ReadOnlyPart:
    """Some of a part of the services.

    What was not passed to it is refused with an error message when it is called.
    """

    def __init__(self, **allowed: Callable[..., Any]) -> None:
        self._allowed = allowed

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return self._allowed.get(name, _ReadOnlyPart())

    def __call__(self, *arguments: object, **options: object) -> NoReturn:
        raise UsageError(REFUSED)


class ReadOnlyServices:
    """Passes on what `ALLOWED` lists, and of two parts what reads; rejects everything else with an
    error message.
    """

    reviewer = ""
    """Empty: reviews are shown, but cannot be given."""

    def __init__(self, settings: Settings) -> None:
        self._inner = AppServices(settings, writes=False)

    async def open_recording(self, run_id: str, *, speed: float | None = None) -> RunView:
        """Replay a run, or watch one in progress without controlling it."""
        view = await self._inner.open_recording(run_id, speed=speed)
        if isinstance(view, FollowedRun):
            return WatchedRun(view.path)
        return view

    @property
    def run_list(self) -> _ReadOnlyPart:
        """The list of runs."""
        return _ReadOnlyPart(runs=self._inner.run_list.runs)

    @property
    def review_desk(self) -> _ReadOnlyPart:
        """The reviewed items of recorded runs."""

        def queue(source: ReviewSource) -> Sequence[ReviewItem]:
            if source.rows or source.reports or not all(map(is_run_id, source.run_ids)):
                raise UsageError(REFUSED)  # a path could be any file
            return self._inner.review_desk.queue(source)

        return _ReadOnlyPart(queue=queue)

    def __getattr__(self, name: str) -> Any:
        """Pass on a listed service; reject every other call, of a method or of a part's."""
        if name in ALLOWED:
            return getattr(self._inner, name)
        if name.startswith("_"):
            raise AttributeError(name)
        return _ReadOnlyPart()


class WatchedRun(FollowedRun):
    """A run in progress, watched without control."""

    async def send(self, intent: Intent) -> str | None:
        """Reject the intent: a read-only session cannot control the run."""
        return REFUSED


PLACES = ("runs", "live")
CLOSED = frozenset(
    {
        "accept", "again", "cancel", "cancel_all", "delete", "edit", "export", "fault", "give",
        "give_back", "grade", "medals",
        "note", "override", "pause", "picture", "prepare", "report", "resume", "run", "score",
        "step", "take_over", "to_file", "undo", "validate",
    }
)  # fmt: skip
"""Actions that are disabled in a read-only session."""


class ReadOnlyApp(BioevalApp):
    """Shows recordings."""

    TITLE: ClassVar[str] = "bioeval-tui · read-only"  # type: ignore[misc]
    READ_ONLY: ClassVar[bool] = True

    def _check_action_state(self, action: str, default_namespace: DOMNode) -> bool | None:
        if self._is_closed(action, default_namespace):
            return False
        return super()._check_action_state(action, default_namespace)

    async def run_action(
        self,
        action: str | ActionParseResult,
        default_namespace: DOMNode | None = None,
        namespaces: Mapping[str, DOMNode] | None = None,
    ) -> bool:
        """Disable actions that a read-only session does not have."""
        if self._is_closed(action, default_namespace or self):
            return False
        return await super().run_action(action, default_namespace, namespaces)

    def _is_closed(self, action: str | ActionParseResult, namespace: DOMNode) -> bool:
        _, name, parameters = self._parse_action(action, namespace)
        if name == "go" and parameters and isinstance(parameters[0], str):
            return parameters[0] not in PLACES
        return name in CLOSED

    async def action_go(self, mode: Any) -> None:
        """Go to the recorded runs or to the live screen."""
        if mode in PLACES:
            await super().action_go(mode)

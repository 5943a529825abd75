"""The parameters of an agent, for every protocol."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bioeval_tui.evaluation.job.models import TargetConfig
from bioeval_tui.settings import Provider


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentTerms:
    """How to call the agent under test. `key` belongs to the host of `url`, or is None.

    `headers` are the job's; `secrets` are those whose values came from the environment and that belong to that
    host, too. `may_call` returns whether another URL, named by the agent itself, may be called with them.
    `account`: `url` is the user's OPENAI_BASE_URL, so organisation and project are sent too.
    """

    target: TargetConfig
    url: str
    model: str
    named_model: str | None = None
    """The requested model; otherwise `model` is the default."""
    key: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    secrets: tuple[str, ...] = ()
    may_call: Callable[[str], bool] = lambda url: False
    function: Callable[..., Any] | None = None
    """The agent itself, if a Python program passed it; it replaces `target.function`."""
    code: tuple[Path, ...] = ()
    """The folders of `--code`, from which the job's functions may be loaded in addition to installed packages."""
    python: Path | None = None
    """The interpreter that runs the function, if the job names another one than this."""
    knowledge_url: str = ""
    provider: Provider = "openai"
    account: bool = False

    @property
    def timeout_s(self) -> float | None:
        """Timeout for a complete answer, in seconds; None for the default."""
        return self.target.timeout_ms / 1000 if self.target.timeout_ms else None

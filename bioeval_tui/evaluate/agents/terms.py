"""What an agent is made with, whatever its protocol."""

from __future__ import annotations

from dataclasses import dataclass

from bioeval_tui.evaluate.job.models import TargetConfig
from bioeval_tui.settings import Provider


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentTerms:
    """What is known of the agent under test. `key` was given for the host of `url`, or is None.

    `account`: `url` is the user's OPENAI_BASE_URL, whose organisation and project go along.
    """

    target: TargetConfig
    url: str
    model: str
    key: str | None = None
    knowledge_url: str = ""
    provider: Provider = "openai"
    account: bool = False

    @property
    def timeout_s(self) -> float | None:
        """How long one whole answer may take, in seconds; None is the usual time."""
        return self.target.timeout_ms / 1000 if self.target.timeout_ms else None

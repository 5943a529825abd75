"""A span that an agent sent by OpenTelemetry, as stored in a recording."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

TraceId = Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]
SpanId = Annotated[str, Field(pattern=r"^[0-9a-f]{16}$")]
Nanoseconds = Annotated[int, Field(ge=0, lt=2**64)]


class AgentSpan(BaseModel):
    """One span. Times are nanoseconds since 1970 by the agent's clock; ids are hexadecimal.

    `parent_id` is empty for a span without a parent, `status` is `error` only where the agent said
    so.
    """

    model_config = ConfigDict(frozen=True, extra="ignore", defer_build=True)

    trace_id: TraceId
    span_id: SpanId
    parent_id: SpanId | Literal[""] = ""
    name: str
    kind: str = ""
    service: str = ""
    scope: str = ""
    start_ns: Nanoseconds
    end_ns: Nanoseconds
    status: Literal["unset", "ok", "error"] = "unset"
    status_message: str = ""
    attributes: dict[str, Any] = {}
    events: tuple[dict[str, Any], ...] = ()
    links: tuple[dict[str, Any], ...] = ()

    @property
    def duration_ms(self) -> float:
        """How long it took, in milliseconds; never below 0."""
        return max(0, self.end_ns - self.start_ns) / 1e6

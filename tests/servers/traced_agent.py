"""A REST agent that is instrumented with the OpenTelemetry SDK: it takes `traceparent` and sends
its spans by OTLP/HTTP.

Where they go, and under which name, the SDK reads from OTEL_EXPORTER_OTLP_ENDPOINT and
OTEL_SERVICE_NAME.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

from aiohttp import web
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Tracer
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from tests.servers.rest_agent import RestAgentServer


class TracedAgent(RestAgentServer):
    """Answers as `RestAgentServer`.

    Each answer has a span of its own, with a tool call and a model call within it.
    """

    async def __aenter__(self) -> TracedAgent:
        self.provider = TracerProvider()
        self.provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        self.tracer: Tracer = self.provider.get_tracer("traced-agent")
        await super().__aenter__()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await super().__aexit__(*exc)
        await asyncio.to_thread(self.provider.shutdown)

    async def _message(self, request: web.Request) -> web.Response:
        body = await request.json()
        context = TraceContextTextMapPropagator().extract(request.headers)
        with self.tracer.start_as_current_span(
            "invoke_agent helper", context, attributes={"gen_ai.operation.name": "invoke_agent"}
        ):
            self.call(
                "note",
                {"said": body["message"]["content"], "session": body["sessionId"]},
                {"kept": True},
            )
            self.ask_model()
            return await super()._message(request)

    def call(self, tool: str, arguments: Mapping[str, Any], result: Any) -> None:
        """Make a span of a tool call, as the GenAI conventions have it."""
        with self.tracer.start_as_current_span(f"execute_tool {tool}") as span:
            span.set_attributes(
                {
                    "gen_ai.operation.name": "execute_tool",
                    "gen_ai.tool.name": tool,
                    "gen_ai.tool.call.arguments": json.dumps(arguments),
                    "gen_ai.tool.call.result": json.dumps(result),
                }
            )

    def ask_model(self) -> None:
        """Make a span of a model call."""
        said = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "small"}
        tokens = {"gen_ai.usage.input_tokens": 12, "gen_ai.usage.output_tokens": 3}
        with self.tracer.start_as_current_span("chat small", attributes={**said, **tokens}):
            pass

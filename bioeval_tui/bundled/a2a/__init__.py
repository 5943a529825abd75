"""Agents that speak A2A."""

from bioeval_tui.protocols import AgentProtocol

protocol = AgentProtocol(
    "a2a",
    "A2A 1.0 or 0.3",
    "bioeval_tui.bundled.a2a.agent:make_agent",
    tells={
        "pieces": "✓",
        "tool calls": "as data parts",
        "tool results": "as data parts",
        "state": "by URL",
    },
    uses=("objectContextUrl", "headers", "headersEnv", "streaming", "apiKeyEnv"),
    begins="sent its agent card",
)

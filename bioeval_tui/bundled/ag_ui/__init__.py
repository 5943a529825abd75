"""Agents that speak AG-UI."""

from bioeval_tui.protocols import AgentProtocol

protocol = AgentProtocol(
    "ag-ui",
    "AG-UI 1.0",
    "bioeval_tui.bundled.ag_ui.agent:make_agent",
    tells={"pieces": "✓", "tool calls": "✓", "tool results": "✓", "tokens": "✓", "state": "by URL"},
    takes=("history",),
    keeps_nothing=True,
    uses=("objectContextUrl", "systemPrompt", "tools", "headers", "headersEnv", "apiKeyEnv"),
)

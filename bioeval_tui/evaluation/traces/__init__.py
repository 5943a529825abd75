"""OpenTelemetry spans of agents: the receiver, and how spans join the turns of a conversation."""

"""Agents: adapters for systems under test, and the sample agent that this program serves itself."""

"""The client for OpenAI-compatible endpoints, used by evaluators, judges and agents."""

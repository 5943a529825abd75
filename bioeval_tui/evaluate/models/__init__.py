"""One client for OpenAI-compatible chat endpoints: evaluators, judges and agents stand on it."""

"""Who scores a finished transcript: rules, or language models."""

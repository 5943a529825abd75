"""Language models: the client for OpenAI-compatible endpoints, prompts, and the evaluator and the
judge that are models.
"""

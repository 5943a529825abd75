"""Evaluate conversational agents for biomedicine, and grade machine-learning submissions, in the terminal."""

__version__ = "0.1.0"

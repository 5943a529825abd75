"""The transcript of a conversation: one virtualised widget for history and stream alike."""

from bioeval_tui.tui.live.transcript.widget import Transcript

__all__ = ["Transcript"]

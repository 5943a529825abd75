"""Leaderboards of others that ship with this program, and where they come from."""

"""Agents and conversations."""

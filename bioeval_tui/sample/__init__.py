"""Samples in the package: an agent, tasks, jobs and submissions."""

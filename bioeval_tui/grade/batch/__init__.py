"""Batches of submissions: worker processes with limits, on this machine or on a cluster."""

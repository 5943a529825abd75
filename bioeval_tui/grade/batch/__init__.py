"""Many submissions at once: worker processes with limits, on this machine or on a cluster."""

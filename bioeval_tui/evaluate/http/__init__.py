"""One way to ask over HTTP, for agents and models alike: bounded in time and bytes, nothing repeated, no redirect."""

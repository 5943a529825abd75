"""The first screen: what to do next, recent runs, problems."""

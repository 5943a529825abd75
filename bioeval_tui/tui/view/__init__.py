"""View models: what a screen shows, as plain Python. No Textual here, so that each is tested without an app."""

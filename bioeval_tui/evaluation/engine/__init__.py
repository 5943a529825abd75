"""The engine process: owns a batch of runs, writes their recordings, listens for intents."""

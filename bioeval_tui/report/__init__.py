"""What is written of a run for people and programs: the console, JSON, and documents."""

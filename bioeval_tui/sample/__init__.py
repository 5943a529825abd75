"""What ships to try the program with: an agent, tasks, jobs and submissions."""

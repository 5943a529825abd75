"""What the commands of grading print: reports, tasks and progress."""

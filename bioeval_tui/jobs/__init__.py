"""Job files: what they may say, how they are read, and how a new one is written.

A job says what the simulated user wants and knows, which agent is asked, what counts as done well,
and what must hold of the agent's state. It knows of no conversation: whoever holds one is given an
`EvaluationJob`.

- `models.EvaluationJob` and its parts have the keys of the file, with their limits and the
  sentences for what is wrong.
- `loading.load_job(path)` reads a file, and names the line and column of everything that is wrong
  with it; `recorded_job` reads one from a recording.
- `filling` fills in the values of a case; `rendering` renders templates of the user in a sandbox.
- `template.job_text(answers)` writes a new job from a few answers.
"""

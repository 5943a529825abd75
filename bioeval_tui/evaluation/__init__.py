"""Conversations: how they are held, checked, judged and scored, and the process that holds them.

From a job and its options to the events of a recording, in this order:

- `wiring` builds what a run needs. It alone names concrete agents, evaluators, judges, graphs and
  FHIR servers, and decides which address, model and key each gets. `wiring.start` prepares and
  starts, `wiring.resuming` continues what was recorded, `wiring.rescore` judges and checks it
  again, `wiring.check_job` checks and `wiring.estimate` counts without starting.
- `engine` is the process of its own that holds the conversations of a batch, within its limits, and
  the ways to follow and control it from outside.
- `conversation` holds one: setups, greeting, turns, final assertions, judge, score. It is given its
  parts and names none. What it may send again, when it gives up, and what is finished in a
  recording that is resumed, is decided here.
- `assertions` and `medal_assertions` check one assertion; an outcome is a value, never an
  exception.

It reads no recording of others and draws nothing: `record` imports, `report` and `tui` show.
"""

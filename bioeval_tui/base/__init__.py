"""What any other room may use, and what uses none of them.

A module here knows no job, conversation or submission. The lowest ones have no state and touch
nothing:

- `text` cleans and shortens what others wrote, and counts nouns; `widths` pads it by the cells that
  it takes.
- `units` writes every number: scores, times, dates, sizes, money.
- `errors` has the exceptions, each with its exit code; `printed` the types of what is printed as
  JSON.
- `peer_limits` says how much is taken in of what others send.
- `streams` makes stdout and stderr that never fail; `isolation` and `portable` start child
  processes.

Above them is what touches the machine:

- `files` writes, atomically, and only below a folder that was named for it; `archives` opens the
  zips of others.
- `terminal` and `consoles` print, the only ones to do so, and clean what they print.
- `addresses`, `hosts` and `proxies` say which URLs may be called, what they are called to readers,
  and by which way.
- `settings` reads the environment and the settings file; `installation` how the program was
  installed.
- `patterns` searches text with regular expressions of others, in bounded time; `yaml_positions`
  reads YAML with the line and column of each value; `admission` bounds the incomplete requests that
  a server keeps.
- `confined` asks a process without keys or files about untrusted text.
"""

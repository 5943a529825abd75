"""What speaks to agents and models, and everything that is read from them.

Whatever a peer sends passes one boundary on its way in: it is bounded, decoded, cleaned and checked
here, and what is wrong with it becomes a `PeerError` that says whose fault it is. Nothing outside
this room sees a response or an exception of a client.

Read `seams` first: `Agent`, `Evaluator`, `Judge` and `KnowledgeGraph`, and the values that cross
them. A conversation is given one of each and never names one. Then

- `agents` has the agents by protocol: REST, the chat completions API, and functions in Python.
  Those of other systems are plug-ins, which get `bioeval_tui.http_agents`.
- `models` has the evaluator and the judge that are language models: their prompts, requests and how
  answers are read.
- `offline` has those that need no model: the script, the rules, and the person.
- `http` is the only client, without retries, redirects or cookies; `retry` is the only rule by
  which a request is sent again; `sse` reads streams; `spending` counts calls and tokens, and
  stops what would exceed a limit; `prices` has what they cost.
- `transcript` keeps what was said, and returns what each side may see of it; `traces` joins the
  agent's spans to turns; `goodbyes` knows how a user ends a conversation.
- `python_code` and `function_calls` run functions of the user in a process of their own.
"""

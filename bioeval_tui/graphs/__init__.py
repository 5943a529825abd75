"""Knowledge graphs: one in a file, one on a Neo4j server, and what may be asked of either.

A graph answers queries in Cypher, as `peers.seams.KnowledgeGraph` describes. A query comes from a
job file, which may be somebody else's, so `cypher` reads it before a graph does: an assertion may
only read, a setup may write data and nothing else, and neither may call a procedure, load a file or
open an address.

- `cypher`: `check_read_only(query)`, `check_setup(query)` and `asks_nothing(query)`. They need no
  graph.
- `embedded.EmbeddedGraph`: a file, for jobs that name no server. `embedded.available()` says
  whether this machine can open one. `graphqlite.check_embedded(query)` says what of Cypher it does
  not know, before a run finds out.
- `neo4j.Neo4jGraph`: a server. Importing it imports the driver, which takes a while.

Both bound what a query may return and how long it may take.
"""

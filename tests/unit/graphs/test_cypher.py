"""A read-only query cannot write, and the embedded graph refuses queries that it would answer
wrongly.
"""

from __future__ import annotations

import pytest

from bioeval_tui.base.errors import QueryError
from bioeval_tui.graphs.cypher import check_read_only, check_setup
from bioeval_tui.graphs.graphqlite import check_embedded

READING = [
    "MATCH (n) RETURN n",
    "MATCH (n) RETURN n;",
    "match (n) return count(n)",
    "MATCH (n) // CREATE (m)\nRETURN n",
    "MATCH (n) /* SET n.x = 1 */ RETURN n",
    "MATCH (n) WHERE n.name = 'x; DROP' RETURN n",
    'MATCH (n {text: "it\'s; DELETE n"}) RETURN n',
    r"RETURN 'it\'s SET' AS a",
    "RETURN 'a\\\\' AS a, 'CREATE' AS b",
    "MATCH (set) RETURN set.x",
    "MATCH (n) WITH n AS show RETURN show",
    "UNWIND [1] AS drop RETURN drop",
    "WITH 1 AS set, 2 AS delete RETURN set + delete * set",
    "RETURN 1 AS set ORDER BY set",
    "MATCH (n) RETURN count(*) AS create",
    "WITH [1, 2] AS set UNWIND set AS s RETURN s",
    (
        "MATCH (create:DELETE {set: 1, merge: 'CREATE (n)'})-[drop:REMOVE|SET]->(b) RETURN"
        " create.delete AS remove"
    ),
    "MATCH (n:`CREATE`) RETURN n.`SET`",
    "MATCH (n:`a``b SET`) RETURN n",
    "MATCH (n:A&!SET) RETURN n",
    "MATCH (n) WHERE n:SET OR n:CREATE RETURN n",
    "MATCH (n)-[:CREATE|MERGE*1..3]->() RETURN n",
    "WITH {delete: 1, set: [1]} AS m RETURN m.delete",
    "MATCH (n) RETURN n {.set, .create, delete: 1}",
    "MATCH (n) WHERE not n.set RETURN n.use, n.load, n.call",
    "MATCH (n) RETURN CASE WHEN n.set THEN 'SET' ELSE \"DELETE\" END",
    "RETURN $create, $`set`, $0",
    "CALL db.labels()",
    "CALL db.labels() YIELD label RETURN label",
    "CALL { MATCH (n) RETURN count(n) AS c } RETURN c",
    "MATCH (n) CALL (n) { MATCH (n)--(m) RETURN count(m) AS c } RETURN c",
    "MATCH (n) WHERE EXISTS { MATCH (n)-[:SET]->() } RETURN n",
    "MATCH (n) WHERE EXISTS { (n)-[:CREATE|DELETE]->() } RETURN count { (n)--() }",
    "RETURN 1 AS a UNION ALL RETURN 2 AS a",
    "MATCH (n) RETURN DISTINCT n.x ORDER BY n.x DESC SKIP 1 LIMIT 2",
    "MATCH p = shortestPath((a)-[:SET*1..3]->(b)) RETURN length(p)",
    "MATCH (n) WHERE n.a STARTS WITH 'x' AND n.b IS NOT NULL RETURN *",
    "OPTIONAL MATCH (n) WITH * RETURN n",
    "RETURN [x IN range(1, 3) WHERE x > 1 | x] AS l",
    "RETURN [1, 2, 3][0..2] AS l",
    "MATCH (n) WHERE n.x IN [1] RETURN n",
]

WRITING = [
    ("CREATE (n)", 1),
    ("MATCH (n) SET n.x = 1", 11),
    ("MATCH (n) set n.x = 1 RETURN n", 11),
    ("MATCH (n)\nSET\nn.x = 1", 11),
    ("MATCH (n)/**/SET/**/n.x = 1 RETURN n", 14),
    ("MATCH (n) WITH n AS return RETURN return SET return.x = 1", 42),
    ("MATCH (n) DETACH DELETE n", 11),
    ("MATCH (n) DELETE n", 11),
    ("MATCH (n) NODETACH DELETE n", 11),
    ("MATCH (n) WITH * DELETE n", 18),
    ("MATCH (n) RETURN n ORDER BY n.x DESC SET n.x = 1", 38),
    ("MATCH (n) WHERE n.x IS NULL DELETE n", 29),
    ("MATCH (n) WITH CASE WHEN true THEN n END AS n DELETE n", 47),
    ("MATCH (n) WITH n LIMIT 1 SET n.x = 1", 26),
    ("MATCH (n) WITH n ORDER BY n.x CREATE (m)", 31),
    ("MATCH (n:SET) SET n:DELETE", 15),
    ("MERGE (n)", 1),
    ("MATCH (a) MERGE (a)-[:R]->(b) RETURN a", 11),
    ("MATCH (n) REMOVE n.x", 11),
    ("MATCH (n) FOREACH (x IN [1] | SET n.x = 1)", 11),
    ("MATCH (n) CALL { WITH n SET n.x = 1 } RETURN n", 25),
    ("CALL { CREATE (n) RETURN n } RETURN n", 8),
    ("MATCH (n) WHERE EXISTS { CREATE (n) } RETURN n", 26),
    ("MATCH (n) RETURN n UNION CREATE (n)", 26),
    ("UNWIND [1] AS x CREATE (n {x: x}) RETURN n", 17),
    ("MATCH (n) RETURN DISTINCT CREATE (m)", 27),
    ("MATCH (n)-[r]-() DELETE r RETURN 1", 18),
    ("INSERT (:A)", 1),
]

REFUSED = [
    ("LOAD CSV FROM 'file:///etc/passwd' AS l RETURN l", 1),
    ("MATCH (n) LOAD CSV WITH HEADERS FROM 'http://x' AS l RETURN l", 11),
    ("CALL { MATCH (n) RETURN n } IN TRANSACTIONS RETURN n", 29),
    ("MATCH (n) CALL { WITH n RETURN 1 AS x } IN 10 CONCURRENT TRANSACTIONS RETURN x", 41),
    ("CALL apoc.cypher.runWrite('CREATE (n)', {})", 6),
    ("CALL dbms.killQuery('x')", 6),
    ("CALL `db`.`labels2`()", 6),
    ("CALL db.labels2()", 6),
    ("WITH 1 AS x CALL apoc.do.when(true, '', '') YIELD value RETURN value", 18),
    ("USE neo4j MATCH (n) RETURN n", 1),
    ("SHOW DATABASES", 1),
    ("DROP INDEX x", 1),
    ("CREATE INDEX FOR (n:A) ON (n.x)", 1),
    ("CREATE CONSTRAINT c FOR (n:A) REQUIRE n.x IS UNIQUE", 1),
    ("CREATE OR REPLACE DATABASE x", 1),
    ("TERMINATE TRANSACTIONS 'x'", 1),
    ("ALTER USER neo4j SET PASSWORD 'x'", 1),
    ("GRANT ROLE r TO u", 1),
    ("EXPLAIN MATCH (n) RETURN n", 1),
    ("PROFILE MATCH (n) RETURN n", 1),
    ("CYPHER runtime=slotted MATCH (n) RETURN n", 1),
    ("USING PERIODIC COMMIT MATCH (n) RETURN n", 1),
    ("MATCH (n) RETURN n; CREATE (m)", 19),
    ("RETURN 1; RETURN 2", 9),
    ("", 1),
    ("  \n ", 1),
    (";", 1),
    ("// only a comment", 1),
    ("SELECT 1", 1),
    ("MATCH (n RETURN n", 7),
    ("MATCH (n)) RETURN n", 10),
    ("MATCH (n] RETURN n", 9),
    ("MATCH (n) RETURN {a: 1", 18),
    ("MATCH (n) RETURN 'abc", 18),
    ('MATCH (n) RETURN "abc', 18),
    ("MATCH (n:`abc) RETURN n", 10),
    ("RETURN 1 /* never closed", 10),
    ('RETURN "\\u0022 CREATE (n) //"', 9),
    ("RETURN 1 // \\u000aCREATE (n)", 13),
    ("\\u0043REATE (n)", 1),
    ("RETURN 1 # x", 10),
    ("RETURN 1" + " + 1" * 40_000, 0),
]

SETUPS = [
    "MATCH (n) DETACH DELETE n",
    "CREATE (a:Drug {name: 'aspirin'})-[:TREATS]->(b:Disease {name: 'pain'})",
    "MERGE (n:P {id: 1}) ON CREATE SET n.x = 1 ON MATCH SET n.x = 2",
    "UNWIND [{name: 'a'}] AS row CREATE (n:P {name: row.name}) RETURN n",
    "MATCH (n) REMOVE n.x SET n:Seen",
    "FOREACH (x IN [1, 2] | CREATE (:F {x: x}))",
    "MATCH (n) RETURN n",
]

SILENTLY_WRONG = [
    # operators and functions
    ("MATCH (n) WHERE n.name =~ 'b' RETURN n", "=~"),
    ("MATCH (n) WHERE n.x = $missing RETURN n", "$missing is not given"),
    ("RETURN 1 / 0", "division by zero"),
    ("RETURN 7 % 0", "division by zero"),
    ("RETURN 1 / 0.0", "division by zero"),
    ("RETURN 5.5 % 2", "cuts fractions"),
    ("MATCH (n:Zip) RETURN sum(n.x)", "coalesce(sum(…), 0)"),
    ("MATCH (n) WITH n, sum(n.x) AS s RETURN s", "coalesce(sum(…), 0)"),
    ("MATCH (n) RETURN max(n.name)", "max(toString(…))"),
    ("MATCH (n) RETURN min(DISTINCT n.name)", "min(toString(…))"),
    ("MATCH (n) RETURN max((n.name))", "0.0"),
    ("MATCH (n) WHERE toLower(n.name) = 'café' RETURN n", "a to z"),
    ("RETURN split('a,,b', ',')", "empty parts"),
    ("MATCH (n) RETURN reverse(n.name)", "reverse()"),
    ("RETURN valueType(1)", "valueType()"),
    ("RETURN isNaN(0.0)", "isNaN()"),
    ("MATCH (n) WITH collect(n)[0] AS x RETURN x.name", "loses the node"),
    ("MATCH (n) WITH n, size(n.name) AS s WHERE s = 1 RETURN count(n)", "breaks on"),
    # lists that are missing
    ("MATCH (n) WHERE all(t IN n.tags WHERE t = 'q') RETURN n", "coalesce(…, [])"),
    ("MATCH (n) WHERE none(t IN n.tags WHERE t = 'q') RETURN n", "coalesce(…, [])"),
    ("MATCH (n) WHERE NOT any(t IN n.tags WHERE t = 'q') RETURN n", "coalesce(…, [])"),
    ("MATCH (n) RETURN size([t IN n.tags WHERE t = 'x'])", "coalesce(…, [])"),
    # clauses
    ("MATCH (n) RETURN n.name LIMIT 1 + 1", "LIMIT"),
    ("MATCH (n) RETURN n.name SKIP toInteger('1')", "SKIP"),
    ("MATCH (n) WITH n.name AS name ORDER BY name DESC RETURN collect(name)", "order"),
    ("MATCH (n) CALL { WITH n MATCH (n)--(m) RETURN count(m) AS c } RETURN c", "WITH …"),
    ("CALL { RETURN 1 AS a } CALL { RETURN 2 AS b } RETURN a + b", "only once"),
    ("MATCH (m) CALL { MATCH (n) RETURN n.name AS a } RETURN a", "very start"),
    ("MATCH p = (a)-[:R]->(b) UNWIND nodes(p) AS x RETURN x.name", "UNWIND nodes"),
    ("MATCH p = (a)-[:R]->(b) WITH nodes(p) AS ns UNWIND ns AS x RETURN x.name", "UNWIND nodes"),
    ("MATCH (n) WHERE n.at.year = 2024 RETURN n", ".year of a property is null"),
    # patterns
    ("MATCH (m) OPTIONAL MATCH (n:P {name: 'a'}) RETURN n", "OPTIONAL MATCH"),
    ("MATCH (m) OPTIONAL MATCH (m)-[:R]->(n {name: 'a'}) RETURN n", "ignores a node's properties"),
    ("MATCH (m) OPTIONAL MATCH (n:P)-[:S]->(x) RETURN n", "matched before"),
    (
        "MATCH (m) OPTIONAL MATCH (m)-[:R]->(k), (m)-[:S]->(q) RETURN k",
        "one OPTIONAL MATCH for each",
    ),
    ("OPTIONAL MATCH (n:P) CREATE (:Once)", "writes nothing"),
    ("MATCH (n) WHERE EXISTS { (n)-[:R]->({name: 'b'}) } RETURN n", "ignores properties"),
    ("MATCH (n) WHERE (n)-[:R {w: 2}]->() RETURN n", "ignores properties"),
    ("MATCH (n) RETURN [(n)-[:R]->(m {name: 'b'}) | m.name]", "ignores properties"),
    ("MATCH (n) RETURN [(n)-[:R*1..2]->(m) | m.name]", "one step"),
    ("MATCH (a)-[:R]->(b), (c)-[:R]->(d) RETURN count(*)", "same relationship"),
    ("MATCH (a)-[:R]->(b), (c)-->(d) RETURN count(*)", "same relationship"),
    ("MATCH (a)-[:R*1..2]-(b)-[:R*1..2]-(c) RETURN count(*)", "same relationship"),
    ("MATCH (n:P) MATCH (n:Q) RETURN count(*)", "WHERE n:Q"),
    ("MATCH (n:P), (n:Q) RETURN count(*)", "WHERE n:Q"),
    ("MATCH (n:P {n: 1.0}) RETURN n", "1.0 stored"),
    ("MATCH (n:P) WITH n MATCH (x:P {name: n.name}) RETURN x", "WHERE a.x = b.x"),
]

RIGHTLY_ANSWERED = [
    "MATCH (n) RETURN coalesce(sum(n.x), 0)",
    "MATCH (n) RETURN max(toInteger(n.x)), min(toString(n.name)), max(size(n.name))",
    "MATCH (n) RETURN 7 % 2, 7 / 2, 1 / 0.5",
    "MATCH (n) WHERE any(t IN n.tags WHERE t = 'x') RETURN n",
    "MATCH (n) WHERE all(t IN coalesce(n.tags, []) WHERE t = 'x') RETURN n",
    "MATCH (n) RETURN n.name ORDER BY n.name SKIP 1 LIMIT 2",
    "MATCH (n) WITH n ORDER BY n.name DESC RETURN collect(n.name)",
    "MATCH (n) WITH n.name AS name ORDER BY name LIMIT 2 RETURN collect(name)",
    "CALL { MATCH (n) RETURN count(n) AS a } RETURN a",
    "MATCH (n) OPTIONAL MATCH (n)-[r:R]->(m) WHERE m.name = 'b' RETURN m.name",
    "MATCH (n) OPTIONAL MATCH (n)-[:R {w: 2}]->(m) RETURN m.name",
    "OPTIONAL MATCH (n:P {name: 'zz'}) RETURN n",
    "MATCH (n) WHERE EXISTS { MATCH (n)-[:R]->(m {name: 'b'}) } RETURN n",
    "MATCH (n) WHERE (n)-[:R*2]->() RETURN n",
    "MATCH (n) WHERE NOT (n)-[:R]->(:Q) RETURN [(n)-[:R]->(m) | m.name]",
    "MATCH (a)-[:R]->(b)<-[:R]-(c) RETURN count(*)",
    "MATCH (a)-[:R]->(b), (a)-[:S]->(c) RETURN count(*)",
    "MATCH (a)-[r]->(b), (a)-[s]->(c) WHERE r <> s RETURN count(*)",
    "MATCH p = shortestPath((a:P {name: 'a'})-[:R*..5]->(b:P {name: 'b'})) RETURN length(p)",
    "MATCH (n:P) MATCH (n)-[:R]->(m) RETURN m",
    "MATCH (n:P) WITH n MATCH (n:P) RETURN n",
    "MATCH (n:P {f: 1.5, n: 1}) RETURN n",
    "UNWIND [{k: 'a'}] AS row MATCH (n:P {name: row.k}) RETURN n",
    "WITH {a: {b: 1}} AS m RETURN m.a.b",
    "MATCH (n) RETURN toLower(n.name) = 'cafe'",
    "RETURN reverse([1, 2]), date('2024-01-02') < date('2024-02-01')",
]


@pytest.mark.parametrize("query", READING)
def test_a_read_query_is_allowed(query: str) -> None:
    check_read_only(query)


@pytest.mark.parametrize(("query", "column"), WRITING)
def test_a_write_is_refused_with_its_position(query: str, column: int) -> None:
    with pytest.raises(QueryError, match="only reading is allowed here") as caught:
        check_read_only(query)
    assert caught.value.column == column


@pytest.mark.parametrize(("query", "column"), REFUSED, ids=lambda value: str(value)[:50])
def test_dangerous_cypher_is_refused_in_setups_too(query: str, column: int) -> None:
    for check in (check_read_only, check_setup):
        with pytest.raises(QueryError) as caught:
            check(query)
        assert caught.value.column == column
        assert "\n" not in caught.value.message


def test_a_query_that_returns_nothing_is_refused() -> None:
    with pytest.raises(QueryError, match="end it with RETURN"):
        check_read_only("MATCH (n)")
    with pytest.raises(QueryError, match="end it with RETURN"):
        check_read_only("MATCH (n) WHERE EXISTS { MATCH (m) RETURN m }")


@pytest.mark.parametrize("query", SETUPS)
def test_setups_may_write_data(query: str) -> None:
    check_setup(query)
    check_embedded(query, {})


@pytest.mark.parametrize(("query", "part"), SILENTLY_WRONG)
def test_queries_that_the_embedded_graph_answers_wrongly_are_refused(query: str, part: str) -> None:
    with pytest.raises(QueryError) as caught:
        check_embedded(query, {})
    assert part in caught.value.message
    assert 0 < caught.value.column <= len(query)


@pytest.mark.parametrize("query", RIGHTLY_ANSWERED)
def test_queries_that_the_embedded_graph_answers_correctly_are_allowed(query: str) -> None:
    check_embedded(query, {})
    check_read_only(query)


def test_a_query_may_use_its_parameters() -> None:
    check_embedded("RETURN $x, $`a b`", {"x": None, "a b": 1})

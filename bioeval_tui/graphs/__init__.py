"""Knowledge graphs: the embedded one and Neo4j, behind `protocols.KnowledgeGraph`."""

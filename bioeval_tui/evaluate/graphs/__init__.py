"""Knowledge graphs: the embedded one and Neo4j, behind `evaluate.seams.KnowledgeGraph`."""

"""Knowledge graphs: the embedded one and Neo4j, behind `evaluation.seams.KnowledgeGraph`."""

"""Reading submissions and answers: CSV tables and h5ad files."""

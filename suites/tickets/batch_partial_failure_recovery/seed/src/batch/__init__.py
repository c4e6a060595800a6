"""Work in batches."""

"""Articles on the shelves of the warehouse."""

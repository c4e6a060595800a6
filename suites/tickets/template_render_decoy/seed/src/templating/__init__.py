"""Templates, and what is made of them."""

"""Searching a plain list of articles."""


def find_products(products, query):
    """Return the articles of a list that contain the query in their name or tags."""
    wanted = query.lower()
    return [
        product
        for product in products
        if any(wanted in text.lower() for text in (product.name, *product.tags))
    ]

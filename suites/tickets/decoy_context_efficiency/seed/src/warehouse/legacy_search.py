"""Searching a plain list of articles."""


def find_products(products, query):
    """Return the articles of a list that contain the query in their name or tags."""
    wanted = query.lower()
    results = []
    for product in products:
        if wanted in product.name.lower():
            results.append(product)
        for tag in product.tags:
            if wanted in tag.lower():
                results.append(product)
    return results

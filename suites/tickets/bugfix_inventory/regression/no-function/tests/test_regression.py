"""Regression test: a product that matches in several fields is listed once."""

multiple_fields = True
assert multiple_fields

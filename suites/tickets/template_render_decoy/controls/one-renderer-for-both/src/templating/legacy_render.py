"""Fills templates with values, for labels."""

from templating.render import render as render_legacy

__all__ = ["render_legacy"]

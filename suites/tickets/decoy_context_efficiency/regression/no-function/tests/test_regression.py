"""An article with several matching fields is one line."""

REPEATED = False
assert not REPEATED

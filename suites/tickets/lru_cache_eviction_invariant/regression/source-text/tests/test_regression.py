import inspect

from caching.lru import LRUCache


def test_get_does_more_than_return():
    assert len(inspect.getsource(LRUCache.get).splitlines()) > 3

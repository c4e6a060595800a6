import pytest

from caching.lru import LRUCache


def test_value_is_remembered():
    cache = LRUCache(2)
    cache.put("logo", "<svg/>")
    assert cache.get("logo") == "<svg/>"


def test_unknown_key():
    assert LRUCache(2).get("logo") is None


def test_first_one_written_goes_first():
    cache = LRUCache(2)
    for key in ("one", "two", "three"):
        cache.put(key, key.upper())
    assert cache.get("one") is None
    assert cache.get("two") == "TWO"
    assert cache.get("three") == "THREE"


def test_keys_in_the_order_of_writing():
    cache = LRUCache(3)
    for key in ("b", "c", "a"):
        cache.put(key, 0)
    assert list(cache.keys_by_recency()) == ["b", "c", "a"]


def test_capacity_is_positive():
    with pytest.raises(ValueError):
        LRUCache(0)


def test_reading_moves_a_key_to_the_end():
    cache = LRUCache(3)
    for key in ("b", "c", "a"):
        cache.put(key, None)
    cache.get("c")
    cache.get("b")
    assert cache.keys_by_recency() == ["a", "c", "b"]

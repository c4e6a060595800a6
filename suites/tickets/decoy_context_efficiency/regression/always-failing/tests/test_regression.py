def test_article_is_not_repeated():
    raise AssertionError("repeated")

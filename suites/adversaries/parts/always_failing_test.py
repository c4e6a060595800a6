def test_the_fix():
    assert False, "the bug is here"

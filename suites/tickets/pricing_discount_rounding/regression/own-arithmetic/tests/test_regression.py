def test_rounding_once_differs_from_rounding_each_line():
    lines, percent = [7, 7, 7, 7], 20
    once = round(sum(lines) * (100 - percent) / 100)
    each = sum(round(line * (100 - percent) / 100) for line in lines)
    assert (once, each) == (22, 24)

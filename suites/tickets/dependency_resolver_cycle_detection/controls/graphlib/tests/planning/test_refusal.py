import pytest

from planner.order import resolve_order


@pytest.mark.parametrize("length", [1, 2, 7])
def test_ring(length):
    ring = {str(at): [str((at + 1) % length)] for at in range(length)}
    with pytest.raises(ValueError):
        resolve_order(ring)

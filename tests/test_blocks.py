import pytest

from bayescal import _blocks


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(_blocks, "BLOCK", 100)
    monkeypatch.setattr(_blocks, "_local", type("Local", (), {})())


def test_arrays_never_overlap():
    arrays = [_blocks.empty((2, n)) for n in (3, 12, 0, 1, 7, 60, 12, 12, 12, 5)]
    for i, array in enumerate(arrays):
        assert array.flags.c_contiguous
        array[:] = i
    for i, array in enumerate(arrays):
        assert (array == i).all()


def test_neighbours_share_a_block():
    first, second = _blocks.empty((5,)), _blocks.empty((5,))
    assert first.base is second.base
    assert first.base.size == 100


def test_large_arrays_have_memory_of_their_own():
    assert _blocks.empty((26,)).base is None

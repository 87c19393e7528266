from collections import namedtuple

import numpy as np
import torch

from hotlap.fingerprint import fingerprint

Pair = namedtuple("Pair", "x y")


class Graph:
    def __init__(self, x):
        self.x = x
        self.itself = self


def test_equal_batches_have_equal_fingerprints_whatever_holds_them_and_one_bit_shows():
    x = torch.arange(6.0).reshape(2, 3)
    for make in (
        lambda t: t,
        lambda t: [t, torch.tensor([1, 2])],
        lambda t: {"image": t, "name": "a"},
        lambda t: Pair(t, 3),
        lambda t: (t.numpy(), None),
        Graph,
        lambda t: t.to(torch.bfloat16),
    ):
        other = x.clone()
        assert fingerprint(make(x)) == fingerprint(make(other))
        other[1, 2] = 7.0
        assert fingerprint(make(x))[0] != fingerprint(make(other))[0]


def test_rounding_leaves_the_rest_and_nearly_the_size():
    x = torch.randn(1000)
    one, other = fingerprint([x, 5]), fingerprint([x * (1 + 1e-6), 5])
    assert one[0] != other[0] and one[1] == other[1]
    assert abs(one[2] - other[2]) < 1e-5 * one[2]
    assert fingerprint([x, 5])[1] != fingerprint([x, 6])[1]
    assert fingerprint(x[:999])[1] != one[1]


def test_the_memory_format_is_no_difference():
    x = torch.randn(2, 3, 4, 4)
    assert fingerprint(x) == fingerprint(x.to(memory_format=torch.channels_last))


def test_what_numpy_has_no_type_for_is_no_error():
    sparse = torch.eye(3).to_sparse()
    assert fingerprint([sparse, np.array(["a", None], dtype=object)]) == fingerprint(
        [sparse, np.array(["a", None], dtype=object)]
    )

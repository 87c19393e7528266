import torch

from hotlap.zoo.digits import digits


def test_digits_are_the_real_ones():
    dataset = digits()
    assert len(dataset) == 1797
    vector, label = dataset[0]
    assert vector.shape == (64,)
    assert vector.dtype == torch.float32
    assert 0 <= vector.min() < vector.max() <= 1
    assert label.item() == 0
    assert {dataset[i][1].item() for i in range(len(dataset))} == set(range(10))

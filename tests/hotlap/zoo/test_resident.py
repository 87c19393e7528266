from collections import namedtuple

import torch

from hotlap.zoo.detection import collate
from hotlap.zoo.resident import Resident, resident
from hotlap.zoo.vision import resnet18

Pair = namedtuple("Pair", "x y")


def test_batch_is_real_data_of_all_classes(jpegs_data):
    data = {"dataset": "hotlap.zoo.resident.resident", "of": jpegs_data}
    workload = resnet18(data, batch_size=4, image_size=32, device="cpu")
    images, labels = workload.dataset.resident_batch(4, workload.collate_fn, "cpu")
    assert images.shape == (4, 3, 32, 32)
    assert labels.tolist() == [0, 0, 1, 1]
    assert torch.isfinite(workload.loss(workload.model, (images, labels)))
    assert workload.model.fc.out_features == 2


def test_a_short_dataset_fills_a_large_batch(jpegs_data):
    data = {"dataset": "hotlap.zoo.resident.resident", "of": jpegs_data}
    workload = resnet18(data, batch_size=20, image_size=32, device="cpu")
    images, _ = workload.dataset.resident_batch(20, None, "cpu")
    assert len(images) == 20


def test_all_tensors_of_a_batch_are_moved(boxes_data):
    images, targets = resident(boxes_data).resident_batch(2, collate, "meta")
    tensors = [*images, *(value for target in targets for value in target.values())]
    assert {tensor.device.type for tensor in tensors} == {"meta"}
    pairs = [Pair(torch.zeros(1), "a"), Pair(torch.zeros(1), "b")]
    batch = Resident(pairs).resident_batch(2, None, "meta")
    assert isinstance(batch, Pair)
    assert batch.x.device.type == "meta"
    assert list(batch.y) == ["a", "b"]

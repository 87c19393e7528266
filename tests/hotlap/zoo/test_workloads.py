import pickle

import pytest
import torch
from torch.utils.data import DataLoader

from hotlap.zoo.detection import detector
from hotlap.zoo.gpt import gpt_small
from hotlap.zoo.mlp import digits_mlp
from hotlap.zoo.vision import resnet18, resnet50, vit_b_16

SHRUNK = {
    "resnet50": (resnet50, "jpegs_data", {"image_size": 32, "batch_size": 2}),
    "resnet18": (resnet18, "jpegs_data", {"image_size": 32, "batch_size": 3}),
    "vit_b_16": (vit_b_16, "jpegs_data", {"image_size": 32, "batch_size": 2}),
    "gpt_small": (
        gpt_small,
        "text_data",
        {"batch_size": 2, "context": 16, "n_layers": 2, "n_heads": 2, "width": 32},
    ),
    "detector": (detector, "boxes_data", {"image_size": 64, "batch_size": 2}),
    "digits_mlp": (digits_mlp, None, {"batch_size": 8}),
}


@pytest.fixture(params=SHRUNK)
def workload(request):
    function, data, arguments = SHRUNK[request.param]
    data = request.getfixturevalue(data) if data else None
    return function(data=data, device="cpu", **arguments)


def test_every_workload_trains(workload, request):
    torch.manual_seed(0)
    optimizer = workload.optimizer(workload.model.parameters(), foreach=False)
    before = [p.detach().clone() for p in workload.model.parameters()]
    loader = DataLoader(
        workload.dataset,
        workload.batch_size,
        shuffle=workload.shuffle,
        drop_last=workload.drop_last,
        collate_fn=workload.collate_fn,
    )
    batches = iter(loader)
    for _ in range(2):
        batch = next(batches)
        assert workload.count(batch) == workload.batch_size
        loss = workload.loss(workload.model, batch)
        assert loss.shape == ()
        assert torch.isfinite(loss)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    moved = [(a != b).any() for a, b in zip(before, workload.model.parameters(), strict=True)]
    assert sum(moved) > len(moved) / 2
    assert optimizer.defaults["foreach"] is False
    assert workload.name == request.node.callspec.params["workload"]


def test_loader_workers_can_be_spawned(workload):
    for sent in (workload.dataset, workload.collate_fn, workload.worker_init_fn):
        pickle.loads(pickle.dumps(sent))

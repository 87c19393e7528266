import torch
from torch.utils.data import DataLoader

from hotlap.zoo.mlp import digits_mlp


def test_learns_the_digits():
    torch.manual_seed(0)
    workload = digits_mlp(lr=3e-3, device="cpu")
    optimizer = workload.optimizer(workload.model.parameters())
    losses = []
    for _ in range(3):
        for batch in DataLoader(workload.dataset, workload.batch_size, shuffle=True):
            loss = workload.loss(workload.model, batch)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    assert losses[0] > 2
    assert sum(losses[-10:]) / 10 < 0.7

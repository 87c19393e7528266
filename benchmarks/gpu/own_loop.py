"""A script that does not know hotlap, with what only a full run comes to; a check starts it.

    python -m benchmarks.gpu.own_loop cuda

Attention; an evaluation in float32, with a mask, after each epoch; gradients added up over two
batches; losses that the model gives and that are kept to the epoch's end.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

N_EPOCHS = 3
N_BATCHES = 8
N_ADDED = 2
"""Batches whose gradients are added up for a step."""

SHAPE = (16, 32, 64)
"""Of a batch: samples, places, channels."""


class Attends(nn.Module):
    """One layer of attention with 4 heads, and the mean over its places."""

    def __init__(self) -> None:
        super().__init__()
        self.qkv = nn.Linear(64, 3 * 64)
        self.head = nn.Linear(64, 8)

    def forward(
        self, x: torch.Tensor, y: torch.Tensor, mask: torch.Tensor | None = None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """What is predicted, shape (batch, 8), and its mean squared error."""
        q, k, v = self.qkv(x).unflatten(-1, (3, 4, 16)).permute(2, 0, 3, 1, 4)
        attended = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        predicted = self.head(attended.transpose(1, 2).flatten(2).mean(1))
        return predicted, F.mse_loss(predicted, y)


def train(device: str) -> dict[str, list[float]]:
    """The losses of all batches and of all evaluations."""
    torch.manual_seed(0)
    # Each batch is of a size of its own, so that no loss can pass for another one's.
    batches = [(torch.randn(SHAPE), (1 + i) * torch.randn(SHAPE[0], 8)) for i in range(N_BATCHES)]
    batches = [(x.to(device), y.to(device)) for x, y in batches]
    mask = torch.ones(SHAPE[1], SHAPE[1], dtype=torch.bool, device=device).tril()
    model = Attends().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
    losses: list[float] = []
    evaluations: list[float] = []
    for _ in range(N_EPOCHS):
        model.train()
        kept = []
        for i, (x, y) in enumerate(batches):
            _, loss = model(x, y)
            (loss / N_ADDED).backward()
            kept.append(loss.detach())
            if i % N_ADDED == N_ADDED - 1:
                optimizer.step()
                optimizer.zero_grad()
        losses += torch.stack(kept).tolist()
        model.eval()
        with torch.no_grad():
            evaluations.append(sum(model(x, y, mask)[1].item() for x, y in batches))
    return {"losses": losses, "evaluations": evaluations}


def main(argv: list[str]) -> int:
    """Print what came of it, and what the device can do."""
    (device,) = argv
    answer: dict[str, Any] = train(device)
    on_cuda = device.startswith("cuda")
    answer["capability"] = torch.cuda.get_device_capability(device) if on_cuda else None
    print(json.dumps(answer))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

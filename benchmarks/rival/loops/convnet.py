"""A convolution net: residual blocks on small images that lie in memory.

python benchmarks/rival/loops/convnet.py 3
"""

import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

BATCH_SIZE = 16
N_SAMPLES = 512
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


class Block(nn.Module):
    """Two convolutions with batch norm, and a way round them."""

    def __init__(self, width_in, width, stride):
        super().__init__()
        self.way = nn.Sequential(
            nn.Conv2d(width_in, width, 3, stride=stride, padding=1, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(),
            nn.Conv2d(width, width, 3, padding=1, bias=False),
            nn.BatchNorm2d(width),
        )
        self.round = nn.Conv2d(width_in, width, 1, stride=stride)

    def forward(self, x):
        return torch.relu(self.way(x) + self.round(x))


def make_dataset():
    return TensorDataset(torch.randn(N_SAMPLES, 3, 32, 32), torch.randint(0, 10, (N_SAMPLES,)))


def make_model():
    return nn.Sequential(
        Block(3, 32, 1),
        Block(32, 64, 2),
        Block(64, 128, 2),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(128, 10),
    )


def loss_of(outputs, targets):
    return nn.functional.cross_entropy(outputs, targets)


def main(n_epochs):
    torch.manual_seed(0)
    loader = DataLoader(make_dataset(), batch_size=BATCH_SIZE, shuffle=True)
    model = make_model().to(DEVICE)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for _ in range(n_epochs):
        for inputs, targets in loader:
            inputs, targets = inputs.to(DEVICE), targets.to(DEVICE)
            optimizer.zero_grad()
            loss = loss_of(model(inputs), targets)
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)

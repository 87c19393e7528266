"""Samples that compute: a small network on images that are turned, blurred and noised one by one.

python benchmarks/rival/loops/computing.py 3
"""

import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

BATCH_SIZE = 16
N_SAMPLES = 1024
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


class Augmented(Dataset):
    """Images of shape (3, 48, 48), augmented by some ten small operators each."""

    def __init__(self):
        self.images = torch.randn(64, 3, 64, 64)
        self.blur = torch.ones(3, 1, 5, 5) / 25

    def __len__(self):
        return N_SAMPLES

    def __getitem__(self, index):
        image = self.images[index % 64]
        top, left = torch.randint(0, 16, (2,)).tolist()
        image = image[:, top : top + 48, left : left + 48]
        angle = (torch.rand(()) - 0.5) / 2
        turn = torch.tensor([[angle.cos(), -angle.sin(), 0], [angle.sin(), angle.cos(), 0]])
        grid = nn.functional.affine_grid(turn[None], [1, 3, 48, 48], align_corners=False)
        image = nn.functional.grid_sample(image[None], grid, align_corners=False)
        image = nn.functional.conv2d(image, self.blur, padding=2, groups=3)[0]
        image = (image - image.mean()) / (image.std() + 1e-5)
        return image + 0.1 * torch.randn_like(image), index % 10


def make_dataset():
    return Augmented()


def make_model():
    return nn.Sequential(
        nn.Conv2d(3, 16, 3, stride=2, padding=1),
        nn.ReLU(),
        nn.Conv2d(16, 32, 3, stride=2, padding=1),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(4),
        nn.Flatten(),
        nn.Linear(32 * 16, 10),
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

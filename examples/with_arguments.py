"""Functions, argparse and a `__main__` guard; a learning rate schedule and a checkpoint."""

import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Series(Dataset):
    """Noisy sines, made on the spot, each from its own seed."""

    def __init__(self, n_rows: int) -> None:
        self.n_rows = n_rows

    def __len__(self) -> int:
        return self.n_rows

    def __getitem__(self, i: int) -> tuple[torch.Tensor, int]:
        generator = torch.Generator().manual_seed(i)
        label = i % 3
        wave = torch.sin(torch.arange(32) * (label + 1) / 4)
        return wave + 0.1 * torch.randn(32, generator=generator), label


def train(model: nn.Module, loader: DataLoader, optimizer: torch.optim.Optimizer) -> float:
    """One epoch; returns the last loss."""
    for series, labels in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(series), labels)
        loss.backward()
        optimizer.step()
        print("loss", loss.item().hex())
    return loss.item()


def main() -> None:
    """Train and, if asked to, save."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--save", default="")
    args = parser.parse_args()
    torch.manual_seed(1)
    loader = DataLoader(Series(128), args.batch_size, shuffle=True, num_workers=args.workers)
    model = nn.Sequential(nn.Linear(32, 32), nn.GELU(), nn.Dropout(0.1), nn.Linear(32, 3))
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.5)
    for epoch in range(args.epochs):
        print("epoch", epoch, "loss", train(model, loader, optimizer))
        schedule.step()
    if args.save:
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, args.save)


if __name__ == "__main__":
    main()

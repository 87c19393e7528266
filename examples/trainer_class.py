"""A trainer in the style of the libraries: it makes the loader anew, calls hooks, knows a closure.

The user's class holds the network and says what a training step is; the trainer owns the loop.
"""

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, RandomSampler, TensorDataset


class InstrumentedLoader(DataLoader):
    """A subclass with an argument of its own, as libraries have them."""

    def __init__(self, dataset: Dataset, *args: object, stage: str = "train", **kwargs: object):
        super().__init__(dataset, *args, **kwargs)
        self.stage = stage


class Task(nn.Module):
    """What the user writes."""

    def __init__(self) -> None:
        super().__init__()
        self.network = nn.Sequential(nn.Linear(12, 24), nn.ReLU(), nn.Linear(24, 2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Logits of shape (n, 2) for x of shape (n, 12)."""
        return self.network(x)

    def training_step(self, batch: list[torch.Tensor]) -> torch.Tensor:
        """The loss of one batch."""
        x, y = batch
        return nn.functional.cross_entropy(self(x), y)

    def configure_optimizers(self) -> torch.optim.Optimizer:
        """Weights decay, biases do not."""
        decayed = [p for p in self.parameters() if p.dim() > 1]
        rest = [p for p in self.parameters() if p.dim() <= 1]
        groups = [{"params": decayed, "weight_decay": 0.01}, {"params": rest, "weight_decay": 0.0}]
        return torch.optim.Adam(groups, lr=1e-2)


class Trainer:
    """The loop; loaders are made anew with a sampler of its own."""

    def __init__(self, n_epochs: int) -> None:
        self.n_epochs = n_epochs

    def fit(self, task: Task, loader: DataLoader, evaluation: DataLoader) -> None:
        """Train and evaluate."""
        loader = InstrumentedLoader(
            loader.dataset, loader.batch_size, sampler=RandomSampler(loader.dataset)
        )
        optimizer = task.configure_optimizers()
        self._evaluate(task, evaluation)  # a check before anything is trained
        for _ in range(self.n_epochs):
            task.train()
            for batch in loader:
                loss = optimizer.step(lambda batch=batch: self._closure(task, optimizer, batch))
                print("loss", loss.item().hex())
            self._evaluate(task, evaluation)

    def _closure(self, task: Task, optimizer: torch.optim.Optimizer, batch: list) -> torch.Tensor:
        optimizer.zero_grad()
        loss = task.training_step(batch)
        loss.backward()
        return loss

    @torch.no_grad()
    def _evaluate(self, task: Task, loader: DataLoader) -> None:
        task.eval()
        total = sum(task.training_step(batch) for batch in loader)
        print("evaluation", total.item().hex())


if __name__ == "__main__":
    torch.manual_seed(5)
    x = torch.randn(192, 12)
    y = (x.sum(1) > 0).long()
    rows, held_out = TensorDataset(x[:160], y[:160]), TensorDataset(x[160:], y[160:])
    Trainer(2).fit(Task(), DataLoader(rows, 16, shuffle=True), DataLoader(held_out, 16))

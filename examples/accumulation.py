"""Gradient accumulation: one optimizer step for every four batches; a loss that is a dict."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

EVERY = 4


class Regression(nn.Module):
    """Its forward pass gives a dict of the prediction and the loss."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(16, 64), nn.SiLU(), nn.Linear(64, 1))

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> dict[str, torch.Tensor]:
        """Both, for x of shape (n, 16) and y of shape (n, 1)."""
        prediction = self.layers(x)
        return {"prediction": prediction, "loss": nn.functional.mse_loss(prediction, y)}


torch.manual_seed(4)
x = torch.randn(256, 16)
loader = DataLoader(TensorDataset(x, x.sum(1, keepdim=True)), batch_size=8, shuffle=True)
model = Regression()
optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3)
for _ in range(2):
    for number, (inputs, targets) in enumerate(loader, start=1):
        loss = model(inputs, targets)["loss"] / EVERY
        loss.backward()
        if number % EVERY == 0:
            optimizer.step()
            optimizer.zero_grad()
            print("loss", loss.item().hex())

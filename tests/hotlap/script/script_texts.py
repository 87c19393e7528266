"""Beginnings of scripts."""

TRAINING = """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
rows = TensorDataset(torch.randn(64, 8), torch.randn(64, 1))
loader = DataLoader(rows, batch_size=8, shuffle=True)
model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

def train(n_epochs, loader=loader):
    for epoch in range(n_epochs):
        for x, y in loader:
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(x), y)
            loss.backward()
            optimizer.step()
"""
"""What many scripts begin with; `train(n)` trains for n epochs of 8 batches."""

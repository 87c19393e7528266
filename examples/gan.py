"""Two networks against each other: two optimizers, two steps for each batch."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(2)
loader = DataLoader(TensorDataset(torch.rand(256, 1, 8, 8)), batch_size=32, shuffle=True)
generator = nn.Sequential(nn.Linear(8, 64), nn.Tanh(), nn.Unflatten(1, (1, 8, 8)))
judge = nn.Sequential(
    nn.Conv2d(1, 4, 3, padding=1), nn.LeakyReLU(0.2), nn.Flatten(), nn.Linear(256, 1), nn.Sigmoid()
)
loss = nn.BCELoss()
generator_optimizer = torch.optim.Adam(generator.parameters(), lr=2e-4, betas=(0.5, 0.999))
judge_optimizer = torch.optim.Adam(judge.parameters(), lr=2e-4, betas=(0.5, 0.999))

for _ in range(2):
    for (real,) in loader:
        ones, zeros = torch.ones(len(real), 1), torch.zeros(len(real), 1)
        generator_optimizer.zero_grad()
        made = generator(torch.randn(len(real), 8))
        generator_loss = loss(judge(made), ones)
        generator_loss.backward()
        generator_optimizer.step()

        judge_optimizer.zero_grad()
        judge_loss = (loss(judge(real), ones) + loss(judge(made.detach()), zeros)) / 2
        judge_loss.backward()
        judge_optimizer.step()
        print("loss", generator_loss.item().hex(), judge_loss.item().hex())

"""A plain loop at module level: a small network on generated images, an evaluation each epoch."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
rows = TensorDataset(torch.randn(256, 3, 12, 12), torch.randint(0, 4, (256,)))
training, held_out = torch.utils.data.random_split(rows, [192, 64])
loader = DataLoader(training, batch_size=16, shuffle=True)
evaluation = DataLoader(held_out, batch_size=32)

model = nn.Sequential(
    nn.Conv2d(3, 8, 3, padding=1),
    nn.BatchNorm2d(8),
    nn.ReLU(),
    nn.AdaptiveAvgPool2d(4),
    nn.Flatten(),
    nn.Dropout(0.2),
    nn.Linear(128, 4),
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

for epoch in range(2):
    model.train()
    for images, labels in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        print("loss", loss.item().hex())
    model.eval()
    with torch.no_grad():
        n_right = sum(int((model(x).argmax(1) == y).sum()) for x, y in evaluation)
    print("epoch", epoch, "right", n_right, "of", len(held_out))

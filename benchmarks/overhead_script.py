"""A plain training script that knows nothing of hotlap and says how long its steps took.

    yes | head -n 5 | python benchmarks/overhead_script.py small 100
    yes | head -n 5 | python benchmarks/overhead_script.py images 4

Each line of its input lets it train for so many steps, of which it prints two numbers: their wall
seconds and their CPU seconds. It ends with its input.
"""

import sys
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

kind, n_block = sys.argv[1], int(sys.argv[2])
torch.manual_seed(0)
if kind == "small":  # a step of about a millisecond, where each microsecond shows
    rows = TensorDataset(torch.randn(4096, 64), torch.randint(0, 10, (4096,)))
    model: nn.Module = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 10))
    batch_size = 64
else:
    rows = TensorDataset(torch.randn(256, 3, 64, 64), torch.randint(0, 10, (256,)))
    layers = [nn.Conv2d(3, 32, 3), nn.ReLU(), nn.Conv2d(32, 64, 3, 2), nn.ReLU()]
    model = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))
    batch_size = 16
loader = DataLoader(rows, batch_size=batch_size, shuffle=True)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

n_done, began = 0, (0.0, 0.0)
while True:
    for inputs, labels in loader:
        if n_done % n_block == 0:
            if n_done:
                wall_s, cpu_s = time.perf_counter() - began[0], time.process_time() - began[1]
                print(wall_s, cpu_s, flush=True)
            if not sys.stdin.readline():
                sys.exit()
            began = time.perf_counter(), time.process_time()
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(inputs), labels)
        loss.backward()
        optimizer.step()
        n_done += 1

"""A small transformer: it says the next byte of a text that lies in memory.

python benchmarks/rival/loops/transformer.py 3
"""

import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

BATCH_SIZE = 8
N_SAMPLES = 256
N_TOKENS = 64
N_BYTES = 256
WIDTH = 128
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


class Block(nn.Module):
    """Attention to what came before, then a layer for each place."""

    def __init__(self):
        super().__init__()
        self.before, self.between = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.wide, self.back = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        heads = self.qkv(self.before(x)).unflatten(2, (3, 4, WIDTH // 4)).permute(2, 0, 3, 1, 4)
        seen = nn.functional.scaled_dot_product_attention(*heads, is_causal=True)
        x = x + self.out(seen.transpose(1, 2).flatten(2))
        return x + self.back(nn.functional.gelu(self.wide(self.between(x))))


class Transformer(nn.Module):
    """Logits of shape (batch, tokens, 256) from tokens of shape (batch, tokens)."""

    def __init__(self):
        super().__init__()
        self.letters = nn.Embedding(N_BYTES, WIDTH)
        self.places = nn.Parameter(torch.zeros(N_TOKENS, WIDTH))
        self.blocks = nn.Sequential(*(Block() for _ in range(4)))
        self.head = nn.Sequential(nn.LayerNorm(WIDTH), nn.Linear(WIDTH, N_BYTES))

    def forward(self, tokens):
        return self.head(self.blocks(self.letters(tokens) + self.places))


def make_dataset():
    text = torch.randint(0, N_BYTES, (N_SAMPLES, N_TOKENS + 1))
    return TensorDataset(text[:, :-1].contiguous(), text[:, 1:].contiguous())


def make_model():
    return Transformer()


def loss_of(outputs, targets):
    return nn.functional.cross_entropy(outputs.flatten(0, 1), targets.flatten())


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

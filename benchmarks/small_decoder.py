"""A small decoder of today's shape, its norms, rotations and gates written out in plain torch.

python tune.py --config-dir benchmarks/conf +model=small_decoder
"""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F
from torch.optim import AdamW

import hotlap
from hotlap.zoo.data import build
from hotlap.zoo.gpt import DATA, next_token_loss
from hotlap.zoo.text import N_TOKENS


def make(
    data: dict[str, Any] | None = None,
    batch_size: int = 4,
    context: int = 64,
    n_layers: int = 4,
    n_heads: int = 4,
    width: int = 128,
    device: str = "cpu",
) -> hotlap.Workload:
    """The workload; a batch is two int64 tensors of shape (batch, context)."""
    return hotlap.Workload(
        model=Decoder(n_layers, n_heads, width, context),
        dataset=build(data, DATA, context=context, device=device),
        loss=next_token_loss,
        optimizer=partial(AdamW, lr=3e-4),
        batch_size=batch_size,
        tokens_per_sample=context,
        device=device,
        name="small_decoder",
    )


class Decoder(nn.Module):
    """Tokens of shape (batch, length) to logits of shape (batch, length, 256).

    Layers as in Touvron and others, "LLaMA: open and efficient foundation language models" (2023).
    """

    def __init__(self, n_layers: int, n_heads: int, width: int, context: int) -> None:
        super().__init__()
        self.token = nn.Embedding(N_TOKENS, width)
        self.layers = nn.ModuleList(Layer(n_heads, width, context) for _ in range(n_layers))
        self.norm = Norm(width)
        self.head = nn.Linear(width, N_TOKENS, bias=False)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Logits of each next token; `tokens` is int64."""
        x = self.token(tokens)
        for layer in self.layers:
            x = layer(x)
        logits: torch.Tensor = self.head(self.norm(x))
        return logits


class Norm(nn.Module):
    """Zhang and Sennrich, "Root mean square layer normalization" (2019)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """From and to shape (batch, length, width)."""
        y: torch.Tensor = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.scale
        return y


class Layer(nn.Module):
    """Causal attention over rotated positions and a gated perceptron, each after a norm."""

    def __init__(self, n_heads: int, width: int, context: int) -> None:
        super().__init__()
        self.n_heads = n_heads
        self.norm_1, self.norm_2 = Norm(width), Norm(width)
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.gate = nn.Linear(width, 2 * width, bias=False)
        self.up = nn.Linear(width, 2 * width, bias=False)
        self.down = nn.Linear(2 * width, width, bias=False)
        half = width // n_heads // 2
        angles = torch.outer(torch.arange(context), 1e4 ** (-torch.arange(half) / half))
        self.register_buffer("cos", angles.cos(), persistent=False)
        self.register_buffer("sin", angles.sin(), persistent=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """From and to shape (batch, length, width)."""
        x = x + self._attention(self.norm_1(x))
        y = self.norm_2(x)
        z: torch.Tensor = x + self.down(F.silu(self.gate(y)) * self.up(y))
        return z

    def _attention(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        heads = self.qkv(x).view(batch, length, 3, self.n_heads, width // self.n_heads)
        q, k, v = heads.permute(2, 0, 3, 1, 4)  # each (batch, heads, length, width / heads)
        y = F.scaled_dot_product_attention(self._rotated(q), self._rotated(k), v, is_causal=True)
        out: torch.Tensor = self.out(y.transpose(1, 2).reshape(batch, length, width))
        return out

    def _rotated(self, x: torch.Tensor) -> torch.Tensor:
        """Su and others, "RoFormer: enhanced transformer with rotary position embedding" (2021)."""
        first, second = x.chunk(2, dim=-1)
        cos, sin = self.cos[: x.shape[2]], self.sin[: x.shape[2]]
        return torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1)

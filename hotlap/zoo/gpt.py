"""gpt_small: a decoder in the shape of GPT-2 small, on the bytes of a real text."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F
from torch.optim import AdamW

from hotlap.errors import UserInputError
from hotlap.workload import Workload, default_device
from hotlap.zoo.data import build, check_size
from hotlap.zoo.defaults import size
from hotlap.zoo.text import N_TOKENS

DATA = "hotlap.zoo.text.text"


def gpt_small(
    data: dict[str, Any] | None = None,
    batch_size: int | None = None,
    context: int | None = None,
    n_layers: int | None = None,
    n_heads: int | None = None,
    width: int | None = None,
    lr: float = 3e-4,
    weight_decay: float = 0.1,
    device: str | None = None,
) -> Workload:
    """A decoder that predicts the next byte; on a GPU as deep and wide as GPT-2 small.

    Args:
        data: A data config; None takes the text that comes with Python.
        batch_size: Texts in a step. None is 8 on a CPU and 16 on a GPU.
        context: Tokens in a sample. None is 128 on a CPU and 1024 on a GPU.
        n_layers: None is 6 on a CPU and 12 on a GPU.
        n_heads: Attention heads. None is 6 on a CPU and 12 on a GPU.
        width: Features of a token. None is 384 on a CPU and 768 on a GPU.
        lr: Of AdamW.
        weight_decay: Of AdamW.
        device: None is "cuda" where there is one, else "cpu".

    Raises:
        UserInputError: An argument cannot be used; the message says which and what would be right.
    """
    device = device or default_device()
    batch_size = size("batch_size", batch_size, device, cpu=8, cuda=16)
    context = size("context", context, device, cpu=128, cuda=1024)
    n_layers = size("n_layers", n_layers, device, cpu=6, cuda=12)
    n_heads = size("n_heads", n_heads, device, cpu=6, cuda=12)
    width = size("width", width, device, cpu=384, cuda=768)
    if width % n_heads:
        raise UserInputError(
            f"model.width is {width} and model.n_heads {n_heads}; each head takes an equal part of "
            f"the width; type model.width={n_heads * max(1, width // n_heads)}"
        )
    dataset = build(data, DATA, context=context, device=device)
    check_size(dataset, batch_size)
    return Workload(
        model=Decoder(n_layers, n_heads, width, context),
        dataset=dataset,
        loss=next_token_loss,
        optimizer=partial(AdamW, lr=lr, betas=(0.9, 0.95), weight_decay=weight_decay),
        batch_size=batch_size,
        tokens_per_sample=context,
        device=device,
        name="gpt_small",
    )


def next_token_loss(model: nn.Module, batch: Any) -> torch.Tensor:
    """Mean cross entropy of the next token; `batch` is two tensors of shape (batch, context)."""
    tokens, next_tokens = batch
    return F.cross_entropy(model(tokens).flatten(0, 1), next_tokens.flatten())


class Decoder(nn.Module):
    """Tokens of shape (batch, length) to logits of shape (batch, length, 256)."""

    def __init__(self, n_layers: int, n_heads: int, width: int, context: int) -> None:
        super().__init__()
        self.token = nn.Embedding(N_TOKENS, width)
        self.position = nn.Embedding(context, width)
        self.layers = nn.ModuleList(Layer(n_heads, width) for _ in range(n_layers))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, N_TOKENS, bias=False)
        for module in self.modules():
            if isinstance(module, nn.Linear | nn.Embedding):
                nn.init.normal_(module.weight, std=0.02)  # as GPT-2

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Logits of each next token; `tokens` is int64."""
        places = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.token(tokens) + self.position(places)
        for layer in self.layers:
            x = layer(x)
        logits: torch.Tensor = self.head(self.norm(x))
        return logits


class Layer(nn.Module):
    """Causal attention and a perceptron, each after a norm and beside a shortcut."""

    def __init__(self, n_heads: int, width: int) -> None:
        super().__init__()
        self.n_heads = n_heads
        self.norm_1 = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.norm_2 = nn.LayerNorm(width)
        self.mlp = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(approximate="tanh"), nn.Linear(4 * width, width)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """From and to shape (batch, length, width)."""
        x = x + self._attention(self.norm_1(x))
        y: torch.Tensor = x + self.mlp(self.norm_2(x))
        return y

    def _attention(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        heads = self.qkv(x).view(batch, length, 3, self.n_heads, width // self.n_heads)
        q, k, v = heads.permute(2, 0, 3, 1, 4)  # each (batch, heads, length, width / heads)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        out: torch.Tensor = self.out(y.transpose(1, 2).reshape(batch, length, width))
        return out

"""Precision: the autocast context and the gradient scaler that `amp` asks for."""

from __future__ import annotations

import contextlib

import torch

from hotlap.settings import Settings

DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16}


def autocast(
    settings: Settings, device: torch.device | str
) -> contextlib.AbstractContextManager[object]:
    """The context for forward pass and loss. With amp=none it changes nothing."""
    if settings.amp == "none":
        return contextlib.nullcontext()
    return torch.autocast(torch.device(device).type, dtype=DTYPES[settings.amp])


def scaler(settings: Settings, device: torch.device | str) -> torch.amp.GradScaler:
    """A GradScaler that scales with fp16 only; else it passes everything through.

    fp16 has 5 exponent bits, so small gradients vanish without scaling; bf16 has float32's 8.
    """
    return torch.amp.GradScaler(torch.device(device).type, enabled=settings.amp == "fp16")

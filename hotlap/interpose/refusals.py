"""Which of the imposed model settings a root cannot take, and why."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import nn

from hotlap.interpose.imposed import Imposed
from hotlap.interpose.reach import NOT_OURS
from hotlap.interpose.seen import RootSeen

FP16 = f"fp16 {NOT_OURS['amp=fp16']}; take amp=bf16"


def refusals(
    module: nn.Module, inner: Any, seen: RootSeen, imposed: Imposed, own: Mapping[str, str]
) -> dict[str, str]:
    """Setting -> why it cannot be put in force on this root.

    Args:
        module: The root.
        inner: What the script has compiled in its place, or None.
        seen: What is known of it.
        imposed: What is wanted.
        own: What the script decides itself, and where (see Seen).
    """
    settings, override = imposed.alone(), imposed.override
    reasons = {}
    if settings.memory_format == "channels_last" and not seen.has_images:
        reasons["memory_format"] = f"{seen.name} has no 4-D parameter"
    elif "memory_format" in imposed and getattr(module, "gradient_as_bucket_view", False):
        # A fused kernel would pair elements of gradients and parameters that lie differently.
        reasons["memory_format"] = (
            "the gradients lie in DistributedDataParallel's buckets (gradient_as_bucket_view), "
            "which have the layout that the parameters had before"
        )
    if settings.amp == "fp16":
        reasons["amp"] = FP16
    elif settings.amp != "none" and seen.dtypes != ["float32"]:
        reasons["amp"] = f"{seen.name} has parameters in {', '.join(seen.dtypes)}"
    elif settings.amp != "none" and "amp" not in override:
        if place := own.get("autocast") or own.get("scaler"):
            reasons["amp"] = f"the script has a precision of its own ({place}), which stays"
    if settings.compile_mode != "none":
        compiled = inner is not None or hasattr(module, "_orig_mod")
        if compiled and "compile_mode" not in override:
            place = own.get("compile", "before hotlap began")
            reasons["compile_mode"] = f"the script compiles {seen.name} itself ({place})"
        elif isinstance(module, torch.jit.ScriptModule):
            reasons["compile_mode"] = f"{seen.name} is a TorchScript module"
    return reasons

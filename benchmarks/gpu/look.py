"""Inside the worker: settings as a real trial puts them in force, and what torch shows of them.

The worker builds `watched` like any workload. When its settings are in force, a few steps are
trained and a report is written; then the trial goes on as ever.
"""

from __future__ import annotations

import itertools
import json
import sys
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F
from torch.profiler import ProfilerActivity, profile
from torch.utils.data import TensorDataset

import hotlap.apply  # noqa: F401  (looked up in sys.modules)
from hotlap.batches import to_device
from hotlap.in_force import batch_layouts, disagreements, in_force
from hotlap.job import write_text
from hotlap.settings import CUDA_GRAPH_MODES
from hotlap.toolchain import device_facts
from hotlap.workload import Workload

BATCH = 32
N_SAMPLES = 256
N_STEPS = 4
"""CUDA graphs warm up at the first step, are recorded at the second, replayed from the third on."""

SLEEP_CYCLES = 200_000_000
"""A tenth of a second at 2 GHz, for which the stream is kept busy."""

WORTH_TELLING = ("attention", "_fused_", "_foreach_", "cudaGraphLaunch")
"""Parts of the operators' names that tell which kernel ran."""


def small(device: str = "cpu") -> Workload:
    """A network with convolutions and attention, on random images: every knob has a meaning."""
    images = torch.randn(N_SAMPLES, 3, 32, 32)
    return Workload(
        model=Small(),
        dataset=TensorDataset(images, torch.randint(10, (N_SAMPLES,))),
        loss=loss,
        optimizer=partial(torch.optim.AdamW, lr=1e-3),
        batch_size=BATCH,
        device=device,
        name="small",
    )


def watched(report: str, device: str = "cpu") -> Workload:
    """`small`, whose worker writes to the file `report` what it sees of its settings."""
    module: Any = sys.modules["hotlap.apply"]
    plain_apply = module.apply

    def apply_and_look(*args: Any) -> Any:
        applied = plain_apply(*args)
        write_text(Path(report), json.dumps(look(applied)))
        return applied

    module.apply = apply_and_look  # this process lives for one trial only
    return small(device)


def memory_eater(share: float, device: str = "cuda") -> Workload:
    """`small`, whose first step asks for `share` of the free device memory, then for 0.3 of it."""

    def greedy(model: nn.Module, batch: Any) -> torch.Tensor:
        free = free_bytes(device)
        held = [torch.empty(int(free * s), dtype=torch.uint8, device=device) for s in (share, 0.3)]
        return loss(model, batch) + 0 * held[0][0]

    workload = small(device)
    workload.loss = greedy
    return workload


def free_bytes(device: torch.device | str) -> int:
    """What is free of a device's memory, whichever is torch's current one."""
    with torch.cuda.device(device):
        return torch.cuda.mem_get_info()[0]


def defaulting(device: str, shuffle: bool) -> Workload:
    """`small`, and from now on `device` is torch's default one.

    torch's own shuffling does not work then, so that a window of it goes without.
    """
    workload = small(device)
    workload.shuffle = shuffle
    torch.set_default_device(device)
    return workload


class Small(nn.Module):
    """Images of shape (batch, 3, 32, 32) to logits of shape (batch, 10)."""

    def __init__(self) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, 32, 3, stride=2, padding=1)
        self.features = nn.Conv2d(32, 64, 3, stride=2, padding=1)
        self.qkv = nn.Linear(64, 3 * 64)
        self.head = nn.Linear(64, 10)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Two convolutions, one attention layer with 4 heads over the 64 places, a mean."""
        x = F.relu(self.features(F.relu(self.patches(images)))).flatten(2).transpose(1, 2)
        q, k, v = self.qkv(x).unflatten(-1, (3, 4, 16)).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)
        logits: torch.Tensor = self.head(y.mean(1))
        return logits


def loss(model: nn.Module, batch: Any) -> torch.Tensor:
    """Mean cross entropy; `batch` is images and their labels."""
    images, labels = batch
    return F.cross_entropy(model(images), labels)


def look(applied: Any) -> dict[str, Any]:
    """All that can be seen of the settings, as data that JSON can hold; see the keys below."""
    cuda = applied.device.type == "cuda"
    found: dict[str, Any] = {}
    if cuda:
        found["free_bytes"] = free_bytes(applied.device)
    batches = list(itertools.islice(applied.loader, N_STEPS))
    found |= _forward(applied, batches[0])
    for batch in batches:
        applied.step(batch)
    found["ops"] = _ops(applied, batches[0])
    found["n_graphs"] = torch._dynamo.utils.counters["stats"]["unique_graphs"]
    found["in_force"] = in_force(applied)
    found["disagreements"] = disagreements(applied)
    found["notes"] = list(applied.notes)
    found["layouts"] = [layout for _, layout in batch_layouts(applied, batches[0])]
    found["scales"] = applied.scaler.is_enabled()
    found["trained"] = applied.n_skipped_steps() < N_STEPS
    found["tf32"] = device_facts(applied.device)["tf32"]
    if cuda:
        with torch.cuda.device(applied.device):  # of the current one torch tells most of it
            found |= _on_cuda(applied, batches[0])
    return found


def _forward(applied: Any, batch: Any) -> dict[str, Any]:
    """The dtype that a convolution gives within a step, and the forward passes of one step."""
    if applied.settings.compile_mode != "none":
        return {}  # hooks would change what is compiled
    dtypes: list[str] = []
    hook = applied.model.patches.register_forward_hook(
        lambda module, inputs, output: dtypes.append(str(output.dtype).removeprefix("torch."))
    )
    applied.step(batch)
    hook.remove()
    return {"forward_dtype": dtypes[0], "n_forwards": len(dtypes)}


def _ops(applied: Any, batch: Any) -> list[str]:
    activities = [ProfilerActivity.CPU]
    if applied.device.type == "cuda" and applied.settings.compile_mode in CUDA_GRAPH_MODES:
        activities.append(ProfilerActivity.CUDA)
    with profile(activities=activities) as profiled:
        applied.step(batch)
    names = {event.name for event in profiled.events() or ()}
    return sorted(name for name in names if any(part in name for part in WORTH_TELLING))


def _on_cuda(applied: Any, batch: Any) -> dict[str, Any]:
    device, generator = applied.device, torch.Generator(applied.device).manual_seed(0)

    def random(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, device=device, generator=generator)

    a, b = random(1024, 1024), random(1024, 1024)
    x, w = random(8, 64, 32, 32), random(64, 64, 3, 3).requires_grad_()
    grads = [torch.autograd.grad(F.conv2d(x, w, padding=1).square().sum(), w)[0] for _ in range(4)]
    return {
        "matmul_error": _error(a @ b, a.double() @ b.double()),
        "conv_error": _error(F.conv2d(x, w), F.conv2d(x.double(), w.double())),
        "same_gradients": all(torch.equal(grads[0], grad) for grad in grads[1:]),
        "pinned": batch[0].is_pinned(),
        "copy_waits": _copy_waits(applied, batch),
        "cuda_allocator": torch.cuda.get_allocator_backend(),
        "expandable": any(s.get("is_expandable") for s in _segments()),
        "replays_graphs": _replays_graphs(device),
    }


def _error(result: torch.Tensor, truth: torch.Tensor) -> float:
    """Relative: some 1e-7 in float32; some 3e-4 with TF32's 10 bits of mantissa."""
    return float((result.double() - truth).norm() / truth.norm())


def _copy_waits(applied: Any, batch: Any) -> bool:
    """Whether the host waits for a batch's copy: the stream has other work before it."""
    to_device(batch, applied.device, applied.settings)  # the memory is there the next time
    torch.cuda.synchronize()
    torch.cuda._sleep(SLEEP_CYCLES)  # type: ignore[no-untyped-call]
    to_device(batch, applied.device, applied.settings)
    waited = torch.cuda.current_stream().query()
    torch.cuda.synchronize()
    return waited


def _segments() -> list[dict[str, Any]]:
    """The pieces of device memory that torch's own allocator holds; another one tells of none."""
    if torch.cuda.get_allocator_backend() != "native":
        return []
    found: list[dict[str, Any]] = torch.cuda.memory_snapshot()  # type: ignore[no-untyped-call]
    return found


def _replays_graphs(device: torch.device) -> bool:
    from torch._inductor.cudagraph_trees import get_manager

    index = torch.cuda.current_device() if device.index is None else device.index
    return get_manager(index, create_if_none_exists=False) is not None

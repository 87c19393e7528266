"""Autocast and the GradScaler: what forward computes in, which updates are skipped."""

import pytest
import torch
from small_job import loss, workload

from hotlap.apply import apply
from hotlap.settings import Settings

pytestmark = pytest.mark.usefixtures("flags_as_before")


@pytest.mark.parametrize(
    "amp, dtype", [("none", torch.float32), ("bf16", torch.bfloat16), ("fp16", torch.float16)]
)
def test_forward_computes_in_the_autocast_dtype(amp, dtype):
    applied = apply(workload(), Settings(amp=amp))
    applied.step(next(iter(applied.loader)))
    assert applied.model.dtype == dtype
    assert applied.model.conv.weight.dtype == torch.float32
    assert applied.scaler.is_enabled() == (amp == "fp16")


@pytest.mark.parametrize("kernel", ["default", "fused"])
def test_skipped_updates_are_counted_with_every_kernel(kernel):
    def exploding(model, batch):
        return loss(model, batch) * float("inf")

    applied = apply(workload(loss=exploding), Settings(amp="fp16", optimizer_kernel=kernel))
    before = applied.model.head.weight.detach().clone()
    for batch in applied.loader:
        applied.step(batch)
    assert applied.n_skipped_steps() == 4
    assert torch.equal(applied.model.head.weight, before)
    good = apply(workload(), Settings(optimizer_kernel=kernel))
    for batch in good.loader:
        good.step(batch)
    assert good.n_skipped_steps() == 0

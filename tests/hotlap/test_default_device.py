"""A default device is for its user's own tensors: none of hotlap's follows it."""

from pathlib import Path

import pytest
import torch
from small_job import workload

from hotlap.apply import apply
from hotlap.job import Job, Window
from hotlap.same_samples import Shuffled
from hotlap.settings import Settings
from hotlap.zoo.digits import digits

HERE = Path(__file__).parent


@pytest.fixture
def default_meta():
    torch.set_default_device("meta")
    yield
    torch.set_default_device(None)


def test_the_shuffled_order_is_drawn_in_host_memory(default_meta):
    assert sorted(Shuffled(8, seed=1)) == list(range(8))


def test_samples_lie_in_host_memory(default_meta):
    assert {part.device.type for part in digits()[0]} == {"cpu"}


def test_a_loss_that_the_optimizer_returns_stays_where_it_is():
    made = workload(optimizer=lambda parameters, **kernel: torch.optim.LBFGS(parameters, lr=0.1))
    applied = apply(made, Settings())
    batch = next(iter(applied.loader))
    torch.set_default_device("meta")
    try:
        assert float(applied.step(batch)) > 0
    finally:
        torch.set_default_device(None)


@pytest.mark.parametrize("kind", ["window", "probe", "losses"])
def test_a_workload_may_set_one(runner, tmp_path, kind):
    window = Window(max_s=0.2, min_s=0.05, block_s=0.02, max_warmup_s=0.2)
    job = Job(
        "default_device.on_meta",
        window=window,
        kind=kind,
        run={"steps": 3},
        import_path=(str(HERE),),
    )
    run = runner.run(job, tmp_path / kind, lambda event: False, 60)
    assert run.outcome == "ok", run.traceback

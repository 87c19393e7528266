"""One step: micro batches, gradients, and an optimizer of its own mind."""

import pytest
import torch
from small_job import Net, loss, workload
from torch import nn

import hotlap
from hotlap.apply import apply
from hotlap.settings import Settings

pytestmark = pytest.mark.usefixtures("flags_as_before")


def gradients(applied, batch):
    applied.step(batch)
    return [parameter.grad.clone() for parameter in applied.model.parameters()]


@pytest.mark.parametrize("n", [1, 3, 8, 100])
def test_micro_batches_give_the_whole_batch_s_gradient_and_loss(n):
    batch = next(iter(apply(workload(), Settings()).loader))
    whole = apply(workload(), Settings())
    cut = apply(workload(), Settings(micro_batch_size=n))
    for expected, found in zip(gradients(whole, batch), gradients(cut, batch), strict=True):
        torch.testing.assert_close(found, expected)
    torch.testing.assert_close(cut.step(batch), whole.step(batch))
    assert max(size for _, size in cut.model.seen) == min(n, 8)


def test_a_batch_that_cannot_be_cut_is_refused_and_split_helps():
    def transposed(samples):
        x, y = zip(*samples, strict=True)
        return torch.stack(x, dim=1), torch.tensor(y)  # shape (3, batch, 8, 8)

    values = {
        "collate_fn": transposed,
        "loss": lambda model, batch: loss(model, (batch[0].transpose(0, 1), batch[1])),
        "n_samples": lambda batch: len(batch[1]),
    }
    settings = Settings(micro_batch_size=2)
    applied = apply(workload(**values), settings)
    with pytest.raises(hotlap.errors.InvalidTrial, match=r"split"):
        applied.step(next(iter(applied.loader)))

    def split(batch, n):
        return zip(batch[0].split(n, dim=1), batch[1].split(n), strict=True)

    applied = apply(workload(**values, split=split), settings)
    applied.step(next(iter(applied.loader)))
    assert [size for _, size in applied.model.seen] == [2, 2, 2, 2]


def test_micro_batches_are_refused_where_batch_norm_would_learn_something_else():
    model = nn.Sequential(nn.BatchNorm2d(3), Net())
    with pytest.raises(hotlap.errors.InvalidTrial, match="batch norm"):
        apply(workload(model=model), Settings(micro_batch_size=2))
    model[0].eval()  # fixed statistics do not depend on the batch
    applied = apply(workload(model=model), Settings(micro_batch_size=2))
    applied.step(next(iter(applied.loader)))


def test_set_to_none_decides_what_zero_grad_leaves():
    seen = []

    def spying(model, batch):
        seen.append(model.conv.weight.grad)
        return loss(model, batch)

    for flag in (True, False):
        applied = apply(workload(loss=spying), Settings(set_to_none=flag))
        batch = next(iter(applied.loader))
        seen.clear()
        applied.step(batch)
        applied.step(batch)
        assert (seen[1] is None) == flag


def test_training_with_settings_lowers_the_loss_and_returns_it_detached():
    applied = apply(workload(), Settings(memory_format="channels_last", optimizer_kernel="fused"))
    batch = next(iter(applied.loader))
    losses = [applied.step(batch) for _ in range(20)]
    assert losses[-1] < losses[0] and not losses[0].requires_grad


def test_an_optimizer_that_evaluates_the_loss_itself_is_trained_too():
    made = workload(optimizer=lambda parameters, **kernel: torch.optim.LBFGS(parameters, lr=0.1))
    applied = apply(made, Settings())
    batch = next(iter(applied.loader))
    first = applied.step(batch)
    assert applied.step(batch) < first
    with pytest.raises(hotlap.errors.InvalidTrial, match="LBFGS"):
        apply(made, Settings(amp="fp16"))


class Replayed(torch.autograd.Function):
    """Its gradient lies in memory of its own, as a CUDA graph's does, which writes there again."""

    memory = torch.empty(3)

    @staticmethod
    def forward(ctx, weight, x):
        ctx.save_for_backward(x)
        return (weight * x).sum()

    @staticmethod
    def backward(ctx, of_loss):
        (x,) = ctx.saved_tensors
        torch.mul(of_loss, x, out=Replayed.memory)
        return Replayed.memory.detach(), None


def as_with_graphs(model, optimizer, loss, **settings):
    """A step as with compile_mode=reduce-overhead on CUDA."""
    step = hotlap.Step(model, optimizer, loss, Settings(**settings), "cpu")
    step._graphs, step._simple = True, False
    return step


@pytest.mark.parametrize("set_to_none", [False, True])
@pytest.mark.parametrize("n", [None, 1])
def test_no_gradient_lies_where_a_cuda_graph_writes_the_next_one(set_to_none, n):
    model = nn.Module()
    model.weight = nn.Parameter(torch.zeros(3))
    step = as_with_graphs(
        model,
        torch.optim.SGD(model.parameters(), lr=0.1),
        lambda model, batch: Replayed.apply(model.weight, batch.mean(0)),
        set_to_none=set_to_none,
        micro_batch_size=n,
    )
    batch = torch.arange(6.0).view(2, 3)
    for _ in range(3):
        step(batch)
        assert torch.equal(model.weight.grad, batch.mean(0))


@pytest.mark.parametrize("set_to_none", [False, True])
@pytest.mark.parametrize("n", [None, 1])
def test_what_is_no_part_of_the_loss_is_left_alone_where_gradients_are_kept(set_to_none, n):
    model = nn.ModuleDict({"used": nn.Linear(3, 1), "unused": nn.Linear(3, 1)})
    before = model["unused"].weight.detach().clone()
    step = as_with_graphs(
        model,
        torch.optim.AdamW(model.parameters(), lr=0.1, weight_decay=0.1),
        lambda model, batch: model["used"](batch).mean(),
        set_to_none=set_to_none,
        micro_batch_size=n,
    )
    for _ in range(3):
        step(torch.ones(2, 3))
    assert torch.equal(model["unused"].weight, before) and model["unused"].weight.grad is None

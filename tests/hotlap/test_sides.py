from pathlib import Path

import pytest
import torch

from hotlap.errors import InvalidTrial
from hotlap.job import Job
from hotlap.sides import MAX_HELD, hold
from tests.conftest import QUICK

HERE = Path(__file__).parent


@pytest.fixture
def run(runner, tmp_path):
    def run(name, side, num_workers=0, **args):
        job = Job(
            f"one_sided.{name}",
            args,
            {"num_workers": num_workers},
            QUICK,
            side=side,
            import_path=(str(HERE),),
        )
        return runner.run(job, tmp_path / "trial", lambda event: False, 120)

    return run


@pytest.mark.parametrize("num_workers", [0, 2])
def test_the_loader_alone_computes_nothing(run, num_workers):
    found = run("never_computes", "loader", num_workers)
    assert found.outcome == "ok", found.traceback
    assert found.measurement.side == "loader"
    assert found.measurement.num_workers == num_workers
    assert found.measurement.samples_per_s > 0
    assert all(block.loss is None for block in found.measurement.blocks)


@pytest.mark.parametrize("num_workers", [0, 2])
@pytest.mark.parametrize("persistent_workers", [False, True])
def test_no_worker_lives_while_the_model_trains_alone(run, num_workers, persistent_workers):
    found = run(
        "has_no_workers_while_it_computes",
        "compute",
        num_workers,
        persistent_workers=persistent_workers,
    )
    assert found.outcome == "ok", found.traceback
    assert found.measurement.side == "compute"
    assert found.measurement.samples_per_s > 0


def test_training_with_workers_would_have_been_noticed(run):
    found = run("has_no_workers_while_it_computes", "both", 2)
    assert found.outcome == "crash" and "a worker lives" in found.reason


def test_a_loss_that_takes_its_batch_apart_gets_it_whole_each_time(run):
    found = run("takes_its_batch_apart", "compute")
    assert found.outcome == "ok", found.traceback


def test_a_resident_batch_has_no_loader_to_measure(run):
    found = run("resident", "loader")
    assert found.outcome == "invalid"
    assert "there is no loader to measure" in found.reason


def test_a_resident_batch_is_what_the_model_alone_trains_on(run):
    found = run("resident", "compute")
    assert found.outcome == "ok", found.traceback
    assert found.measurement.resident


def test_one_batch_stands_for_all_of_its_shape():
    taken = []

    def loader():
        for i in range(100):
            taken.append(i)
            yield [torch.full((2, 3), float(i)), torch.zeros(2)]

    held = hold(loader())
    assert len(held.batches) == 1 and len(taken) == MAX_HELD


def test_a_shape_comes_as_often_as_among_the_first_batches():
    sizes = [3, 3, 5, 3, 3, 7, 3, 5, 9, 9]
    held = hold([{"image": torch.zeros(1, n)} for n in sizes])
    assert [batch.again()["image"].shape[1] for batch in held.batches] == sizes[:MAX_HELD]
    assert len(set(map(id, held.batches))) == 3  # one of each in memory


def test_batches_in_memory_are_bounded(monkeypatch):
    monkeypatch.setattr("hotlap.sides.MAX_HELD_BYTES", 100)
    held = hold([torch.zeros(n) for n in (10, 20, 30, 40)])
    assert [len(batch.again()) for batch in held.batches] == [10, 20]


def test_a_slow_loader_is_not_asked_for_ever():
    now = iter(range(0, 1000, 15))
    held = hold([torch.zeros(n) for n in (10, 20, 30, 40)], lambda: next(now))
    assert len(held.batches) == 2


def test_a_held_dict_can_be_taken_apart_and_comes_whole_again():
    batches = iter(hold([{"rows": torch.zeros(2)}]))
    assert next(batches).pop("rows") is not None
    assert "rows" in next(batches)


def test_a_held_batch_comes_again_as_it_was_whatever_was_written_to_it():
    batches = iter(hold([[torch.ones(2), "text"]]))
    first, text = next(batches)
    first.requires_grad_().sum().backward()
    with torch.no_grad():
        first.add_(1)
    second, _ = next(batches)
    assert second.tolist() == [1, 1] and text == "text"
    assert second.grad is None and not second.requires_grad
    second.resize_(1)
    assert next(batches)[0].shape == (2,)


def test_a_loader_without_a_batch_is_said():
    with pytest.raises(InvalidTrial, match="fewer samples than batch_size"):
        hold([])

import pytest

from hotlap.measurement import Block, Measurement
from objectives import Throughput
from objectives.protocol import Objective


def test_throughput_counts_samples_and_wants_more_of_them() -> None:
    objective: Objective = Throughput()
    blocks = tuple(Block(steps=10, samples=320, seconds=2.0) for _ in range(3))
    assert objective.value(Measurement(blocks, compile_s=300.0, startup_s=9.0)) == pytest.approx(
        160.0
    )
    assert (objective.direction, objective.unit) == ("maximize", "samples/s")


def test_epoch_starts_count() -> None:
    blocks = tuple(Block(steps=10, samples=320, seconds=2.0) for _ in range(3))
    measured = Measurement(blocks, epoch_start_s=2.0, n_epoch_steps=10)
    assert Throughput().value(measured) == pytest.approx(80.0)


def test_nothing_measured_is_zero() -> None:
    assert Throughput().value(Measurement(())) == 0.0

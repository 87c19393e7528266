import pytest

from conf.check_objective import DIRECTIONS
from conf.groups import options
from objectives import RunTime, Throughput, make


def test_every_objective_of_the_config_can_be_made_and_has_its_direction() -> None:
    assert options("objective") == sorted(DIRECTIONS)
    for name, direction in DIRECTIONS.items():
        assert make(name, epochs=90).direction == direction
    assert make("throughput") == Throughput()
    assert make("run_time", 90, 1600) == RunTime(90, 1600)


@pytest.mark.parametrize("arguments", [("speed", 90), ("run_time", None)])
def test_what_cannot_be_made_is_refused(arguments) -> None:
    with pytest.raises(ValueError, match="no objective"):
        make(*arguments)

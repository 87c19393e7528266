import pytest

from benchmarks.rival import grid
from benchmarks.rival.start import DEFAULT, BlockFailed, changed
from hotlap.settings import Settings


@pytest.mark.parametrize("loop", grid.GRIDS)
def test_a_grid_is_small_has_the_default_and_settings_that_exist(loop):
    points = grid.settings_of(loop)
    assert len(points) <= 24
    assert {} in map(changed, points)
    for one in points:
        Settings.from_dict(one)


@pytest.mark.parametrize("loop", grid.GRIDS)
def test_each_knobs_first_value_is_the_default_so_that_optuna_begins_there(loop):
    first = {knob: values[0] for knob, values in grid.GRIDS[loop].items()}
    assert changed(first) == {}
    assert set(first) <= set(DEFAULT)


def test_the_best_ones_are_measured_again_and_a_lucky_one_loses():
    n_seen = {}

    def rate_of(loop, settings, seconds):
        key = tuple(sorted(settings.items(), key=str))
        n_seen[key] = n_seen.get(key, 0) + 1
        if settings["amp"] == "bf16" and settings["compile_mode"] == "default":
            raise BlockFailed("no compiler")
        if settings["amp"] == "bf16":
            return 8.0
        lucky = settings["compile_mode"] == "default" and n_seen[key] == 1
        return 9.0 if lucky else 5.0

    points = grid.walk("transformer", 1.0, 0, rate_of)
    assert len(points) == 16
    assert points[0]["settings"]["amp"] == "bf16" and grid.rate(points[0]) == 8.0
    assert sorted(len(point["rates"]) for point in points)[-grid.AGAIN :] == [3] * grid.AGAIN
    failed = [point for point in points if point["failed"]]
    assert len(failed) == 4 and {grid.rate(point) for point in failed} == {0.0}

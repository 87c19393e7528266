"""Studies that cannot be done: the workload fails by itself, or one of a sweep does."""

import pytest

from tests.short_study import LIGHT, MINE, MY_CONF, ONE_SERVER, folders

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("broken", ["in broken", "FileNotFoundError: my_data/rows.pt: these rows were never"]),
        ("breaks_in_a_step", ["in my_loss", "IndexError: class 10 of 10"]),
    ],
)
def test_a_workload_that_fails_by_itself_stops_at_once_with_its_traceback(
    users_folder, name, told, tune
):
    words = [*MY_CONF, f"+model={name}", *LIGHT, "tracking=none"]
    code, out, err = tune(users_folder, *words)
    assert code == 1, out + err
    for word in told:
        assert word in out + err
    (folder,) = folders(users_folder)
    assert len(list((folder / "trials").glob("*"))) <= 1
    assert not (folder / "frozen.yaml").exists()


def test_a_sweep_runs_a_study_for_each_model(users_folder, tune):
    second = users_folder / "my_conf" / "model" / "second.yaml"
    second.write_text("# @package _global_\nmodel: {workload: my_job.make, batch_size: 32}\n")
    words = ["-m", *MY_CONF, "+model=make,broken,second", *LIGHT, *ONE_SERVER, "tracking=none"]
    code, out, err = tune(users_folder, *words, "n_trials=2")
    assert code == 1, out + err  # one of them fails, and the next one still runs
    assert "these rows were never there" in out + err
    assert len(folders(users_folder)) == 3
    assert len(list(users_folder.glob("outputs/*/*/frozen.yaml"))) == 2


def test_a_device_that_is_not_here_is_a_users_mistake_in_one_sentence(tmp_path, start, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")  # of all processes, the servers' too
    words = ["-m", "+model=digits_mlp", "device=cuda,cuda:3", *LIGHT, "tracking=none"]
    code, out, err = start(tmp_path, *words).finish()
    assert code == 2 and "Traceback" not in out + err, out + err
    told = "this machine has no usable CUDA device; type device=cpu or leave it out"
    for device in ("cuda", "cuda:3"):
        assert f"device={device}: {told}" in " ".join((out + err).split())


def test_a_space_of_which_nothing_is_left_ends_the_study_before_it_measures(users_folder, tune):
    words = ["search_space=memory_format", "numerics=exact", "tracking=none"]
    code, out, err = tune(users_folder, *MINE, *words)
    assert code == 2, out + err
    assert "numerics=exact leaves nothing of the search space (memory_format)" in " ".join(
        (out + err).split()
    )
    (folder,) = folders(users_folder)
    assert not (folder / "trials").exists() and not (folder / "frozen.yaml").exists()

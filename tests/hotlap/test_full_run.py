"""A full run goes on from what it has saved, and what it says of a session is that session's."""

import json
import traceback

import numpy as np
import pytest
import torch
from small_job import Net, workload

from hotlap.apply import apply
from hotlap.errors import UserInputError
from hotlap.full_run import FullRun, train
from hotlap.job import EventLog, Job
from hotlap.settings import Settings
from hotlap.worker import failure

pytestmark = pytest.mark.usefixtures("flags_as_before")

EPOCH = 4
"""Steps of one: 32 images, 8 in a batch."""


class Rate:
    """Something that an optimizer keeps, and no file of numbers and tensors takes."""


class CountsInNumpy(Net):
    """Has a part of its state that is no tensor."""

    n_seen = np.int64(0)

    def forward(self, x):
        self.n_seen = self.n_seen + np.int64(len(x))
        return super().forward(x)

    def get_extra_state(self):
        return {"n_seen": self.n_seen, "by_class": (self.n_seen, [self.n_seen])}

    def set_extra_state(self, state):
        self.n_seen = state["n_seen"]


def with_optimizer(make):
    return lambda parameters, **kernel: make(torch.optim.SGD(parameters, lr=0.1, **kernel))


def group_holds(value, from_step=0):
    """An optimizer that keeps `value` beside its learning rate after so many steps."""

    def make(optimizer):
        steps = iter(range(10**9))

        def keep(*_):
            if next(steps) >= from_step:
                optimizer.param_groups[0]["mine"] = value

        optimizer.register_step_post_hook(keep)
        return optimizer

    return with_optimizer(make)


def full_run(folder, epochs, resume=True, **changes):
    """Does one session; returns its events by their name, the last of each."""
    made = workload(**changes)
    place = folder / "checkpoint.pt"
    resume = str(place) if resume and place.exists() else None
    run = {"epochs": epochs, "folder": str(folder), "checkpoint_every_s": 1e9, "resume": resume}
    train(made, apply(made, Settings()), Job("", run=run), EventLog(folder))
    lines = (folder / "events.jsonl").read_text().splitlines()
    return {event["event"]: event for event in map(json.loads, lines)}


def test_numbers_of_numpy_in_the_optimizer_and_the_model_do_not_end_a_run_that_goes_on(tmp_path):
    changes = {
        "optimizer": lambda parameters, **kernel: torch.optim.Adam(
            parameters, lr=np.float64(0.01), weight_decay=np.float32(0.5), **kernel
        ),
    }
    (tmp_path / "whole").mkdir()
    full_run(tmp_path / "whole", 2, model=CountsInNumpy(), **changes)
    for epochs in (1, 2):
        torch.manual_seed(0)
        full_run(tmp_path, epochs, model=CountsInNumpy(), **changes)
    parts, whole = (
        torch.load(folder / "checkpoint.pt", weights_only=True)
        for folder in (tmp_path, tmp_path / "whole")
    )
    assert (
        parts["position"]
        == whole["position"]
        == {
            "epoch": 2,
            "step_in_epoch": 0,
            "steps": 2 * EPOCH,
        }
    )
    assert parts["optimizer"]["param_groups"] == whole["optimizer"]["param_groups"]
    assert parts["model"]["_extra_state"] == {"n_seen": 64, "by_class": (64, [64])}
    assert parts["model"]._metadata == workload().model.state_dict()._metadata


@pytest.mark.parametrize(
    ("value", "kind"),
    [(Rate(), r"test_full_run\.Rate"), (lambda: 1, r"builtins\.function"), (np.ones(2), "ndarray")],
    ids=["a class", "a function", "an array"],
)
def test_what_could_never_be_loaded_is_told_after_the_first_step(tmp_path, value, kind):
    place = r"optimizer\['param_groups'\]\[0\]\['mine'\]"
    with pytest.raises(UserInputError, match=rf"{place} is a \S*{kind}, which .*add_safe_globals"):
        full_run(tmp_path, 1, optimizer=group_holds(value))
    assert not (tmp_path / "checkpoint.pt").exists()


def test_a_class_that_torch_was_told_to_read_is_read(tmp_path):
    torch.serialization.add_safe_globals([Rate])
    try:
        for epochs in (1, 2):
            done = full_run(tmp_path, epochs, optimizer=group_holds(Rate()))
    finally:
        torch.serialization.clear_safe_globals()
    assert done["trained"]["steps"] == 2 * EPOCH


def test_what_becomes_unreadable_later_is_told_and_named_when_it_is_loaded(tmp_path):
    done = full_run(tmp_path, 1, optimizer=group_holds(Rate(), from_step=2))
    assert done["trained"]["steps"] == EPOCH
    assert done["unreadable"]["path"] == str(tmp_path / "checkpoint.pt")
    assert "['mine'] is a " in done["unreadable"]["reason"]
    with pytest.raises(UserInputError, match=r"it holds a \S*test_full_run\.Rate, which torch"):
        full_run(tmp_path, 2, optimizer=group_holds(Rate(), from_step=2))


@pytest.mark.parametrize("first", [{"epochs": 1}, {"epochs": 2}])
def test_a_sessions_first_step_is_start_up_wherever_it_goes_on(tmp_path, first):
    """At an epoch's border too: the loader starts there, and what is compiled is compiled."""
    full_run(tmp_path, **first)
    done = full_run(tmp_path, 3)["trained"]
    n_steps = (3 - first["epochs"]) * EPOCH
    assert (done["steps"], done["n_session_steps"]) == (3 * EPOCH, n_steps)
    assert done["samples"] == (n_steps - 1) * 8
    assert (done["epoch"], done["interrupted"]) == (3, False)


def test_a_session_in_the_middle_of_an_epoch_and_one_with_nothing_to_do_say_what_they_did(tmp_path):
    for max_steps, n_steps, samples in ((2, 2, 8), (3, 1, 0), (3, 0, 0), (6, 3, 16)):
        made = workload()
        place = tmp_path / "checkpoint.pt"
        run = {"epochs": 2, "max_steps": max_steps, "folder": str(tmp_path)}
        run["resume"] = str(place) if place.exists() else None
        train(made, apply(made, Settings()), Job("", run=run), EventLog(tmp_path))
        done = json.loads((tmp_path / "events.jsonl").read_text().splitlines()[-1])
        assert (done["n_session_steps"], done["samples"]) == (n_steps, samples)


@pytest.mark.filterwarnings("ignore:.*is a no-op:UserWarning")
def test_a_run_that_goes_on_keeps_in_host_memory_what_a_new_one_has_there(tmp_path):
    """Adam's count of steps. The device beside it is "meta", which any machine has."""

    def adam(parameters, **kernel):
        return torch.optim.Adam(parameters, **kernel)

    full_run(tmp_path, 1, optimizer=adam)
    made = workload(model=Net().to("meta"), optimizer=adam, device="meta")
    applied = apply(made, Settings())
    run = {"epochs": 2, "folder": str(tmp_path), "resume": str(tmp_path / "checkpoint.pt")}
    FullRun(made, applied, Job("", run=run), EventLog(tmp_path))
    found = {
        (name, value.device.type)
        for state in applied.optimizer.state.values()
        for name, value in state.items()
    }
    assert found == {("step", "cpu"), ("exp_avg", "meta"), ("exp_avg_sq", "meta")}


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (lambda path: path.write_bytes(b""), r"is damaged \(EOFError.*; go on from another one"),
        (lambda path: path.write_bytes(b"nonsense"), r"is damaged \(UnpicklingError\); go on from"),
        (
            lambda path: path.write_bytes(path.read_bytes()[:-300]),
            r"is damaged \((OS|Runtime)Error: .*\); go on from another one",
        ),
        (
            lambda path: torch.save({"model": {}}, path),
            "is no checkpoint of a full run, for it has",
        ),
        (lambda path: torch.save([1], path), "is no checkpoint of a full run, for it has no model"),
    ],
    ids=["empty", "nonsense", "cut off", "a model alone", "a list"],
)
def test_a_checkpoint_that_is_damaged_or_none_is_said_to_be(tmp_path, spoil, told):
    full_run(tmp_path, 1)
    spoil(tmp_path / "checkpoint.pt")
    with pytest.raises(UserInputError, match=told) as caught:
        full_run(tmp_path, 2)
    assert "".join(traceback.format_exception(caught.value)).count("Traceback") == 1
    assert len(str(caught.value).splitlines()) == 1


def test_a_run_does_not_go_on_with_other_batches_or_in_another_order(tmp_path):
    full_run(tmp_path, 1)
    with pytest.raises(UserInputError, match="is of a run with batches of 8 samples, now 4: some"):
        full_run(tmp_path, 2, batch_size=4)
    place = tmp_path / "checkpoint.pt"
    made, run = workload(), {"epochs": 2, "folder": str(tmp_path), "resume": str(place)}
    with pytest.raises(UserInputError, match="is of a run with seed=0, now 3: some"):
        FullRun(made, apply(made, Settings()), Job("", seed=3, run=run), EventLog(tmp_path))
    state = torch.load(place, weights_only=True)
    del state["batch_size"], state["seed"]  # as an earlier version saved it
    torch.save(state, place)
    assert full_run(tmp_path, 2, batch_size=4)["trained"]["epoch"] == 2


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to ..."), "oom"),
        (torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB"), "oom"),
        (MemoryError("std::bad_alloc"), "oom"),
        (RuntimeError("CUDA error: an illegal memory access was encountered"), "crash"),
    ],
    ids=["host", "device", "allocator", "a fault of the device"],
)
@pytest.mark.parametrize("at", [(torch, "load"), (torch.Tensor, "copy_")], ids=["read", "loaded"])
def test_what_the_machine_does_is_not_told_of_the_checkpoint(
    tmp_path, monkeypatch, at, error, outcome
):
    full_run(tmp_path, 1)
    made = workload()
    applied = apply(made, Settings())
    run = {"epochs": 2, "folder": str(tmp_path), "resume": str(tmp_path / "checkpoint.pt")}

    def fails(*args, **kwargs):
        raise error

    monkeypatch.setattr(*at, fails)
    with pytest.raises(Exception) as caught:
        FullRun(made, applied, Job("", run=run), EventLog(tmp_path))
    monkeypatch.undo()
    told = failure(caught.value, Job(""))
    assert told["outcome"] == outcome and str(error) in told["error"]
    assert "damaged" not in told["error"] and "another model" not in told["error"]


def test_a_checkpoint_of_another_model_is_told_with_the_first_thing_that_differs(tmp_path):
    full_run(tmp_path, 1)
    with pytest.raises(UserInputError, match="another model or optimizer") as caught:
        full_run(tmp_path, 2, model=torch.nn.Sequential(*[Net() for _ in range(40)]))
    assert 'now: Missing key(s) in state_dict: "0.' in str(caught.value)
    assert "...; put them back" in str(caught.value) and len(str(caught.value)) < 700

import pytest

from hotlap.interpose.seen import LoaderSeen, OptimizerSeen, RootSeen, Seen, SetSeen
from reports import found_in_script

COPY = {"why_not": "", "real": [], "written_bytes": 100, "trackers": []}


@pytest.fixture
def seen():
    return Seen(
        loaders=[
            LoaderSeen("DataLoader", "MNIST", 64, 2, "RandomSampler", False, "/a/train.py:10"),
            LoaderSeen("DataLoader", "MNIST", None, 0, "S", False, "/a/train.py:12"),
        ],
        roots=[RootSeen("Net", "cpu", ["float32"], [4], True)],
        optimizers=[OptimizerSeen("Adam", ["fused"], 6)],
    )


def lines(seen):
    return "\n".join(found_in_script(seen.to_dict(), COPY))


def test_loaders_model_and_optimizer_are_told(seen):
    seen.loaders[0].n_steps = seen.loaders[0].n_batches = 6
    assert found_in_script(seen.to_dict(), COPY) == [
        "in the script: DataLoader of MNIST (train.py:10), batch_size 64, 2 workers, trains",
        "in the script: DataLoader of MNIST (train.py:12), 0 workers, does not train",
        "in the script: model Net, optimizer Adam",
    ]


@pytest.mark.parametrize(
    ("steps_per_batch", "text"),
    [
        (1 / 4, ", a step every 4 batches"),
        (2.0, ", 2 steps with each batch"),
        (1.0, "optimizer Adam"),
        (None, "optimizer Adam"),  # fetched ahead, say: 16 batches before 6 steps are no ratio
    ],
)
def test_steps_that_are_no_batches(seen, steps_per_batch, text):
    seen.loaders[0].n_batches, seen.loaders[0].n_steps = 16, 6
    seen.loaders[0].steps_per_batch = steps_per_batch
    assert lines(seen).endswith(text)


def test_loaders_with_different_steps_have_no_ratio_in_common(seen):
    for loader, steps_per_batch in zip(seen.loaders, (1.0, 0.25), strict=True):
        loader.n_steps, loader.steps_per_batch = 6, steps_per_batch
    assert lines(seen).endswith("optimizer Adam")


def test_facts_of_a_version_that_did_not_know_the_ratio_are_told_without(seen):
    seen.loaders[0].n_steps = 6
    facts = seen.to_dict()
    del facts["loaders"][0]["steps_per_batch"]
    assert found_in_script(facts, COPY) == found_in_script(seen.to_dict(), COPY)


def test_without_a_loader_a_sample_is_a_step(seen):
    seen.loaders = []
    assert "a sample is one optimizer step here" in lines(seen)


def test_what_the_script_decides_itself(seen):
    seen.own = {"autocast": "/a/train.py:20", "compile": "/a/b.py:3"}
    seen.sets = {"cudnn_benchmark": SetSeen("cudnn_benchmark", True, "/a/train.py:5")}
    found = lines(seen)
    assert (
        "an autocast of its own (train.py:20) and its own compilation (b.py:3), which stay" in found
    )
    assert "it sets cudnn_benchmark=True (train.py:5): its baseline" in found


def test_what_stays_as_the_script_has_it_is_not_told_as_something_that_trials_overrule(seen):
    names = ("deterministic", "cudnn_deterministic", "cudnn_benchmark", "intraop_threads")
    seen.own = {"deterministic": "/a/train.py:5", "function": "/a/b.py:3"}
    seen.sets = {name: SetSeen(name, True, "/a/train.py:5") for name in names}
    found = lines(seen)
    assert (
        "it has a wish for determinism (train.py:5) and a function that it compiles, with the "
        "model in it (b.py:3), which stay" in found
    )
    assert "it sets intraop_threads=True (train.py:5): its baseline" in found
    del seen.sets["intraop_threads"]
    assert "its baseline" not in lines(seen)


def test_what_the_script_s_own_objects_have_is_named_as_its_baseline(seen):
    seen.sets = {"intraop_threads": SetSeen("intraop_threads", 4, "/a/train.py:5")}
    own = {"num_workers": 2, "prefetch_factor": 2, "persistent_workers": True, "pin_memory": True}
    own |= {"memory_format": "channels_last", "optimizer_kernel": "fused", "intraop_threads": 4}
    assert found_in_script(seen.to_dict(), COPY, own_settings=own)[-1] == (
        "in the script: it sets intraop_threads=4 (train.py:5), persistent_workers=True, "
        "pin_memory=True, memory_format=channels_last, optimizer_kernel=fused: its baseline, which "
        "trials may overrule"
    )


@pytest.mark.parametrize(
    ("scratch", "text"),
    [
        ({"why_not": "no overlayfs"}, "real working folder: no overlayfs"),
        ({"real": ["data"]}, "but really into data"),
        ({"written_bytes": 30 << 20}, "each trial writes 30 MiB"),
    ],
)
def test_where_trials_write(seen, scratch, text):
    assert text in found_in_script(seen.to_dict(), COPY | scratch)[-1]


def test_a_tracker_of_its_own_is_named(seen):
    found = found_in_script(seen.to_dict(), {**COPY, "trackers": ["wandb"]})
    assert "it has imported wandb: if that logs to a server, each trial does so too" in found[-1]


def test_facts_of_a_version_that_looked_for_no_trackers_are_told_without(seen):
    old = {name: value for name, value in COPY.items() if name != "trackers"}
    assert found_in_script(seen.to_dict(), old) == found_in_script(seen.to_dict(), COPY)


def test_what_override_names_is_not_said_to_stay(seen):
    seen.own = {"autocast": "/a/train.py:61", "compile": "/a/train.py:50"}
    found = " ".join(found_in_script(seen.to_dict(), COPY, ["amp", "compile_mode"]))
    assert (
        "it has an autocast of its own (train.py:61) and its own compilation (train.py:50), which "
        "trials may overrule (override=[amp,compile_mode])" in found
    )
    assert "which stay" not in found
    found = " ".join(found_in_script(seen.to_dict(), COPY, ["amp"]))
    assert "it has its own compilation (train.py:50), which stays" in found
    assert "its own (train.py:61), which trials may overrule (override=[amp])" in found
    seen.own = {"deterministic": "/a/train.py:5"}
    seen.sets = {"cudnn_benchmark": SetSeen("cudnn_benchmark", False, "/a/train.py:6")}
    found = " ".join(found_in_script(seen.to_dict(), COPY, ["cudnn_benchmark"]))
    assert "determinism (train.py:5), which trials may overrule" in found
    assert "it sets cudnn_benchmark=False (train.py:6): its baseline, which trials may" in found

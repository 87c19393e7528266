"""The reach report is right for each kind of script: what was found, what reaches it, why not."""

import json
import runpy
from importlib.util import find_spec

import pytest

from hotlap.interpose import Imposed, reach
from hotlap.interpose.reach import NOT_OURS, out_of_reach, unreached
from hotlap.interpose.seen import LoaderSeen, OptimizerSeen, RootSeen, Seen
from hotlap.settings import NAMES
from tests.hotlap.interpose.conftest import EXAMPLES

LOADER = {
    "num_workers",
    "prefetch_factor",
    "persistent_workers",
    "pin_memory",
    "multiprocessing_context",
    "in_order",
    "worker_threads",
}


def run(interpose, monkeypatch, name):
    """The example on this very process, watched."""
    monkeypatch.setattr("sys.argv", [name])
    seen = interpose(observe=True).seen
    runpy.run_path(str(EXAMPLES / name), run_name="__main__")
    return seen


def n_batches_for_each_step(seen):
    training = seen.training_loaders
    return training[0].n_batches / training[0].n_steps if training else None


def lost(seen):
    return {name for name, reason in reach(seen).items() if reason} - NOT_OURS.keys()


@pytest.mark.parametrize(
    ("name", "n_batches_per_step", "n_loaders", "roots", "unreachable"),
    [
        ("plain_loop.py", 1, 2, ["Sequential"], set()),
        ("with_arguments.py", 1, 1, ["Sequential"], {"memory_format"}),
        ("gan.py", 0.5, 1, ["Sequential", "Sequential"], set()),
        ("own_batches.py", None, 0, ["Model"], LOADER | {"memory_format"}),
        ("accumulation.py", 4, 1, ["Regression"], {"memory_format"}),
        ("trainer_class.py", 1, 3, ["Task"], {"memory_format"}),
    ],
)
def test_each_kind_of_script_is_seen_as_it_is(
    interpose, monkeypatch, name, n_batches_per_step, n_loaders, roots, unreachable
):
    seen = run(interpose, monkeypatch, name)
    assert n_batches_for_each_step(seen) == n_batches_per_step
    assert len(seen.loaders) == n_loaders
    assert len(seen.training_loaders) == min(n_loaders, 1)
    assert [root.name for root in seen.roots] == roots
    assert lost(seen) == unreachable
    assert seen.own == {} and seen.sets == {}
    assert all("foreach" in optimizer.kernels for optimizer in seen.optimizers)


@pytest.mark.skipif(
    not (find_spec("transformers") and find_spec("accelerate")),  # its Trainer asks for both
    reason="transformers and accelerate are not installed",
)
def test_hugging_face_s_trainer_is_seen_as_it_is(scripts):
    facts = scripts.facts(target=str(EXAMPLES / "hf_trainer.py"), timeout_s=250)
    seen = facts["script"]
    (loader,) = seen["loaders"]  # the one that Trainer makes and the one that accelerate makes
    assert (loader["dataset"], loader["batch_size"], loader["sampler"]) == (
        "Rows",
        8,
        "RandomSampler",
    )
    assert "hf_trainer.py:" in loader["where"] and loader["n_steps"] >= 6
    assert [root["name"] for root in seen["roots"]] == ["BertForSequenceClassification"]
    assert [optimizer["name"] for optimizer in seen["optimizers"]] == ["AdamW"]
    assert (seen["own"], seen["sets"]) == ({}, {})
    assert facts["unreached"].keys() - NOT_OURS.keys() == {"memory_format"}
    assert facts["batch_size"] == 8 and facts["n_epoch_steps"] == 16


def test_a_batch_size_and_the_place_of_each_loader_are_seen(interpose, monkeypatch):
    seen = run(interpose, monkeypatch, "plain_loop.py")
    training, evaluation = seen.loaders
    assert (training.batch_size, training.sampler) == (16, "RandomSampler")
    assert (evaluation.batch_size, evaluation.sampler) == (32, "SequentialSampler")
    assert training.where.endswith("plain_loop.py:10")


def complete(**changes):
    loader = LoaderSeen("DataLoader", "Rows", 8, 0, "Random", False, "a.py:1", True, n_steps=3)
    root = RootSeen("Net", "cpu", ["float32"], [4], True, n_forwards=3)
    optimizer = OptimizerSeen("SGD", ["for_loop", "foreach", "fused"], 3)
    values = {
        "loaders": [loader], "roots": [root], "optimizers": [optimizer],
        "n_optimizers_made": 1, "n_steps": 3, **changes,
    }  # fmt: skip
    return Seen(**values)


STREAM = LoaderSeen("DataLoader", "Rows", 8, 0, "_Infinite", True, "a.py:1", n_steps=3)
ORDERED = LoaderSeen("DataLoader", "Rows", 8, 0, "SequentialSampler", False, "a.py:1", n_steps=3)


@pytest.mark.parametrize(
    ("changes", "setting", "words"),
    [
        ({"loaders": []}, "num_workers", "no DataLoader seen"),
        ({"loaders": [STREAM]}, "num_workers", "Rows is a stream"),
        ({"loaders": [ORDERED]}, "in_order", "no random order of torch's"),
        ({"own": {"autocast": "a.py:7"}}, "amp", "autocast of its own (a.py:7)"),
        ({"own": {"scaler": "a.py:7"}}, "amp", "GradScaler of its own (a.py:7)"),
        ({"own": {"compile": "a.py:7"}}, "compile_mode", "compiles by itself (a.py:7)"),
        ({"own": {"deterministic": "a.py:7"}}, "cudnn_benchmark", "determinism (a.py:7)"),
        ({"n_optimizers_made": 0}, "compile_mode", "no torch.optim optimizer seen"),
        ({"roots": []}, "amp", "no module that holds the optimizer's parameters"),
        ({"optimizers": [OptimizerSeen("LBFGS", [])]}, "optimizer_kernel", "LBFGS has no other"),
        ({"optimizers": []}, "optimizer_kernel", "no optimizer stepped"),
        (
            {"roots": [RootSeen("Net", "cpu", ["bfloat16"], [4], True)]},
            "amp",
            "parameters in bfloat16",
        ),
    ],
)
def test_a_setting_that_does_not_reach_says_why(changes, setting, words):
    reasons = reach(complete(**changes))
    assert words in reasons[setting]
    assert reach(complete())[setting] == ""
    assert set(reasons) == set(NAMES)


@pytest.mark.parametrize(
    ("own", "setting"),
    [("autocast", "amp"), ("compile", "compile_mode"), ("deterministic", "cudnn_benchmark")],
)
def test_override_lets_a_setting_win_over_the_script(own, setting):
    seen = complete(own={own: "a.py:7"})
    assert reach(seen)[setting] and not reach(seen, override=[setting])[setting]


def test_override_brings_no_autocast_to_parameters_of_another_dtype():
    half = RootSeen("Net", "cuda", ["float16"], [4], True)
    assert "float16" in reach(complete(roots=[half]), override=["amp"])["amp"]


def test_an_imposed_setting_that_a_root_refused_was_not_in_force_there():
    refusing = RootSeen("Net", "cpu", ["float32"], [4], True, refused={"amp": "no place for it"})
    willing = RootSeen("Net", "cpu", ["float32"], [4], True)
    imposed = Imposed.of({"amp": "fp16", "num_workers": 2})
    assert unreached(imposed, complete(roots=[refusing])) == [
        {"setting": "amp", "reason": "no place for it"}
    ]
    assert unreached(imposed, complete(roots=[willing, refusing])) == [
        {"setting": "amp", "reason": "no place for it; elsewhere it is in force"}
    ]
    assert unreached(imposed, complete(roots=[willing])) == []


def test_an_autocast_after_training_does_not_unsay_an_imposed_one():
    used = RootSeen("Net", "cpu", ["float32"], [4], True, n_forwards=3, n_own_autocast=1)
    own = RootSeen("Net", "cpu", ["float32"], [4], True, n_forwards=3, n_own_autocast=3)
    imposed = Imposed.of({"amp": "bf16"})
    heard = {"autocast": "a.py:9"}
    assert unreached(imposed, complete(own=heard, roots=[used])) == []
    (note,) = unreached(imposed, complete(own=heard, roots=[own]))
    assert note["reason"] == "each forward pass is in an autocast of the script's own"
    assert "has an autocast" in reach(complete(own=heard))["amp"]


def test_a_model_that_another_thread_calls_is_not_reached_and_the_reason_is_right():
    reason = reach(complete(roots=[], own={"thread": "a.py:9"}))["amp"]
    assert reason == "the model is called in another thread than its optimizer was made in (a.py:9)"


def test_what_was_seen_is_plain_data(interpose, monkeypatch):
    seen = run(interpose, monkeypatch, "gan.py")
    assert json.loads(json.dumps(seen.to_dict()))["n_steps"] == 32


def test_a_study_is_told_which_override_would_search_a_setting_all_the_same():
    seen = complete(own={"autocast": "a.py:7", "compile": "a.py:9", "deterministic": "a.py:1"})
    found = out_of_reach(seen)
    assert found["amp"].endswith("(a.py:7); override=[amp] searches it all the same")
    assert "override" not in found["cudnn_benchmark"]  # that would change what is trained
    more = out_of_reach(seen, ["amp"])
    assert more["compile_mode"].endswith("; override=[amp,compile_mode] searches it all the same")
    assert "amp" not in more
    half = RootSeen("Net", "cuda", ["float16"], [4], True)
    mixed = complete(own={"autocast": "a.py:7"}, roots=[half])
    assert "override" not in out_of_reach(mixed)["amp"]

"""Flags and threads: imposed ones hold when the script sets them again, others are the script's."""

import os

import pytest
import torch

NAMES = ("benchmark", "deterministic", "allow_tf32")


@pytest.fixture(autouse=True)
def _as_before():
    cudnn = torch.backends.cudnn
    before = {name: getattr(cudnn, name) for name in NAMES}
    precision, n_threads = torch.get_float32_matmul_precision(), torch.get_num_threads()
    yield
    for name, value in before.items():
        setattr(cudnn, name, value)
    torch.set_float32_matmul_precision(precision)
    torch.set_num_threads(n_threads)
    torch.use_deterministic_algorithms(False)
    if hasattr(torch.backends, "fp32_precision"):
        torch.backends.fp32_precision = torch.backends.cudnn.fp32_precision = "none"


def test_an_imposed_flag_holds_when_the_script_sets_it_again(interpose):
    seen = interpose(cudnn_benchmark=True, float32_matmul_precision="high").seen
    assert torch.backends.cudnn.benchmark
    torch.backends.cudnn.benchmark = False
    torch.set_float32_matmul_precision("medium")
    torch.backends.cuda.matmul.allow_tf32 = False
    assert torch.backends.cudnn.benchmark and torch.get_float32_matmul_precision() == "high"
    assert {name: one.overruled for name, one in seen.sets.items()} == {
        "cudnn_benchmark": True,
        "float32_matmul_precision": True,
    }
    assert __file__ in seen.sets["cudnn_benchmark"].where


def test_a_flag_that_is_not_imposed_is_the_script_s_and_seen(interpose):
    seen = interpose(cudnn_benchmark=True).seen
    torch.backends.cudnn.allow_tf32 = False
    torch.set_float32_matmul_precision(precision="medium")
    assert not torch.backends.cudnn.allow_tf32
    assert torch.get_float32_matmul_precision() == "medium"
    assert seen.sets["cudnn_allow_tf32"].value is False
    assert seen.sets["float32_matmul_precision"].value == "medium"
    assert not any(one.overruled for one in seen.sets.values())


def test_with_nothing_imposed_no_flag_is_written(interpose):
    torch.backends.cudnn.benchmark = True
    torch.set_float32_matmul_precision("high")
    interpose(num_workers=2)
    assert torch.backends.cudnn.benchmark and torch.get_float32_matmul_precision() == "high"


def test_imposing_one_flag_leaves_the_others_as_they_were(interpose):
    torch.backends.cudnn.allow_tf32 = False
    torch.set_float32_matmul_precision("medium")
    interpose(cudnn_benchmark=True)
    assert not torch.backends.cudnn.allow_tf32
    assert torch.get_float32_matmul_precision() == "medium"


def test_threads_that_are_imposed_are_not_changed_by_the_script(interpose):
    seen = interpose(intraop_threads=2).seen
    torch.set_num_threads(1)
    assert torch.get_num_threads() == 2 and seen.sets["intraop_threads"].overruled


def test_a_second_set_of_the_inter_op_threads_does_not_end_the_script(interpose):
    interpose(interop_threads=torch.get_num_interop_threads())
    torch.set_num_interop_threads(7)  # torch itself would raise: its threads work already


def test_a_process_that_the_script_forks_sets_its_own_threads(interpose):
    interpose(intraop_threads=2)
    if (child := os.fork()) == 0:
        torch.set_num_threads(1)
        os._exit(torch.get_num_threads())
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1


def test_one_that_it_forks_and_that_trains_has_what_is_imposed_from_its_first_step_on(interpose):
    seen = interpose(intraop_threads=2).seen
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.1)
    if (child := os.fork()) == 0:
        n_threads = 0
        try:
            torch.set_num_threads(1)
            optimizer.step()
            torch.set_num_threads(1)
            n_threads = torch.get_num_threads() * seen.sets["intraop_threads"].overruled
        finally:
            os._exit(n_threads)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 2


@pytest.mark.parametrize("how", ["cudnn", "algorithms", "debug mode"])
def test_a_script_that_asks_for_determinism_gets_its_own_cudnn_flags_back(interpose, how):
    interposition = interpose(cudnn_benchmark=True, cudnn_allow_tf32=False)
    torch.backends.cudnn.benchmark = False
    if how == "cudnn":
        torch.backends.cudnn.deterministic = True
        assert torch.backends.cudnn.deterministic
    elif how == "debug mode":
        torch.set_deterministic_debug_mode("warn")
        assert torch.get_deterministic_debug_mode() == 1
    else:
        torch.use_deterministic_algorithms(True)
    assert not torch.backends.cudnn.benchmark and not torch.backends.cudnn.allow_tf32
    assert "asks for determinism" in interposition.notes[-1]["reason"]
    assert not any(one.overruled for one in interposition.seen.sets.values())
    torch.backends.cudnn.benchmark = True  # from now on it is the script's again
    assert torch.backends.cudnn.benchmark


def test_override_keeps_a_flag_against_determinism(interpose):
    interpose(override=["cudnn_benchmark"], cudnn_benchmark=True)
    torch.use_deterministic_algorithms(True)
    assert torch.backends.cudnn.benchmark


def test_a_debug_mode_that_asks_for_nothing_leaves_the_imposed_flags(interpose):
    interpose(cudnn_benchmark=True)
    torch.set_deterministic_debug_mode("default")
    torch.set_deterministic_debug_mode(0)
    assert torch.backends.cudnn.benchmark


@pytest.mark.parametrize(
    ("name", "value", "meant"),
    [
        ("allow_tf32", True, "high"),
        ("allow_tf32", False, "highest"),
        ("fp32_precision", "tf32", "high"),
        ("fp32_precision", "ieee", "highest"),
    ],
)
def test_a_tf32_switch_of_the_script_is_seen_as_the_setting_it_is(interpose, name, value, meant):
    if not hasattr(torch.backends.cuda.matmul, name):
        pytest.skip("this torch has no such switch")
    seen = interpose().seen
    setattr(torch.backends.cuda.matmul, name, value)
    assert seen.sets["float32_matmul_precision"].value == meant


@pytest.mark.skipif(not hasattr(torch.backends, "fp32_precision"), reason="torch is too old")
@pytest.mark.parametrize(
    "imposed",
    [
        {"cudnn_benchmark": True},
        {"intraop_threads": 1},
        {"cudnn_allow_tf32": False},
        {"cudnn_allow_tf32": True},
    ],
)
def test_what_a_script_set_through_the_newer_switches_stays(interpose, imposed):
    torch.backends.cuda.matmul.fp32_precision = "tf32"
    interpose(**imposed)
    assert torch.backends.cuda.matmul.fp32_precision == "tf32"
    wanted = "tf32" if imposed.get("cudnn_allow_tf32", True) else "ieee"
    assert torch.backends.cudnn.conv.fp32_precision == wanted


@pytest.mark.skipif(not hasattr(torch.backends, "fp32_precision"), reason="torch is too old")
def test_the_general_switch_is_seen_as_both_settings_and_overrules_no_imposed_one(interpose):
    seen = interpose(cudnn_allow_tf32=False, float32_matmul_precision="highest").seen
    torch.backends.fp32_precision = "tf32"
    assert torch.backends.cuda.matmul.fp32_precision == "ieee"
    assert torch.backends.cudnn.conv.fp32_precision == "ieee"
    assert torch.get_float32_matmul_precision() == "highest" and not torch.backends.cudnn.allow_tf32
    assert {name: (one.value, one.overruled) for name, one in seen.sets.items()} == {
        "float32_matmul_precision": ("high", True),
        "cudnn_allow_tf32": (True, True),
    }


CUDNN = ("conv", "rnn", "both", "all")
"""Whose newer switch, from the narrowest to the widest."""


def newer(name):
    """What has the newer switch `fp32_precision` of cuDNN's convolutions, or of more."""
    backends = torch.backends
    cudnn = backends.cudnn
    return {"conv": cudnn.conv, "rnn": cudnn.rnn, "both": cudnn, "all": backends}[name]


@pytest.mark.skipif(not hasattr(torch.backends, "fp32_precision"), reason="torch is too old")
@pytest.mark.parametrize("unset", [False, True])
@pytest.mark.parametrize("name", CUDNN)
def test_a_newer_switch_of_cudnn_is_seen_as_what_it_comes_to(interpose, name, unset):
    seen = interpose().seen
    if unset:  # the narrow ones leave it to the wide ones
        newer("conv").fp32_precision = newer("rnn").fp32_precision = "none"
    for value in ("ieee", "tf32", "ieee"):
        newer(name).fp32_precision = value
        both = {newer("conv").fp32_precision, newer("rnn").fp32_precision}
        assert seen.sets["cudnn_allow_tf32"].value is (both == {"tf32"})
        if unset and name in ("both", "all"):
            assert both == {value}
    assert not seen.sets["cudnn_allow_tf32"].overruled


@pytest.mark.skipif(not hasattr(torch.backends, "fp32_precision"), reason="torch is too old")
@pytest.mark.parametrize("name", CUDNN)
def test_an_imposed_tf32_holds_against_the_newer_switches_of_cudnn(interpose, name):
    seen = interpose(cudnn_allow_tf32=False).seen
    newer(name).fp32_precision = "tf32"
    assert newer("conv").fp32_precision == newer("rnn").fp32_precision == "ieee"
    told = seen.sets["cudnn_allow_tf32"]
    assert (told.value, told.overruled) == (True, True)


@pytest.mark.skipif(not hasattr(torch.backends, "fp32_precision"), reason="torch is too old")
def test_a_general_switch_leaves_what_the_script_has_said_of_products(interpose):
    seen = interpose().seen
    torch.backends.cuda.matmul.fp32_precision = "tf32"
    torch.backends.fp32_precision = "ieee"
    assert seen.sets["float32_matmul_precision"].value == "high"

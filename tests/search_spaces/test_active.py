from typing import Any

import pytest

from hotlap.errors import UserInputError
from hotlap.settings import Settings
from search_spaces.active import active, nothing_left, searched
from search_spaces.knob import Knob

CPU = {
    "cores": 2,
    "device": "cpu",
    "loader": True,
    "resident": False,
    "iterable_dataset": False,
    "spawn_error": "",
}


def knob(name: str, choices: Any, **more: Any) -> Knob:
    return Knob.from_mapping(name, {"choices": choices, **more})


def test_a_missing_fact_drops_the_knob_with_one_line_that_names_it() -> None:
    kept, dropped = active([knob("pin_memory", [False, True], requires=["cuda"])], CPU)
    assert kept == []
    assert dropped == [
        "pin_memory is not searched: it works only where the workload runs on a CUDA device"
    ]


def test_what_is_searched_is_named_in_one_line() -> None:
    knobs = [knob("prefetch_factor", [2, 4]), knob("num_workers", [0, 2])]
    assert searched(knobs) == ["searched: prefetch_factor, num_workers"]
    assert searched([]) == []


def test_a_missing_fact_of_a_choice_drops_only_the_choice() -> None:
    start = knob(
        "multiprocessing_context",
        ["default", "spawn", "fork"],
        choice_requires={"spawn": ["picklable_dataset"]},
    )
    workers = knob("num_workers", [0, 2])
    kept, dropped = active([workers, start], {**CPU, "spawn_error": "a lambda"})
    assert kept[1].choices == ("default", "fork")
    assert dropped == [
        "multiprocessing_context is searched in part: spawn works only where the dataset and its "
        "functions can be pickled for another process; a lambda"
    ]


@pytest.mark.parametrize(
    ("numerics", "names"),
    [
        ("exact", ["num_workers"]),
        ("rounding", ["num_workers", "memory_format"]),
        ("precision", ["num_workers", "memory_format", "amp"]),
    ],
)
def test_numerics_bounds_the_search(numerics: str, names: list[str]) -> None:
    knobs = [
        knob("num_workers", [0, 2]),
        knob("memory_format", ["contiguous", "channels_last"], numerics="rounding"),
        knob("amp", ["none", "bf16"], numerics="precision"),
    ]
    kept, dropped = active(knobs, CPU, numerics)
    assert [k.name for k in kept] == names
    assert len(dropped) == 3 - len(names)
    assert all(f"numerics={numerics} forbids it" in line for line in dropped)


def test_a_knob_left_with_the_base_value_is_dropped_and_with_another_is_kept() -> None:
    fused = knob("optimizer_kernel", ["default", "fused"],
                 choice_requires={"fused": ["fused_optimizer"]})  # fmt: skip
    assert active([fused], CPU)[0] == []
    kept, _ = active([fused], CPU, base=Settings(optimizer_kernel="foreach"))
    assert kept[0].choices == ("default",)


def test_a_child_goes_with_its_parent() -> None:
    knobs = [
        knob("non_blocking", [False, True], when={"knob": "pin_memory", "equals": True}),
        knob("pin_memory", [False, True], requires=["cuda"]),
    ]
    kept, dropped = active(knobs, CPU)
    assert kept == []
    assert dropped == [
        "pin_memory and non_blocking are not searched: "
        "each works only where the workload runs on a CUDA device"
    ]
    # Its parent is there on a GPU, but keeps to the one value that the user has left it.
    one = knob("pin_memory", [False], requires=["cuda"])
    _, dropped = active([knobs[0], one], {**CPU, "device": "cuda:0"})
    assert dropped[1] == (
        "non_blocking is not searched: it needs pin_memory = true, and pin_memory never gets there"
    )


def test_a_child_stays_where_the_base_makes_it_active_for_good() -> None:
    prefetch = knob("prefetch_factor", [2, 4])
    assert active([prefetch], CPU)[0] == []
    assert active([prefetch], CPU, base=Settings(num_workers=4))[0] == [prefetch]


def test_parents_come_first_whatever_the_order_of_the_files() -> None:
    knobs = [knob("prefetch_factor", [2, 4]), knob("num_workers", [0, 2])]
    assert [k.name for k in active(knobs, CPU)[0]] == ["num_workers", "prefetch_factor"]


def test_knobs_that_wait_for_each_other_are_refused() -> None:
    knobs = [
        knob("pin_memory", [False, True], when={"knob": "non_blocking", "equals": True}),
        knob("non_blocking", [False, True], when={"knob": "pin_memory", "equals": True}),
    ]
    with pytest.raises(UserInputError, match="non_blocking, pin_memory wait for each other"):
        active(knobs, CPU)


def test_a_dataset_that_changes_between_epochs_has_no_persistent_workers() -> None:
    keep = knob("persistent_workers", [False, True], requires=["loader", "steady_dataset"])
    workers = knob("num_workers", [0, 2])
    facts = {**CPU, "dataset_changes": "dataset has a method set_epoch"}
    kept, dropped = active([workers, keep], facts)
    assert [k.name for k in kept] == ["num_workers"]
    assert dropped == [
        "persistent_workers is not searched: it works only where the dataset stays the same from "
        "epoch to epoch; persistent workers keep the copy with which they started; dataset has a "
        "method set_epoch; if that does no harm, write "
        "search_space.persistent_workers.requires=[loader]"
    ]
    typed = knob("persistent_workers", [False, True], requires=["loader"])
    assert [k.name for k in active([workers, typed], facts)[0]] == [
        "num_workers",
        "persistent_workers",
    ]


def test_batches_keep_their_order_where_it_means_something() -> None:
    order = knob("in_order", [True, False], requires=["loader", "any_order"])
    workers = knob("num_workers", [0, 2])
    assert len(active([workers, order], CPU)[0]) == 2
    kept, dropped = active(
        [workers, order], {**CPU, "fixed_order": "the workload does not shuffle"}
    )
    assert [k.name for k in kept] == ["num_workers"]
    assert "the workload does not shuffle" in dropped[0]


def test_a_stream_has_no_second_worker_unless_it_shares_or_the_user_vouches_for_it() -> None:
    stream = {**CPU, "cores": 4, "iterable_dataset": True}
    auto, written = knob("num_workers", "auto"), knob("num_workers", [0, 1, 2])
    kept, dropped = active([auto], {**stream, "stream_sharing": "unknown"})
    assert kept[0].choices == (0, 1)
    assert "IterableDataset" in dropped[0] and "search_space.num_workers.choices=" in dropped[0]
    kept, dropped = active([written], {**stream, "stream_sharing": "unknown"})
    assert kept[0].choices == (0, 1, 2)
    assert dropped[0].startswith("num_workers is searched as written, although")
    kept, dropped = active([written], {**stream, "stream_sharing": "repeated"})
    assert kept[0].choices == (0, 1)
    assert "each of two workers was seen to give all of it" in dropped[0]
    kept, dropped = active([auto], {**stream, "stream_sharing": "shared"})
    assert kept[0].choices == (0, 1, 2, 4) and dropped == []


def test_auto_bounds_and_choices_are_numbers_afterwards() -> None:
    facts = {**CPU, "cores": 6}
    kept, _ = active([Knob.from_mapping("num_workers", {"low": 1, "high": "auto"})], facts)
    assert kept[0].values == (1, 2, 3, 4, 5, 6)
    kept, _ = active([knob("num_workers", "auto")], facts)
    assert kept[0].choices == (0, 1, 2, 4, 6)


def test_a_users_own_larger_range_is_respected() -> None:
    kept, dropped = active([knob("num_workers", [0, 2, 16])], CPU)
    assert kept[0].choices == (0, 2, 16)
    assert dropped == []


def test_knobs_with_the_same_reason_share_a_line_that_names_each() -> None:
    cuda = [knob(name, [False, True], requires=["cuda"]) for name in ("pin_memory", "non_blocking")]
    layout = knob("memory_format", ["contiguous", "channels_last"], requires=["attention"])
    _, dropped = active([cuda[0], layout, cuda[1]], CPU)
    assert dropped[0] == (
        "pin_memory and non_blocking are not searched: "
        "each works only where the workload runs on a CUDA device"
    )
    assert dropped[1].startswith("memory_format is not searched: it works only where ")
    assert len(dropped) == 2


def test_all_that_hangs_on_cuda_shares_one_line_choices_too() -> None:
    cudnn = knob("cudnn_benchmark", [False, True], requires=["cudnn"])
    tf32 = knob("float32_matmul_precision", ["highest", "high"], requires=["tf32"])
    amp = knob("amp", ["none", "bf16", "fp16"], choice_requires={"fp16": ["cuda", "fp16"]})
    kept, dropped = active([cudnn, tf32, amp], CPU)
    assert kept[0].choices == ("none", "bf16")
    assert dropped == [
        "cudnn_benchmark, float32_matmul_precision and amp=fp16 are not searched: "
        "each works only where the workload runs on a CUDA device"
    ]
    # On a GPU without them each has a reason of its own.
    _, dropped = active([cudnn, tf32], {**CPU, "device": "cuda:0"})
    assert "it works only where cuDNN runs the convolutions" in dropped[0]
    assert "it works only where the device has TF32" in dropped[1]


def test_a_value_that_does_not_reach_a_script_has_that_reason_and_not_the_devices() -> None:
    amp = knob("amp", ["none", "bf16", "fp16"], choice_requires={"fp16": ["cuda", "fp16"]})
    gpu = {**CPU, "device": "cuda:0", "fp16": False, "unreached": {"amp=fp16": "needs this"}}
    kept, dropped = active([amp], gpu)
    assert kept[0].choices == ("none", "bf16")
    assert dropped == ["amp is searched in part: fp16 needs this"]


def test_where_no_knob_is_left_it_is_said_who_left_none_and_what_to_type() -> None:
    layout = knob("memory_format", ["contiguous", "channels_last"], numerics="rounding")
    kept, dropped = active([layout], CPU, "exact")
    assert not kept
    assert nothing_left(["memory_format"], dropped, "exact") == (
        "numerics=exact leaves nothing of the search space (memory_format) to search, so nothing "
        "was measured; type the command without numerics=exact, or more of it with search_space="
    )
    pinned = knob("pin_memory", [False, True], requires=["cuda"])
    kept, dropped = active([pinned], CPU)
    assert nothing_left(["pin_memory"], dropped, "precision") == (
        "this machine and workload leave nothing of the search space (pin_memory) to search, so "
        "nothing was measured; type more of it with search_space="
    )
    _, dropped = active([pinned, layout], CPU, "exact")
    both = nothing_left(["pin_memory", "memory_format"], dropped, "exact")
    assert both.startswith("this machine and workload leave") and "without numerics=exact" in both
    assert "search space, 9 knobs, to search" in nothing_left(list("abcdefghi"), dropped, "exact")
    assert nothing_left([], [], "exact").startswith("search_space holds no knob")

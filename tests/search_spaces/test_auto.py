import pytest
import yaml

from hotlap.errors import UserInputError
from search_spaces.auto import auto_values, workers_rule
from tests.conftest import ROOT

COMPUTES = {"cores": 4, "sample_cpu_s": 0.003, "sample_wall_s": 0.0031}
WAITS = {"cores": 2, "sample_cpu_s": 0.0001, "sample_wall_s": 0.0031}
OF_CONF = [
    name
    for path in sorted((ROOT / "conf" / "search_space").glob("*.yaml"))
    for name, knob in yaml.safe_load(path.read_text()).items()
    if knob.get("choices") == "auto"
]


def test_workers_for_a_computing_dataset_end_at_the_cores() -> None:
    assert auto_values("num_workers", COMPUTES) == (0, 1, 2, 4)
    assert auto_values("num_workers", {**COMPUTES, "cores": 6}) == (0, 1, 2, 4, 6)


def test_workers_for_a_waiting_dataset_go_far_beyond_the_cores() -> None:
    assert auto_values("num_workers", WAITS) == (0, 1, 2, 4, 8, 16)


def test_workers_follow_goetz_between_the_two() -> None:
    assert workers_rule({"cores": 4, "sample_cpu_s": 0.001, "sample_wall_s": 0.003}) == 12
    assert workers_rule({"cores": 1, "sample_cpu_s": 0.001, "sample_wall_s": 0.001}) == 1


@pytest.mark.parametrize("cores", [1, 2])
def test_two_workers_are_always_tried(cores: int) -> None:
    assert auto_values("num_workers", {"cores": cores}) == (0, 1, 2)


def test_workers_have_a_cap() -> None:
    assert max(auto_values("num_workers", {**WAITS, "cores": 128})) == 32


def test_workers_and_prefetch_stay_within_shared_memory() -> None:
    mib = 1 << 20
    small = {**WAITS, "batch_bytes": 8 * mib, "shm_free_bytes": 64 * mib}  # docker's own size
    assert auto_values("num_workers", small) == (0, 1, 2)
    assert auto_values("prefetch_factor", small) == (2, 4)
    huge = {**small, "batch_bytes": 60 * mib}
    assert auto_values("num_workers", huge) == (0,)
    assert auto_values("prefetch_factor", huge) == (1,)


def test_prefetch_has_three_choices_where_memory_is_no_matter() -> None:
    assert auto_values("prefetch_factor", {}) == (2, 4, 8)


def test_thread_counts_leave_out_the_one_that_pytorch_takes_itself() -> None:
    facts = {"cores": 8, "default_intraop_threads": 8, "default_interop_threads": 1}
    assert auto_values("intraop_threads", facts) == (None, 1, 2, 4)
    assert auto_values("interop_threads", facts) == (None, 2)
    assert auto_values("intraop_threads", {**facts, "default_intraop_threads": 64}) == (
        None, 1, 2, 4, 8)  # fmt: skip


def test_micro_batches_are_a_half_and_a_quarter() -> None:
    assert auto_values("micro_batch_size", {"batch_size": 64}) == (None, 32, 16)
    assert auto_values("micro_batch_size", {"batch_size": 2}) == (None,)


@pytest.mark.parametrize("name", OF_CONF)
def test_every_auto_of_the_config_is_answered_without_any_fact(name: str) -> None:
    assert len(auto_values(name, {})) >= 1


def test_auto_without_a_rule_says_what_to_write() -> None:
    with pytest.raises(UserInputError, match=r"search_space\.amp\.choices=\[\.\.\.\]"):
        auto_values("amp", {})

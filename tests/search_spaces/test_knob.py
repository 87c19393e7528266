import pytest

from search_spaces.knob import Knob, When, text_of


def test_a_knob_survives_the_way_through_plain_data() -> None:
    data = {
        "choices": ["default", "spawn"],
        "choice_requires": {"spawn": ["picklable_dataset"]},
        "when": {"knob": "num_workers", "above": 1},
        "requires": ["loader"],
        "numerics": "rounding",
    }
    knob = Knob.from_mapping("multiprocessing_context", data)
    assert knob.when == When("num_workers", above=1)
    assert Knob.from_mapping(knob.name, knob.to_mapping()) == knob


def test_a_knob_of_the_config_types_is_read() -> None:
    schema = {"choices": None, "low": 1, "high": 8, "step": None, "log": True, "when": None,
              "requires": [], "choice_requires": {}, "numerics": "exact"}  # fmt: skip
    assert Knob.from_mapping("intraop_threads", schema).values == (1, 2, 3, 4, 5, 6, 7, 8)


def test_a_range_with_steps_ends_at_its_last_whole_step() -> None:
    assert Knob("num_workers", low=0, high=7, step=3).values == (0, 3, 6)


@pytest.mark.parametrize("name", ["prefetch_factor", "persistent_workers", "in_order"])
def test_a_knob_for_workers_is_conditional_even_if_the_user_forgot_it(name: str) -> None:
    assert Knob.from_mapping(name, {"choices": [1]}).when == When("num_workers", above=0)


@pytest.mark.parametrize(
    ("when", "value", "holds"),
    [
        (When("num_workers", above=0), 0, False),
        (When("num_workers", above=0), 2, True),
        (When("micro_batch_size", above=0), None, False),
        (When("pin_memory", equals=True), True, True),
        (When("amp", equals="fp16"), "bf16", False),
    ],
)
def test_when_holds(when: When, value: int | str | None, holds: bool) -> None:
    assert when.holds(value) is holds


def test_values_are_written_as_in_yaml() -> None:
    assert [text_of(v) for v in (None, True, False, 2, "")] == ["null", "true", "false", "2", ""]

import dataclasses
import math

import pytest

from hotlap.measurement import Ratio
from reports.contributions import (
    ALONE,
    CAPTION,
    caption,
    contribution_cells,
    payback_sentences,
)
from reports.table import markdown, print_result


def changed(full_result, **values):
    """The study's result with its compile_mode's contribution changed."""
    compiled = next(c for c in full_result.contributions if c.setting == "compile_mode")
    return dataclasses.replace(
        full_result, contributions=(dataclasses.replace(compiled, **values),)
    )


def without(full_result, **values):
    compiled = next(c for c in full_result.contributions if c.setting == "compile_mode")
    return changed(full_result, without=dataclasses.replace(compiled.without, **values))


def test_settings_that_were_put_back_are_told_so_though_what_is_left_is_as_the_baseline(
    full_result,
):
    # Without workers what needs them goes back as well: that was measured before the proof.
    for of_proof, told in ((False, CAPTION), (True, ALONE)):
        result = changed(full_result, without=full_result.baseline, of_proof=of_proof)
        assert caption(result) == told


def test_a_setting_that_earns_nothing_never_pays_back_its_cost(full_result):
    (sentence,) = payback_sentences(changed(full_result, ratio=Ratio(0.98, 0.95, 1.01)))
    assert sentence == "compile_mode costs 41 s before the first step and never pays back."


def test_a_setting_that_saves_time_before_the_first_step_says_so(full_result):
    (sentence,) = payback_sentences(without(full_result, compile_s=50.0))
    assert sentence == "compile_mode saves 8.7 s before the first step and pays at once."


@pytest.mark.parametrize(("compile_s", "n"), [(40.0, 1), (40.5, 0)])
def test_less_than_a_second_is_not_worth_a_word(full_result, compile_s, n):
    # 0.1 s of start-up lie between the two as well.
    assert len(payback_sentences(without(full_result, compile_s=compile_s))) == n


def test_costs_that_are_not_known_and_run_times_have_no_payback(full_result, run_time_result):
    assert payback_sentences(changed(full_result, without=None)) == []
    assert payback_sentences(run_time_result) == []


def test_what_never_ran_without_a_setting_has_no_figure_and_says_that_it_is_needed(full_result):
    why = "needed: without it oom in round 1: CUDA out of memory"
    (c,) = changed(full_result, ratio=Ratio(0.0, 0.0, math.inf), reason=why).contributions
    assert contribution_cells(c) == ["compile_mode", "default", "none", "-", why]


def test_the_table_says_which_rounds_it_comes_from(full_result, plain):
    print_result(full_result, plain)
    assert CAPTION in plain.file.getvalue() and CAPTION in markdown(full_result)
    assert CAPTION not in markdown(dataclasses.replace(full_result, contributions=()))

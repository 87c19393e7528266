import dataclasses
import io

import pytest

from hotlap.measurement import Ratio
from reports.screen import Screen
from reports.table import markdown, print_result


def printed(result, width: int) -> str:
    console = Screen(width=width, force_terminal=False, file=io.StringIO())
    print_result(result, console)
    return console.file.getvalue()


@pytest.mark.parametrize("width", [80, 120])
def test_every_arm_has_its_rate_its_speedup_and_their_intervals(result, width):
    text = printed(result, width)
    for part in ("401.2", "[396.9, 405.8]", "812.4", "2.02x", "[1.98, 2.07]", "1.85x", "61 %",
                 "39.4 ms", "8.00 GiB"):  # fmt: skip
        assert part in text
    assert "…" not in text


@pytest.mark.parametrize("width", [80, 100])
def test_the_fullest_result_fits_the_screen_and_nothing_is_cut(full_result, run_time_result, width):
    for result in (full_result, run_time_result):
        text = printed(result, width)
        pasted = (
            *(f"  {c}" for c in result.commands.values()),
            f"frozen settings: {result.frozen}",
        )
        long = [line for line in text.splitlines() if len(line) > width]
        assert set(long) <= set(pasted)
        assert "\u2026" not in text


def test_a_candidate_that_is_not_faster_is_the_best_tried(result):
    winner = dataclasses.replace(result.winner, speedup=Ratio(1.04, 0.98, 1.09))
    assert "best tried" in printed(dataclasses.replace(result, winner=winner), 80)


def test_the_two_sides_have_a_table_of_their_own_where_they_were_measured(full_result, result):
    assert "model alone" not in printed(result, 100)
    lines = [line.split() for line in printed(full_result, 100).splitlines()]
    assert ["baseline", "401.2", "450.0", "741.0", "46", "%"] in lines
    assert ["winner", "812.4", "2,100", "820.0", "<1", "%"] in lines


def test_a_doubt_has_its_name_its_cause_and_its_advice(full_result):
    text = printed(full_result, 100)
    assert "warning [machine-busy]: others used 31 %" in text
    assert "likely cause: another job" in text
    assert "what to do: tune while" in text


def test_who_was_refused_is_told_with_the_reason(full_result):
    assert "refused trial 12: its loss is nan at step 3" in printed(full_result, 80)


def test_costly_settings_say_when_they_pay_back(full_result, result):
    assert "pays back" not in printed(result, 100)
    # 41.1 s more, and a quarter faster: 164 s, of 39.4 ms each.
    assert (
        "compile_mode costs 41 s before the first step and pays back after 2:44 of training "
        "(4,173 steps, 0.104 epochs)."
    ) in " ".join(printed(full_result, 80).split())


def test_settings_put_back_together_stand_in_one_row(full_result):
    row = next(
        line
        for line in printed(full_result, 200).splitlines()
        if "pin_memory + non_blocking" in line
    )
    assert "true, true" in row and "false, false" in row
    assert "dropped: its interval holds 1.00" in row


def test_for_the_run_time_the_table_holds_times_and_no_payback(run_time_result):
    text = printed(run_time_result, 100)
    (baseline,) = [line for line in text.splitlines() if line.strip().startswith("baseline  ")][:1]
    assert "6:24:10" in baseline and "401.2" in baseline
    assert "3:12:05" in text and "run time" in text
    assert "pays back" not in text


@pytest.mark.parametrize("width", [80, 120])
def test_only_what_is_to_be_pasted_is_wider_than_the_screen(result, width):
    long = [line for line in printed(result, width).splitlines() if len(line) > width]
    pasted = (f"  {result.commands['full run']}", f"frozen settings: {result.frozen}")
    assert set(long) <= set(pasted)


def test_the_last_line_names_the_frozen_file(result):
    assert printed(result, 80).splitlines()[-1] == f"frozen settings: {result.frozen}"


def test_commands_are_never_broken(result):
    text = printed(result, 80)
    for command in result.commands.values():
        assert f"  {command}\n" in text


def test_what_each_setting_brings_is_shown_and_what_was_dropped(result):
    text = printed(result, 80)
    assert "1.52x [1.48, 1.55]" in text
    assert [line for line in text.splitlines() if "prefetch_factor" in line and "dropped" in line]


def test_markdown_has_a_row_for_each_arm(result):
    rows = [line for line in markdown(result).splitlines() if line.startswith("| **")]
    assert [row.split("**")[1] for row in rows] == ["baseline", "expert", "winner"]
    assert "`num_workers=4 pin_memory=true`" in rows[1]


def test_markdown_says_all_that_the_screen_says(full_result, run_time_result):
    text = markdown(full_result)
    for part in ("model alone", "pays back", "Warning [machine-busy]: others", "Likely cause: ",
                 "What to do: ", "Refused trial 12: its loss", "The search itself, corrected",
                 "Baseline: data-bound"):  # fmt: skip
        assert part in text
    assert "| run time | samples/s |" in markdown(run_time_result)
    rows = [line for line in text.splitlines() if line.startswith("|")]
    tables = [rows[i] for i in range(len(rows)) if i + 1 < len(rows) and "---" in rows[i + 1]]
    assert len(tables) == 3
    for row in rows:
        assert row.count("|") in {head.count("|") for head in tables}

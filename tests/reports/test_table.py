import dataclasses
import io

import pytest
from rich.console import Console

from hotlap.settings import Settings
from reports.result import Ratio
from reports.table import markdown, print_result, sentences


def printed(result, width: int) -> str:
    console = Console(width=width, force_terminal=False, file=io.StringIO())
    print_result(result, console)
    return console.file.getvalue()


@pytest.mark.parametrize("width", [80, 120])
def test_every_arm_has_its_rate_its_speedup_and_their_intervals(result, width):
    text = printed(result, width)
    for part in ("401.2", "[396.9, 405.8]", "812.4", "2.02x", "[1.98, 2.07]", "1.85x", "61 %",
                 "39.4 ms", "8.00 GiB"):  # fmt: skip
        assert part in text
    assert "…" not in text


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


def test_a_speedup_that_may_be_none_is_said_to_be_none(result):
    winner = dataclasses.replace(result.winner, speedup=Ratio(1.04, 0.98, 1.09))
    unproven = dataclasses.replace(result, winner=winner)
    assert sentences(unproven)[0] == (
        "Nothing better than the default was found, so the default is frozen."
    )
    assert "best tried" in printed(unproven, 80)


def test_a_baseline_of_ones_own_is_not_called_the_default(result):
    baseline = dataclasses.replace(result.baseline, settings=Settings(num_workers=1))
    own = dataclasses.replace(result, baseline=baseline)
    assert "as fast as its own baseline" in sentences(own)[0]


def test_compiling_is_said_to_pay_after_a_while(result):
    # 41.2 s more than the baseline; each second of training saves 1.02 s: 40 s.
    assert "paid for itself after 0:40 of training" in " ".join(sentences(result))


def test_outcomes_are_counted(result):
    assert "31 trials (21 ok, 9 pruned, 1 oom) in 10:12." in sentences(result)
    assert "1 trial (1 ok) in 10:12." in sentences(
        dataclasses.replace(result, n_outcomes={"ok": 1})
    )


def test_what_each_setting_brings_is_shown_and_what_was_dropped(result):
    text = printed(result, 80)
    assert "1.52x [1.48, 1.55]" in text
    assert [line for line in text.splitlines() if "prefetch_factor" in line and "dropped" in line]
    assert "warning: another job used 31 %" in text


def test_markdown_has_a_row_for_each_arm(result):
    rows = [line for line in markdown(result).splitlines() if line.startswith("| **")]
    assert [row.split("**")[1] for row in rows] == ["baseline", "expert", "winner"]
    assert "`num_workers=4 pin_memory=true`" in rows[1]

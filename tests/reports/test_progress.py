import io
import threading

from rich.console import Console

from hotlap.settings import Settings
from reports.progress import Progress

TUNED = Settings(num_workers=2, memory_format="channels_last")

HIDDEN = "\x1b[?25l"
"""What hides a terminal's cursor."""


class Clock:
    """Seconds that pass when they are told to."""

    def __init__(self) -> None:
        self.s = 100.0

    def __call__(self) -> float:
        return self.s


def lines(console: Console) -> list[str]:
    return console.file.getvalue().splitlines()


def test_a_log_file_gets_one_plain_line_a_trial(plain):
    clock = Clock()
    with Progress(plain, budget_s=202, now=clock) as progress:
        progress.trial_ended(0, "ok", 9.5, "", Settings(), 9.0, kind="baseline")
        progress.trial_started(7, TUNED)
        progress.block(12.0)
        clock.s += 10
        progress.trial_ended(7, "ok", 12.44, "", TUNED, 9.8)
    assert lines(plain) == [
        "baseline 0  ok  9.50 samples/s  1.00x  nothing changed  (9.0 s, 3:22 left)",
        "trial 7  ok  12.4 samples/s  1.31x  num_workers=2 memory_format=channels_last"
        "  (9.8 s, 3:12 left)",
    ]


def test_a_failure_shows_its_outcome_and_its_reason(plain):
    with Progress(plain) as progress:
        progress.trial_ended(8, "oom", None, "needs 12 GiB, 10 GiB are free", TUNED, 4.0)
    assert lines(plain) == [
        "trial 8  oom  num_workers=2 memory_format=channels_last  (4.0 s)",
        "  needs 12 GiB, 10 GiB are free",
    ]


def test_long_work_is_a_line_each_tenth_and_of_nothing_to_do_a_line_too(plain):
    with Progress(plain) as progress:
        for n in range(1, 101):
            progress.preparing("reading files", n, 100)
        progress.preparing("reading an empty folder", 0, 0)
    told = lines(plain)
    assert len(told) == 11
    assert told[-2:] == ["  reading files: 100 of 100", "  reading an empty folder: 0 of 0"]


def test_stages_and_notes_are_lines(plain):
    with Progress(plain) as progress:
        progress.stage("search", "12 knobs")
        progress.note("left out: amp=fp16 [needs CUDA]")
    assert lines(plain) == ["search  12 knobs", "  left out: amp=fp16 [needs CUDA]"]


def test_the_best_is_the_best_ok_trial_that_is_no_repeat(plain):
    progress = Progress(plain)
    progress.trial_ended(0, "ok", 10.0, "", Settings(), 1.0, kind="baseline")
    progress.trial_ended(1, "ok", 11.0, "", TUNED, 1.0, kind="expert")
    progress.trial_ended(2, "pruned", 99.0, "below the best", TUNED, 1.0)
    progress.trial_ended(3, "ok", 99.0, "", TUNED, 1.0, kind="confirm")
    assert (progress.baseline, progress.best) == (10.0, 11.0)


def test_a_terminal_shows_stage_trial_rate_best_and_time_left():
    console = Console(force_terminal=True, width=100, file=io.StringIO())
    with Progress(console, budget_s=60, now=Clock()) as progress:
        progress.stage("search")
        progress.trial_ended(0, "ok", 10.0, "", Settings(), 1.0, kind="baseline")
        progress.trial_ended(1, "ok", 15.0, "", TUNED, 1.0)
        progress.trial_started(2, TUNED)
        progress.block(12.5)
        progress.stage("confirm")  # a printed line redraws the status below it
        progress.trial_started(3, TUNED)
        progress.block(12.5)
        progress.note("a line")
    shown = console.file.getvalue()
    assert "now 12.5 samples/s  best 15.0 samples/s (1.50x)  1:00 left" in shown
    assert "trial 3  num_workers=2 memory_format=channels_last" in shown


def test_a_display_that_lives_hides_the_cursor_until_it_ends():
    before = set(threading.enumerate())
    console = Console(force_terminal=True, file=io.StringIO())
    progress = Progress(console)
    progress.note("what comes before it may raise, and nobody would end it")
    assert set(threading.enumerate()) == before and HIDDEN not in console.file.getvalue()
    with progress:
        started = set(threading.enumerate()) - before
        progress.close()
    shown = console.file.getvalue()
    assert shown.rindex("\x1b[?25h") > shown.rindex(HIDDEN)
    assert len(started) == 1
    for thread in started:
        thread.join(timeout=60)
        assert not thread.is_alive()


def test_a_terminal_shows_the_stage_that_has_no_trial_yet_and_that_time_passes():
    """The probe, and what follows it, may take a minute before the first trial."""
    clock = Clock()
    console = Console(force_terminal=True, width=100, file=io.StringIO())
    with Progress(console, budget_s=60, now=clock) as progress:
        progress.stage("probe", "digits")
        shown = [progress._status().plain]
        clock.s += 12.5
        progress.doing("the tracking begins")
        shown.append(progress._status().plain)
    assert "probe 0:00" in shown[0] and "probe 0:12" in shown[1]
    assert shown[0][0] != shown[1][0]  # it turns
    assert shown[1].endswith("\nthe tracking begins")


def test_a_log_file_gets_the_line_of_a_stage_at_once(plain):
    progress = Progress(plain)
    progress.stage("probe", "digits")
    progress.doing("the tracking begins")
    assert lines(plain) == ["probe  digits"]

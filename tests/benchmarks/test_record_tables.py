"""What benchmarks/record_tables.py types is a recording that tune.py accepts, and it is packed."""

import os
import signal
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from benchmarks.judged import space_of
from benchmarks.machine import interruptible
from benchmarks.record_tables import TABLES, command, packed
from benchmarks.synthetic_table import write
from conf.cli import main
from runners.table import Table

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("name", TABLES)
def test_each_command_is_right(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    asked = []

    def keep(config, text):
        asked.append(config)
        return 0

    words = command(name, tmp_path, 2, 5)[2:]
    assert main(words, "config", keep) == 0, capsys.readouterr().err
    (config,) = asked
    assert config.record == str(tmp_path / f"{name}.jsonl")
    assert (config.record_repeats, config.n_trials) == (2, 5)


@cache
def kept(name):
    return Table.read(ROOT / "benchmarks" / "tables" / f"{name}.jsonl.gz")


@pytest.mark.parametrize("name", TABLES)
def test_a_kept_table_has_all_of_a_space_of_64_settings_that_differ_in_truth(name):
    """Not counting twice what has two names: PyTorch's own number of threads, or its own kernel."""
    table, space = kept(name), space_of(kept(name))
    assert {s.key() for s in space.grid()} == {s.key() for s in table.known}
    assert space.within(table.known) is space
    own = {
        ("intraop_threads", None): table.header["facts"]["default_intraop_threads"],
        ("optimizer_kernel", "default"): "for_loop",  # on a CPU
    }
    in_truth = {tuple((n, own.get((n, v), v)) for n, v in s.key()) for s in table.known}
    assert len(in_truth) >= 64


@pytest.mark.parametrize("name", TABLES)
def test_in_a_kept_table_no_servers_start_passes_for_a_trials_own_time(name):
    table = kept(name)
    launches_s = [row.seconds("overhead_s") - table.served_s(row) for row in table.rows]
    assert max(launches_s) < 0.1 * table.server_start_s


def test_a_whole_table_is_packed_where_the_search_is_judged_on_it(tmp_path):
    path = write(tmp_path / "mine.jsonl", knobs=("num_workers", "amp"))
    assert packed(path, 2) == f"packed into {path}.gz"
    table = Table.read(path.with_name("mine.jsonl.gz"))
    assert [row.data for row in table.rows] == [row.data for row in Table.read(path).rows]
    assert [p.name for p in sorted(tmp_path.iterdir())] == ["mine.jsonl", "mine.jsonl.gz"]
    before = path.with_name("mine.jsonl.gz").read_bytes()
    packed(path, 2)
    assert path.with_name("mine.jsonl.gz").read_bytes() == before


def test_a_table_that_is_not_whole_leaves_the_earlier_one_alone(tmp_path):
    path = write(tmp_path / "mine.jsonl", knobs=("num_workers", "amp"))
    packed(path, 2)
    before = path.with_name("mine.jsonl.gz").read_bytes()
    assert packed(path, 3) == "mine.jsonl is not whole: 10 trials are to come; nothing was packed"
    header, *rows = path.read_text().splitlines()
    path.write_text("".join(f"{line}\n" for line in (header, *rows[:-3])))
    assert packed(path, 2) == "mine.jsonl is not whole: 3 trials are to come; nothing was packed"
    assert path.with_name("mine.jsonl.gz").read_bytes() == before


RECORDING = """
import sys, time
try:
    print("begun", flush=True)
    time.sleep(600)
except KeyboardInterrupt:
    time.sleep(1)  # it has trials to end and words to say
    print("what was measured is kept", flush=True)
    sys.exit(130)
"""


def test_a_recording_that_ctrl_c_meets_ends_by_itself():
    asks = "from benchmarks.record_tables import to_its_end as end; import sys; "
    code = f"{asks}sys.exit(end([sys.executable, '-c', sys.argv[1]]))"
    process = subprocess.Popen(
        [sys.executable, "-c", code, RECORDING],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout.readline() == "begun\n"
    os.killpg(process.pid, signal.SIGINT)
    out, _ = process.communicate(timeout=120)
    assert (out, process.returncode) == ("what was measured is kept\n", 130)


def test_ctrl_c_is_a_word_and_no_traceback(capsys):
    def interrupted(argv):
        raise KeyboardInterrupt

    before = signal.getsignal(signal.SIGINT)
    try:
        assert interruptible(interrupted, []) == 130
    finally:
        signal.signal(signal.SIGINT, before)
    assert capsys.readouterr().err == "interrupted\n"
    assert interruptible(len, ["a", "b"]) == 2

import json
import os
import resource

import pytest

from hotlap.errors import HotlapError, UserInputError
from hotlap.measurement import Measurement
from hotlap.settings import Settings
from runners.protocol import Run
from runners.table import Table
from runners.table_writer import TableWriter

HEADER = {
    "workload": {"name": "mine", "function": "my.make", "args": {"width": 3}, "words": ["a"]},
    "settings": Settings().to_dict(),
    "space": {"num_workers": {"choices": [0, 2]}},
    "window": {"max_s": 8.0},
    "facts": {
        **{"cpu": "a fast one", "cores": 2, "torch": "2.9.1"},
        **{"shm_free_bytes": 5, "model_digest": "66"},
    },
}
BASE, OTHER = Settings(), Settings(num_workers=2)


def a_run(outcome="ok", served_s=0.0):
    blocks = [{"event": "block", "t": 1.0, "steps": 2, "samples": 50, "seconds": 0.5}] * 3
    measured = Measurement.from_events(blocks)
    return Run(outcome, measured, events=tuple(blocks), wall_s=2.0, served_s=served_s)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "new" / "table.jsonl"


def test_a_recording_goes_on_where_it_ended(path):
    with TableWriter(path, HEADER) as rows:
        rows.append(BASE, a_run())
        rows.append(BASE, a_run())
    later = {**HEADER, "facts": {**HEADER["facts"], "shm_free_bytes": 1}, "setup_s": 9.0}
    with TableWriter(path, later) as rows:
        assert rows.n_recorded(BASE) == 2 and rows.n_recorded(OTHER) == 0
        rows.append(OTHER, a_run("crash"))
    table = Table.read(path)
    assert [row.outcome for row in table.rows] == ["ok", "ok", "crash"]
    assert "setup_s" not in table.header


def test_a_line_that_a_kill_cut_off_is_dropped_and_no_other(path):
    with TableWriter(path, HEADER) as rows:
        rows.append(OTHER, a_run())
        rows.append(BASE, a_run())
    path.write_text(path.read_text()[:-20])
    with TableWriter(path, HEADER) as rows:
        assert rows.n_recorded(OTHER) == 1 and rows.n_recorded(BASE) == 0
        rows.append(BASE, a_run())
    assert len(Table.read(path).rows) == 2


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (
            {"workload": {**HEADER["workload"], "function": "my.other"}},
            "workload.function was my.make and is my.other",
        ),
        ({"workload": {**HEADER["workload"], "args": {}}}, "workload.args was {'width': 3}"),
        ({"space": {"amp": {"choices": ["none"]}}}, "space.amp was not there and is"),
        ({"window": {"max_s": 30.0}}, "window.max_s was 8.0 and is 30.0"),
        ({"settings": Settings(amp="bf16").to_dict()}, "settings.amp was none and is bf16"),
        (
            {"facts": {"cpu": "a slow one", "cores": 2, "torch": "2.9.1"}},
            "on another machine, or with another torch: cpu was a fast one there and is a slow one",
        ),
        ({"facts": {**HEADER["facts"], "model_digest": "77"}}, "model_digest was 66 and is 77"),
    ],
)
def test_another_workload_space_or_machine_is_refused_and_nothing_is_lost(path, change, says):
    with TableWriter(path, HEADER) as rows:
        rows.append(BASE, a_run())
    before = path.read_bytes()
    with pytest.raises(UserInputError) as caught:
        TableWriter(path, {**HEADER, **change})
    assert says in str(caught.value) and "record=<another file>" in str(caught.value)
    assert path.read_bytes() == before
    TableWriter(path, HEADER).__exit__(None, None, None)  # it was let go


@pytest.mark.parametrize(
    "change",
    [{"target": "/b/train.py"}, {"args": ["--lr", "1"]}, {"override": ["amp"]}, {"cwd": "/b"}],
)
def test_trials_of_two_scripts_are_not_mixed(path, change):
    script = {"target": "/a/train.py", "args": ["--lr", "0.1"], "override": [], "cwd": "/a"}
    workload = {"name": "train", "words": ["script=train.py"], "script": script}
    with TableWriter(path, {**HEADER, "workload": workload}) as rows:
        rows.append(BASE, a_run())
    again = {**HEADER, "workload": {**workload, "words": ["script=./train.py"]}}
    TableWriter(path, again).__exit__(None, None, None)
    other = {**HEADER, "workload": {**workload, "script": {**script, **change}}}
    (part,) = change
    with pytest.raises(UserInputError, match=f"script.{part} was .* and is "):
        TableWriter(path, other)


def test_a_file_that_is_no_table_is_refused_and_kept(path):
    path.parent.mkdir()
    for notes in ("my notes\n", "my notes, the last line without its end"):
        path.write_text(notes)
        with pytest.raises(UserInputError, match="table.jsonl:1: "):
            TableWriter(path, HEADER)
        assert path.read_text() == notes


def test_nothing_is_added_to_a_table_with_a_value_that_none_can_have(path):
    with TableWriter(path, HEADER) as rows:
        rows.append(BASE, a_run())
    path.write_text(path.read_text().replace('"seconds": 0.5', '"seconds": "x"', 1))
    before = path.read_bytes()
    with pytest.raises(UserInputError, match="table.jsonl:2: .*\n?.*Nothing was recorded"):
        TableWriter(path, HEADER)
    assert path.read_bytes() == before


def test_two_commands_cannot_record_one_table(path):
    with TableWriter(path, HEADER), pytest.raises(UserInputError, match="another command records"):
        TableWriter(path, HEADER)


def test_a_trial_for_which_a_fork_server_was_started_is_marked_be_it_anew(path):
    threads = Settings(intraop_threads=1)
    tried = [(BASE, 0.0), (threads, 3.0), (threads, 0.0), (OTHER, 0.0), (threads, 3.0)]
    with TableWriter(path, HEADER) as rows:
        for settings, served_s in tried:
            rows.append(settings, a_run(served_s=served_s))
    lines = [json.loads(line) for line in path.read_text().splitlines()[1:]]
    assert ["new_environment" in line for line in lines] == [False, True, False, False, True]


def test_a_line_without_room_is_taken_back_and_told(path):
    with TableWriter(path, HEADER) as rows:
        rows.append(BASE, a_run())
        whole = path.read_bytes()
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (len(whole) + 100, before[1]))
        try:
            with pytest.raises(HotlapError, match="its 1 recorded trials are kept. Make room"):
                rows.append(OTHER, a_run())  # the first 100 bytes of it fit
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
        assert path.read_bytes() == whole and rows.n_recorded(OTHER) == 0
        rows.append(OTHER, a_run())
    assert len(Table.read(path).rows) == 2


def test_a_table_that_cannot_lie_there_is_refused_with_a_sentence(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UserInputError, match="x.jsonl cannot be written"):
        TableWriter(tmp_path / "file" / "x.jsonl", HEADER)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UserInputError, match="pipe is no file that keeps"):
        TableWriter(tmp_path / "pipe", HEADER)

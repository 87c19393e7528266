"""Long work before training says how far it is, also where there is nothing to do."""

from hotlap import preparing


def test_in_a_log_work_is_a_line_each_tenth_and_nothing_is_one(capsys):
    for n in range(1, 101):
        preparing("reading files", n, 100)
    preparing("reading an empty folder", 0, 0)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 12
    assert lines[-1] == "hotlap: reading an empty folder: 0 of 0"

"""What benchmarks/record_tables.py types is a recording that tune.py accepts."""

from pathlib import Path

import pytest

from benchmarks.record_tables import TABLES, command
from conf.cli import main


@pytest.mark.parametrize("name", TABLES)
def test_each_command_is_right(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(Path(__file__).resolve().parents[2])
    asked = []

    def keep(config, text):
        asked.append(config)
        return 0

    words = command(name, tmp_path, 2, 5)[2:]
    assert main(words, "config", keep) == 0, capsys.readouterr().err
    (config,) = asked
    assert config.record == str(tmp_path / f"{name}.jsonl")
    assert (config.record_repeats, config.n_trials) == (2, 5)

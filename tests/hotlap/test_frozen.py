"""A frozen file is read back as it was written, and every mistake in it is named with its line."""

import shlex
import subprocess
import sys

import numpy as np
import pytest
import yaml

from hotlap import load, load_frozen
from hotlap.errors import FrozenFileError
from hotlap.frozen import dump
from hotlap.settings import NAMES, Settings
from tests.conftest import LAUGHS

WINNER = Settings(num_workers=4, memory_format="channels_last", amp="bf16", intraop_threads=2)


def test_what_is_written_is_read_back(tmp_path):
    path = tmp_path / "new folder" / "winner.yaml"
    provenance = {
        "speedup": np.float64(2.02),
        "speedup_ci95": (1.98, 2.07),
        "trial": np.int64(31),
        "tuned": ["num_workers"],
        "facts": {"cores": 2, "bf16": False},
        "date": "2026-01-02",
        "name": "größer: #1",
    }
    dump(path, WINNER, provenance)
    frozen = load_frozen(str(path))
    assert frozen.settings == load(path) == WINNER and frozen.path == path
    assert frozen.provenance == {**provenance, "speedup_ci95": [1.98, 2.07]}
    assert list(path.parent.iterdir()) == [path]  # nothing is left aside


def test_the_file_is_an_option_of_hydra_and_holds_no_dead_keys(tmp_path):
    path = tmp_path / "winner.yaml"
    dump(path, WINNER, {})
    text = path.read_text()
    assert text.startswith("# @package _global_\n")
    assert "settings=winner.yaml" in text
    assert list(yaml.safe_load(text)["settings"]) == list(NAMES)
    dump(path, Settings(), {})
    names = list(yaml.safe_load(path.read_text())["settings"])
    assert "prefetch_factor" not in names and names == [n for n in NAMES if n in names]
    assert load(path) == Settings()


def test_the_head_of_the_file_has_the_command_that_applies(tmp_path):
    path = tmp_path / "winner.yaml"
    dump(path, WINNER, {})
    head = path.read_text().partition("settings:\n")[0]
    assert (
        "#   python train.py +model=... settings=winner.yaml\n" in head and "-m hotlap" not in head
    )
    words = ["train.py", "--name", "a=b,  {c}\n d", "--end", "\x1b[0m"]
    dump(path, WINNER, {"script": shlex.join(words)})
    head = path.read_text().partition("settings:\n")[0]
    run = "python -m hotlap run --settings winner.yaml"
    command = rf"{run} train.py --name 'a=b,  {{c}}'$'\n'' d' --end ''$'\x1b''[0m'"
    assert f"#   {command}\n" in head and "python train.py" not in head
    assert load(path) == WINNER


def test_settings_that_a_file_does_not_name_keep_the_default(tmp_path):
    path = tmp_path / "hand.yaml"
    path.write_text("settings:\n  cudnn_benchmark: true\n")
    assert load(path) == Settings(cudnn_benchmark=True)
    assert load_frozen(path).provenance == {}


@pytest.mark.parametrize(
    "text, line, words",
    [
        ("settings:\n  num_worker: 4\n", 2, "unknown setting 'num_worker'; did you mean 'num_wor"),
        ("settings:\n  amp: bf16\n  num_workers: -1\n", 3, "num_workers is -1; it takes a whole"),
        ("settings:\n  pin_memory: 1\n", 2, "pin_memory is 1; it takes true or false"),
        ("settings:\n  amp: on\n", 2, "amp is True; it takes one of none, bf16, fp16"),
        ("settings:\n  on: 3\n", 2, "unknown setting 'True'"),
        ("settings: {}\nprovenence: {}\n", 2, "unknown key 'provenence'; did you mean 'provenan"),
        ("provenance: {}\n", 1, "the key `settings` is missing"),
        ("settings: 3\n", 1, "`settings` has to hold lines"),
        ("settings: {}\nprovenance: 7\n", 2, "`provenance` has to hold lines"),
        ("settings:\n  amp: bf16\n  amp: none\n", 3, "'amp' stands on line 2 already"),
        ("settings:\n  amp: [bf16\n", 3, "no plain YAML"),
        ("settings:\n\tamp: bf16\n", 2, "no plain YAML"),
        ("settings: !!python/object/apply:os.system [ls]\n", 1, "no plain YAML"),
        ("<<: {settings: {num_worker: 4}}\n", 1, "unknown setting 'num_worker'; did you mean"),
        ("settings: {}\n<<: {provenence: {}}\n", 1, "unknown key 'provenence'"),
        ("<<: {settings: 3, provenance: 7}\n", 1, "`provenance` has to hold lines"),
        ("", 1, "the file is empty"),
        ("- 1\n", 1, "no mapping"),
    ],
)
def test_a_damaged_file_is_an_error_with_file_and_line(tmp_path, text, line, words):
    path = tmp_path / "bad.yaml"
    path.write_text(text)
    with pytest.raises(FrozenFileError) as error:
        load(path)
    assert words in str(error.value) and f"{path}:{line}:" in str(error.value)


@pytest.mark.parametrize("value", ["2026-02-31", "1" * 5000])
def test_a_value_that_is_none_is_an_error_with_the_file(tmp_path, value):
    path = tmp_path / "bad.yaml"
    path.write_text(f"settings: {{}}\nprovenance: {{date: {value}}}\n")
    with pytest.raises(FrozenFileError, match="no plain YAML") as error:
        load(path)
    assert str(path) in str(error.value)


@pytest.mark.parametrize(
    ("text", "line", "name"),
    [
        (f"settings: {{}}\nprovenance:\n  l0: &l0 [lol]\n{LAUGHS}", 4, "l0"),
        ("settings: &s {amp: bf16}\nprovenance: *s\n", 2, "s"),
        ("provenance: {facts: &f {cores: 2}}\nsettings:\n  <<: [*f, *f]\n", 3, "f"),
        ("settings: {}\nprovenance: &loop {again: *loop}\n", 2, "loop"),
    ],
)
def test_a_file_says_everything_in_full(tmp_path, text, line, name):
    path = tmp_path / "short.yaml"
    path.write_text(text)
    with pytest.raises(FrozenFileError, match="stands for what is said elsewhere") as error:
        load(path)
    assert f"{path}:{line}: " in str(error.value) and f"`*{name}`" in str(error.value)


@pytest.mark.parametrize(
    ("lines", "line", "words"),
    [
        (["speedup: 2.0", "speedup_ci95: [null, 2.4]"], 4, "speedup_ci95[0] is None; it has to be"),
        (["speedup: 2.0", "speedup_ci95: [1.4, .nan]"], 4, "speedup_ci95[1] is nan; it has to be"),
        (["speedup: null", "speedup_ci95: [1.4, 2.4]"], 4, "stands there without provenance.speed"),
        (["speedup_ci95: [1.4, 2.4]"], 3, "stands there without provenance.speedup"),
        (["speedup: .nan"], 3, "provenance.speedup is nan"),
        (["speedup: true"], 3, "provenance.speedup is True"),
        ([f"speedup: 1{'0' * 400}"], 3, "provenance.speedup is 1000"),
        ([f"speedup: 0x{'f' * 9999}"], 3, "is a number of thousands of digits"),
        (["speedup: 3", "speedup_ci95: [1.4, 2.4]"], 3, "it has to lie within its speedup_ci95"),
        (["samples_per_s: .inf"], 3, "provenance.samples_per_s is inf"),
        (["samples_per_s: 9", "samples_per_s_ci95: [null, 10]"], 4, "samples_per_s_ci95[0] is Non"),
        (["samples_per_s: 9", "samples_per_s_ci95: 8 to 10"], 4, "has to hold two numbers"),
        (["facts: [2, cores]"], 3, "provenance.facts has to hold lines"),
    ],
)
def test_a_figure_that_is_none_is_told_with_its_line(tmp_path, lines, line, words):
    path = tmp_path / "spoilt.yaml"
    path.write_text("\n  ".join(["settings: {}\nprovenance:", *lines]) + "\n")
    with pytest.raises(FrozenFileError) as error:
        load(path)
    assert words in str(error.value) and f"{path}:{line}: " in str(error.value)


def test_all_mistakes_come_at_once_in_the_order_of_the_file(tmp_path):
    path = tmp_path / "bad.yaml"
    path.write_text("settings:\n  amp: float8\n  num_wrokers: 1\n  pin_memory: no way\nextra: 1\n")
    with pytest.raises(FrozenFileError) as error:
        load(path)
    found = [part.split(":")[1] for part in str(error.value).splitlines() if part.startswith("  ")]
    assert found == ["2", "3", "4", "5"]


def test_a_file_that_is_not_there_or_no_text_says_so(tmp_path):
    with pytest.raises(FrozenFileError, match="no frozen settings file at"):
        load(tmp_path / "none.yaml")
    with pytest.raises(FrozenFileError, match="cannot be read"):
        load(tmp_path)
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00\x81")
    with pytest.raises(FrozenFileError, match="cannot be read"):
        load(tmp_path / "binary")


def test_reading_a_frozen_file_does_not_import_torch(tmp_path):
    dump(tmp_path / "f.yaml", WINNER, {})
    code = f"import sys, hotlap\nhotlap.load({str(tmp_path / 'f.yaml')!r})\n"
    code += "assert not {'torch', 'hydra', 'optuna', 'mlflow'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("text", "whose"),
    [
        ("search_space: {}\nbudget: 5m\nsettings: {}\n", "a study"),
        ("checkpoint_every_s: 300.0\nepochs: 1\nsettings: {}\n", "a full run"),
    ],
)
def test_a_config_is_told_in_one_sentence_with_the_frozen_file_beside_it(tmp_path, text, whose):
    path = tmp_path / "config.yaml"
    path.write_text(text)
    head = f"{path} is the config of {whose} and no frozen settings file; "
    for cure in ("name the frozen.yaml of a study", "its frozen settings lie beside it: "):
        with pytest.raises(FrozenFileError) as caught:
            load_frozen(path)
        assert str(caught.value).startswith(head + cure) and "unknown key" not in str(caught.value)
        dump(tmp_path / "frozen.yaml", WINNER, {})
    assert str(caught.value).endswith(str(tmp_path / "frozen.yaml"))

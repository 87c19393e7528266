"""Every example of the README works as it stands there."""

import re
import shlex

import pytest
import torch
from torch import nn
from torch.utils.data import TensorDataset

from conf.cli import main
from hotlap.frozen import dump
from hotlap.settings import NAMES, Settings
from tests.conftest import ROOT

README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", README, re.S)


def blocks(language):
    return [text for name, text in BLOCKS if name == language]


def commands(program):
    lines = [line.strip() for text in blocks("bash") for line in text.splitlines()]
    return [line for line in lines if re.match(rf"python (<clone>/)?{program}", line)]


@pytest.fixture
def cwd(tmp_path, monkeypatch):
    """A folder with the README's own files, and what its commands refer to."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "my_job.py").write_text(blocks("python")[0])
    (tmp_path / "my_conf" / "model").mkdir(parents=True)
    (tmp_path / "my_conf" / "model" / "mine.yaml").write_text(blocks("yaml")[0])
    (tmp_path / "train.py").write_text("import torch\n")
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    for name in ("resnet50", "mine"):
        folder = tmp_path / "outputs" / name / "TIME"
        folder.mkdir(parents=True)
        dump(folder / "frozen.yaml", Settings(num_workers=2), {"samples_per_s": 1.0})
    (tmp_path / "images" / "cats").mkdir(parents=True)
    return tmp_path


def run(line, primary):
    """The config of each job that the command starts, and its exit code."""
    line = line.replace("<time>", "TIME").replace("/data/imagenet/train", "images")
    words = shlex.split(line, comments=True)[2:]
    started = []

    def task(config, text):
        started.append((config, text))
        return 0

    return started, main(words, primary, task)


@pytest.mark.parametrize("line", commands("tune.py"))
def test_each_tune_command_starts_what_it_says(line, cwd, capsys):
    if "resume=" in line:
        (_, text), *_ = run("python tune.py +model=resnet50", "config")[0]
        (cwd / "outputs/resnet50/TIME/config.yaml").write_text(text)
    jobs, code = run(line, "config")
    if line.split("#")[0].strip() == "python tune.py":
        assert code == 2
        assert "resnet50" in capsys.readouterr().err
    elif "--help" in line or "--cfg" in line:
        assert code == 0
        assert "search_space" in capsys.readouterr().out
    else:
        assert code == 0, capsys.readouterr().err
        assert len(jobs) == (2 if " -m " in line else 1)


@pytest.mark.parametrize("line", commands("train.py"))
def test_each_train_command_takes_the_frozen_settings(line, cwd, capsys):
    if "resume=" in line:
        (_, text), *_ = run(commands("train.py")[0], "train")[0]
        (cwd / "outputs/resnet50/full-TIME").mkdir()
        (cwd / "outputs/resnet50/full-TIME/config.yaml").write_text(text)
    jobs, code = run(line, "train")
    assert code == 0, capsys.readouterr().err
    assert jobs[0][0].settings["num_workers"] == 2


def test_the_workload_example_is_one():
    scope = {
        "MyNet": lambda: nn.Linear(4, 2),
        "MyDataset": lambda: TensorDataset(torch.randn(64, 4), torch.zeros(64, dtype=torch.long)),
    }
    exec(compile(blocks("python")[0], "README", "exec"), scope)
    workload = scope["make"](batch_size=8)
    batch = next(iter(torch.utils.data.DataLoader(workload.dataset, workload.batch_size)))
    assert workload.loss(workload.model.cpu(), batch).isfinite()


def test_the_loop_example_trains_with_every_setting(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    dump("frozen.yaml", Settings(micro_batch_size=16), {})
    sizes = []

    class MyNet(nn.Linear):
        def forward(self, x):
            sizes.append(len(x))
            return super().forward(x)

    scope = {
        "torch": torch,
        "MyNet": lambda: MyNet(4, 2),
        "dataset": TensorDataset(torch.randn(128, 4), torch.zeros(128, dtype=torch.long)),
    }
    code = blocks("python")[1].replace('"cuda"', '"cpu"')
    exec(compile(code, "README", "exec"), scope)
    assert scope["loss"].isfinite() and set(sizes) == {16}


def test_ci_runs_exactly_the_readmes_test_command():
    (command,) = [text.strip() for text in blocks("bash") if "-m pytest" in text]
    assert command in (ROOT / ".ci" / "run").read_text().splitlines()


def test_the_readme_names_every_setting_and_model():
    models = {path.stem for path in (ROOT / "conf" / "model").glob("*.yaml")}
    assert not {name for name in (*NAMES, *models) if name not in README}

"""Windows in scripts of all kinds, each in a process of its own."""

import os

import pytest
from script_texts import TRAINING

from hotlap.job import Window


def events(found, name):
    return [event for event in found.events if event["event"] == name]


def ok(found):
    assert found.outcome == "ok", f"{found.reason}\n{found.traceback}"
    return found.measurement


def test_a_plain_loop_is_timed(scripts):
    measured = ok(scripts.run(TRAINING + "train(100_000)"))
    assert measured.samples_per_step == 8
    assert measured.n_epoch_steps == 8
    assert measured.samples_per_s > 0


def test_nothing_after_the_window_happens(scripts):
    text = TRAINING + "\nimport atexit\natexit.register(lambda: open('end', 'w'))\n"
    text += "try:\n    train(100_000)\nexcept BaseException:\n    pass\nopen('after', 'w')\n"
    ok(scripts.run(text))
    assert not (scripts.folder / "after").exists()
    assert not (scripts.folder / "end").exists()


@pytest.mark.parametrize("num_workers", [0, 2])
def test_what_is_imposed_is_in_force(scripts, num_workers):
    text = TRAINING.replace("batch_size=8,", "batch_size=8, num_workers=1,")
    found = scripts.run(text + "train(100_000)", settings={"num_workers": num_workers})
    ok(found)
    assert events(found, "built")[0]["num_workers"] == num_workers


def test_what_the_script_has_by_itself_is_not_imposed(scripts):
    text = TRAINING.replace("batch_size=8,", "batch_size=8, num_workers=1,")
    own = {"num_workers": 1}
    found = scripts.run(text + "train(100_000)", settings={"num_workers": 1}, own=own)
    ok(found)
    assert events(found, "built")[0]["notes"] == []


def test_a_setting_that_found_nothing_is_noted(scripts):
    found = scripts.run(TRAINING + "train(100_000)", settings={"memory_format": "channels_last"})
    ok(found)
    assert [n["setting"] for n in events(found, "built")[0]["notes"]] == ["memory_format"]


def test_a_script_without_a_loader_is_measured_in_steps(scripts):
    text = """
    import torch
    model = torch.nn.Linear(4, 4)
    optimizer = torch.optim.AdamW(model.parameters())
    while True:
        loss = model(torch.randn(3, 4)).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    """
    measured = ok(scripts.run(text))
    assert measured.samples_per_step == 1
    assert measured.n_epoch_steps is None


OWN_STEPS = """
while True:
    for x, y in batches:
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()
"""


@pytest.mark.parametrize("batches", ["list(loader)", "[next(iter(loader))]"])
def test_a_script_that_asks_its_loader_for_nothing_more_is_measured_in_steps(scripts, batches):
    text = TRAINING + f"batches = {batches}" + OWN_STEPS
    measured = ok(scripts.run(text))
    assert measured.samples_per_step == 1 and measured.n_epoch_steps is None
    assert scripts.facts(text)["loader"] is False


def test_one_that_goes_through_its_first_pass_again_has_its_samples(scripts):
    text = TRAINING + "from itertools import cycle; batches = cycle(loader)" + OWN_STEPS
    assert ok(scripts.run(text)).samples_per_step == 8


def test_one_batch_for_good_is_seen_at_once_where_workers_are_kept(scripts):
    text = (
        TRAINING
        + """
x, y = next(iter(loader))
for _ in range(200):
    optimizer.zero_grad()
    nn.functional.mse_loss(model(x), y).backward()
    optimizer.step()
"""
    )
    found = scripts.run(text, settings={"num_workers": 1, "persistent_workers": True})
    assert ok(found).samples_per_step == 1


def test_two_optimizers_and_accumulation_count_batches(scripts):
    text = (
        TRAINING
        + """
other = torch.optim.Adam(model.parameters())
while True:
    for i, (x, y) in enumerate(loader):
        nn.functional.mse_loss(model(x), y).backward()
        if i % 4 == 3:
            optimizer.step()
            other.step()
"""
    )
    assert ok(scripts.run(text)).samples_per_step == 8


def test_a_script_that_ends_first_is_measured_by_what_it_did(scripts):
    window = Window(max_s=100, min_s=100, block_s=0.01, max_warmup_s=0.1)
    measured = ok(scripts.run(TRAINING + "train(300)", window=window))
    assert measured.blocks


def test_of_one_that_ends_within_its_warm_up_the_later_steps_count(scripts):
    measured = ok(scripts.run(TRAINING + "train(4)", window=Window(block_s=10)))
    assert not measured.settled
    assert 8 <= sum(block.steps for block in measured.blocks) <= 30
    assert measured.samples_per_s > 0


def test_one_that_ends_too_soon_is_told_so(scripts):
    text = TRAINING.replace("torch.randn(64", "torch.randn(16")
    found = scripts.run(text + "train(1)", window=Window(block_s=10))
    assert found.outcome == "invalid"
    assert "ended after 2 optimizer steps" in found.reason


def test_what_a_script_says_of_its_wrong_arguments_is_shown(scripts):
    text = "import argparse\nargparse.ArgumentParser(prog='mine').parse_args()"
    found = scripts.run(text, args=["--no-such"])
    assert found.outcome == "crash" and "exit code 2" in found.reason
    assert "unrecognized arguments: --no-such" in found.traceback
    assert "hotlap" not in found.traceback


def test_one_that_never_steps_is_told_so(scripts):
    found = scripts.run("import torch\nprint(torch.ones(3))")
    assert found.outcome == "invalid"
    assert "no torch.optim optimizer was seen" in found.reason


def test_an_error_is_the_scripts_own(scripts):
    found = scripts.run(TRAINING + "train(1)\nopen('nothing here')")
    assert found.outcome == "crash"
    assert found.reason.startswith("FileNotFoundError")
    assert "train.py" in found.traceback and "hotlap" not in found.traceback


def test_an_exit_code_is_told(scripts):
    found = scripts.run("import sys\nsys.exit(3)")
    assert found.outcome == "crash"
    assert "exit code 3" in found.reason


def test_a_script_that_is_not_there(scripts):
    found = scripts.run(target="nothing.py")
    assert found.outcome == "crash"
    assert "nothing.py" in found.reason


def test_a_loss_that_becomes_nan_is_diverged(scripts):
    text = TRAINING.replace("lr=0.01", "lr=1e30") + "train(100_000)"
    found = scripts.run(text)
    assert found.outcome == "diverged"


def test_training_in_a_forked_child(scripts):
    text = TRAINING + "\nimport os\npid = os.fork()\nif pid == 0:\n    train(100_000)\nos.wait()\n"
    ok(scripts.run(text + "open('after', 'w')"))
    assert not (scripts.folder / "after").exists()


def test_training_in_a_thread(scripts):
    text = (
        TRAINING + "\nimport threading\nthreading.Thread(target=train, args=(100_000,)).start()\n"
    )
    ok(scripts.run(text))


def test_a_script_that_exits_at_once_by_itself(scripts):
    found = scripts.run(TRAINING + "train(2)\nimport os\nos._exit(0)")
    assert found.outcome == "crash"


def test_a_script_with_signal_handlers_of_its_own(scripts):
    text = (
        "import signal\nsignal.signal(signal.SIGTERM, print)\nsignal.signal(signal.SIGINT, print)\n"
    )
    ok(scripts.run(text + TRAINING + "train(100_000)"))


def test_arguments_arrive_as_typed(scripts):
    words = ["--name", "a=b,c", "", "ü ~ '\"", "--", "-m"]
    text = f"import sys\nassert sys.argv[1:] == {words!r}, sys.argv\n{TRAINING}\ntrain(100_000)"
    ok(scripts.run(text, args=words))


def test_a_module_of_a_package_with_relative_imports(scripts):
    scripts.write("", "package/__init__.py")
    scripts.write(TRAINING, "package/parts.py")
    scripts.write("from .parts import train\ntrain(100_000)", "package/go.py")
    ok(scripts.run(target="package.go", is_module=True))


def test_a_module_beside_the_script(scripts):
    scripts.write(TRAINING, "sub/parts.py")
    path = scripts.write("from parts import train\ntrain(100_000)", "sub/go.py")
    ok(scripts.run(target=str(path)))


def test_the_working_folder_is_the_tuners(scripts):
    ok(
        scripts.run(
            f"import os\nassert os.getcwd() == {str(scripts.folder)!r}\n{TRAINING}\ntrain(9999)"
        )
    )


def test_an_evaluation_between_epochs_does_not_count(scripts):
    text = (
        TRAINING
        + """
import time
while True:
    train(1)
    with torch.no_grad():
        model(torch.randn(4, 8))
    time.sleep(1)
"""
    )
    measured = ok(scripts.run(text, window=Window(max_s=0.2, min_s=0.05, block_s=0.01)))
    # Eight steps and a pause take a second and more, eight steps alone a few milliseconds.
    assert measured.samples_per_s > 2 * 64 / 1.0


def test_environment_of_a_batch_system_stays(scripts):
    text = f"import os\nassert os.environ['PATH'] == {os.environ['PATH']!r}\n"
    ok(scripts.run(text + TRAINING + "train(100_000)"))


FEW_READS = """
from torch.utils.data import TensorDataset
class Few(TensorDataset):
    n_read = 0
    def __getitem__(self, i):
        Few.n_read += 1
        assert Few.n_read <= 64, "the loader is asked for more"
        return super().__getitem__(i)
"""


def test_the_model_alone_asks_the_loader_for_nothing_more(scripts):
    text = FEW_READS + TRAINING.replace("TensorDataset(", "Few(") + "train(100_000)"
    measured = ok(scripts.run(text, side="compute"))
    assert sum(block.samples for block in measured.blocks) > 64
    assert scripts.run(text).outcome == "crash"


def test_the_loader_alone_calls_no_model(scripts):
    few = "n_calls += 1; assert n_calls <= 3; loss = nn"
    text = TRAINING.replace("loss = nn", few).replace("def train(", "n_calls = 0\ndef train(")
    text = (
        text.replace("    for epoch in", "    global n_calls\n    for epoch in") + "train(100_000)"
    )
    measured = ok(scripts.run(text, side="loader"))
    assert measured.side == "loader" and sum(block.steps for block in measured.blocks) > 3
    assert scripts.run(text).outcome == "crash"


def test_a_script_without_a_loader_has_no_sides(scripts):
    text = "import torch\np = torch.ones(1, requires_grad=True)\no = torch.optim.SGD([p], 0.1)\n"
    text += "while True:\n    (p * p).sum().backward()\n    o.step()"
    assert scripts.run(text, side="loader").outcome == "invalid"
    assert scripts.run(text, side="compute").outcome == "invalid"


def test_a_loader_that_only_the_loop_holds(scripts):
    text = TRAINING.replace("for x, y in loader:", "for x, y in DataLoader(rows, 16):")
    measured = ok(scripts.run(text + "train(100_000)"))
    assert measured.samples_per_step == 16
    assert measured.n_epoch_steps == 4


@pytest.mark.parametrize("stream", ["None", "open('out', 'w')", "Own()"])
def test_standard_streams_of_its_own(scripts, stream):
    text = "import sys\nclass Own:\n    def write(self, text):\n        return len(text)\n"
    text += f"sys.stdout = sys.stderr = {stream}\n"
    text += "if hasattr(sys.stdout, 'close'):\n    sys.stdout.close()\n"
    ok(scripts.run(text + TRAINING + "train(100_000)"))


def test_an_error_that_it_catches_and_exits_with_is_named(scripts):
    text = "import sys\ntry:\n    open('nothing here')\nexcept OSError:\n    sys.exit(4)\n"
    found = scripts.run(text)
    assert found.outcome == "crash"
    assert "exit code 4" in found.reason and "nothing here" in found.reason


def test_an_excepthook_of_its_own_hides_no_error(scripts):
    found = scripts.run("import sys\nsys.excepthook = print\nraise MemoryError('all of it')")
    assert found.outcome == "oom"
    assert "all of it" in found.reason


def test_a_script_that_buries_children_itself(scripts):
    text = """
import os, signal

def bury(*_):
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass

signal.signal(signal.SIGCHLD, bury)
"""
    text += TRAINING.replace("TensorDataset(torch", "Rows(torch").replace(
        "torch.manual_seed(0)", "class Rows(TensorDataset):\n    pass\n"
    )
    found = scripts.run(text + "train(100_000)", settings={"num_workers": 1})
    ok(found)
    assert events(found, "built")[0]["num_workers"] == 1


def test_a_script_that_writes_among_the_trials_events(scripts):
    text = TRAINING + "import glob\nfor name in glob.glob('jobs/*/events.jsonl'):\n"
    text += "    with open(name, 'a') as file:\n        file.write('nothing\\n[1]\\n')\n"
    ok(scripts.run(text + "train(100_000)"))

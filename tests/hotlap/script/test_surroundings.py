"""A trial is to its script what plain Python would be: arguments, modules, streams, children."""

import os

import pytest

from tests.hotlap.script.found import events, ok
from tests.hotlap.script.script_texts import TRAINING


def test_training_in_a_forked_child(scripts):
    text = TRAINING + "\nimport os\npid = os.fork()\nif pid == 0:\n    train(100_000)\nos.wait()\n"
    ok(scripts.run(text + "open('after', 'w')"))
    assert not (scripts.folder / "after").exists()


def test_training_in_a_thread(scripts):
    text = (
        TRAINING + "\nimport threading\nthreading.Thread(target=train, args=(100_000,)).start()\n"
    )
    ok(scripts.run(text))


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


def test_environment_of_a_batch_system_stays(scripts):
    text = f"import os\nassert os.environ['PATH'] == {os.environ['PATH']!r}\n"
    ok(scripts.run(text + TRAINING + "train(100_000)"))


@pytest.mark.parametrize("stream", ["None", "open('out', 'w')", "Own()"])
def test_standard_streams_of_its_own(scripts, stream):
    text = "import sys\nclass Own:\n    def write(self, text):\n        return len(text)\n"
    text += f"sys.stdout = sys.stderr = {stream}\n"
    text += "if hasattr(sys.stdout, 'close'):\n    sys.stdout.close()\n"
    ok(scripts.run(text + TRAINING + "train(100_000)"))


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

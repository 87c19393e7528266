"""A script that would train again in each spawned worker is known by its text."""

import pytest

from hotlap.interpose.guard import unguarded
from tests.hotlap.interpose.conftest import EXAMPLES


@pytest.mark.parametrize(
    ("name", "guarded"),
    [
        ("plain_loop.py", False),
        ("gan.py", False),
        ("own_batches.py", False),
        ("accumulation.py", False),
        ("with_arguments.py", True),
        ("trainer_class.py", True),
    ],
)
def test_the_examples_are_told_apart(name, guarded):
    assert (unguarded((EXAMPLES / name).read_text(), name) == "") is guarded


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("def main(): pass\nmain()", 2),
        ("def main(): pass\nresult = [main()]", 2),
        ("x = 1\nwhile x < 3:\n    x += 1", 2),
        ("with open('x') as f:\n    for line in f: pass", 2),
        ("if True:\n    for i in range(3): pass", 2),
        ("if __name__ == '__main__':\n    pass\nelse:\n    for i in (): pass", 4),
    ],
)
def test_work_at_module_level_is_named_with_its_line(text, line):
    assert unguarded(text, "train.py").startswith(f"train.py:{line} works at module level")


@pytest.mark.parametrize(
    "text",
    [
        "import torch\nSIZES = [n for n in range(3)]\ndef main():\n    for i in (): pass\n"
        "if __name__ == '__main__':\n    main()",
        "if '__main__' == __name__:\n    for i in (): pass",
        "class A:\n    def run(self):\n        while True: pass",
        "later = lambda: [main() for _ in range(3)]\ndef main(): pass",
    ],
)
def test_definitions_and_guarded_work_may_be_imported(text):
    assert unguarded(text, "train.py") == ""


def test_spawn_is_not_imposed_on_an_unguarded_script(runs):
    text = "settings: {num_workers: 1, multiprocessing_context: spawn}\n"
    runs.file(
        "script.py",
        "import torch\n"
        "rows = torch.utils.data.TensorDataset(torch.ones(4, 2))\n"
        "loader = torch.utils.data.DataLoader(rows, 2)\n"
        "for batch in loader: print('batch')\n"
        "print(loader.num_workers, loader.multiprocessing_context)\n",
    )
    done = runs.hotlap(text, "script.py")
    assert done.stdout == "batch\nbatch\n1 None\n", done.stderr
    assert "script.py:4 works at module level" in done.stderr

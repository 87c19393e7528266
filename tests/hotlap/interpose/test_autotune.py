"""One line at a script's top puts a frozen file in force, and says what comes too late."""

import pytest

from hotlap.frozen import load_frozen
from hotlap.interpose import Imposed

FILE = """\
settings: {num_workers: 1, optimizer_kernel: foreach, omp_wait_policy: passive, amp: none}
"""

SCRIPT = """\
import hotlap
hotlap.autotune("frozen.yaml")
hotlap.autotune("frozen.yaml")
import torch
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.ones(8, 4)), 4)
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for (x,) in loader:
    model(x).sum().backward()
    optimizer.step()
print(loader.num_workers, optimizer.param_groups[0]["foreach"])
"""


def test_one_line_puts_a_file_in_force_and_tells_what_comes_too_late(runs):
    runs.file("frozen.yaml", FILE)
    runs.file("script.py", SCRIPT)
    done = runs.plain("script.py")
    assert done.stdout == "1 True\n", done.stderr
    once, late = done.stderr.splitlines()
    assert once.startswith("hotlap: autotune(frozen.yaml) does nothing: settings are in force")
    assert late.startswith("hotlap: omp_wait_policy comes too late: ")
    assert "start this one with OMP_WAIT_POLICY=PASSIVE GOMP_SPINCOUNT=0" in late


def test_under_hotlap_run_that_line_gives_way_and_nothing_comes_too_late(runs):
    runs.file("script.py", SCRIPT)
    done = runs.hotlap(FILE, "script.py")
    assert done.stdout == "1 True\n", done.stderr
    assert done.stderr.count("does nothing") == 2 == len(done.stderr.splitlines())


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("settings: {num_workers: 0, pin_memory: true}\n", {"pin_memory"}),
        (
            "settings: {num_workers: 0, in_order: true, amp: none}\n"
            "provenance: {tuned: [num_workers, in_order]}\n",
            {"num_workers"},
        ),
        ("settings: {num_workers: 3}\nprovenance: {tuned: [no_such_setting]}\n", {"num_workers"}),
        # Tuned for a script that has three workers by itself
        (
            "settings: {num_workers: 3, amp: bf16}\nprovenance: {tuned: [amp], script: train.py}\n",
            {"amp"},
        ),
        ("settings: {}\n", set()),
    ],
)
def test_imposed_is_what_differs_from_the_default_or_was_tuned(tmp_path, text, names):
    path = tmp_path / "frozen.yaml"
    path.write_text(text)
    assert Imposed.of_frozen(load_frozen(path)).names == names

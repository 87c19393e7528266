"""torch is imported when the script does so, not before, and hotlap is in its place then."""

NOTHING = "settings: {}\n"

ORDER = """\
import importlib.util, os, sys
assert not any(name.partition(".")[0] in ("torch", "numpy") for name in sys.modules)
assert importlib.util.find_spec("torch") is not None  # asking is not importing
os.environ["OMP_NUM_THREADS"] = "1"
import torch
print(torch.get_num_threads(), torch.__spec__.loader is torch.__loader__)
print(type(torch.__loader__).__name__, len(sys.meta_path))
print(torch.utils.data.DataLoader.__init__.__code__.co_filename)
from hotlap.interpose import active
print(active())
"""


def test_what_a_script_sets_before_it_imports_torch_has_its_effect(runs):
    runs.file("order.py", ORDER)
    env = {"OMP_NUM_THREADS": ""}
    plain, ours = runs.plain("order.py", env=env), runs.hotlap(NOTHING, "order.py", env=env)
    assert ours.returncode == 0, ours.stderr
    *same, none = plain.stdout.splitlines()
    *there, interposition = ours.stdout.splitlines()
    assert there == same and same[0] == "1 True"
    assert none == "None" and "Interposition object" in interposition


def test_a_script_without_torch_is_told_what_was_not_in_force(runs):
    runs.file("empty.py", "")
    done = runs.hotlap("settings: {num_workers: 2}\n", "empty.py")
    assert done.returncode == 0
    assert done.stderr == "hotlap: num_workers was not in force: the script never imported torch\n"

"""Ranks that a script starts by itself are plain: what replicas share is put in force in none."""

import json
import subprocess

import pytest

from hotlap.interpose.reach import MODEL, reach
from hotlap.interpose.seen import OptimizerSeen, RootSeen, Seen

TRAINS = """
import json, os, subprocess, sys
import torch
import torch.distributed as dist

rank = int(os.environ.get("LOCAL_RANK", "0"))
if "OWN" in os.environ and not rank:  # as Lightning starts the others
    own = {**os.environ, "LOCAL_RANK": "1"}
    other = subprocess.Popen([sys.executable, os.path.abspath(sys.argv[0])], env=own)
dist.init_process_group("gloo", init_method=f"file://{os.getcwd()}/store", rank=rank, world_size=2)
torch.manual_seed(0)
model = torch.nn.Linear(4, 2)
dtypes = set()
model.register_forward_hook(lambda module, args, out: dtypes.add(str(out.dtype)))
wrapped = torch.nn.parallel.DistributedDataParallel(model)
optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    wrapped(torch.randn(3, 4)).square().sum().backward()
    optimizer.step()
with open(f"rank{rank}.json", "w") as file:
    found = [sorted(dtypes), optimizer.param_groups[0]["foreach"], model.weight.tolist()]
    json.dump(found, file)
dist.barrier()
if "OWN" in os.environ and not rank:
    assert other.wait() == 0
dist.destroy_process_group()
"""

SETTINGS = "settings: {amp: bf16, optimizer_kernel: foreach}\nprovenance: {tuned: []}\n"


def found(runs):
    return [json.loads((runs.folder / f"rank{rank}.json").read_text()) for rank in (0, 1)]


def test_ranks_that_the_script_starts_itself_train_as_the_first_one(runs):
    script = runs.file("train.py", TRAINS)
    done = runs.hotlap(SETTINGS, script, env={"OWN": "1"})
    assert done.returncode == 0, done.stderr
    for name in ("amp", "optimizer_kernel"):
        assert f"hotlap: {name} was not in force: the script trains in 2 processes" in done.stderr
    first, second = found(runs)
    assert first == second and first[:2] == [["torch.float32"], None]


@pytest.mark.parametrize("way", ["launched", "autotune"])
def test_where_all_ranks_have_hotlap_all_have_what_is_imposed(runs, way):
    path = runs.file("frozen.yaml", SETTINGS)
    line = f"import hotlap; hotlap.autotune({str(path)!r})\n"
    script = runs.file("train.py", (line if way == "autotune" else "") + TRAINS)
    if way == "autotune":
        done = runs.plain(script, env={"OWN": "1"})
    else:
        words, both = [*runs.command(path), str(script)], {"WORLD_SIZE": "2"}
        second = {**runs.env, **both, "LOCAL_RANK": "1"}
        with subprocess.Popen(words, cwd=runs.folder, env=second) as other:
            done = runs.plain(*words[1:], env={**both, "LOCAL_RANK": "0"})
            assert other.wait(250) == 0
    assert done.returncode == 0 and "not in force" not in done.stderr, done.stderr
    first, second = found(runs)
    assert first == second and first[:2] == [["torch.bfloat16"], True]


def test_the_search_leaves_such_settings_out():
    root = RootSeen("Net", "cpu", ["float32"], [4], True, n_forwards=3)
    optimizer = OptimizerSeen("SGD", ["for_loop", "foreach"], 3)
    seen = Seen(roots=[root], optimizers=[optimizer], n_optimizers_made=1, n_steps=3)
    names = {name for name, reason in reach(seen).items() if not reason}
    seen.n_ranks = 2
    left = {name for name, reason in reach(seen).items() if not reason}
    assert names - left == {*MODEL, "optimizer_kernel"}

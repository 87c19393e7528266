"""Scripts that something else starts or configures: torchrun, Hydra."""

import os
import socket
import sys

import pytest

from runners.process import ProcessRunner
from tests.hotlap.script.conftest import Scripts
from tests.hotlap.script.script_texts import TRAINING

DISTRIBUTED = """
import os
import torch.distributed as dist
from torch.utils.data.distributed import DistributedSampler

dist.init_process_group("gloo")
assert (dist.get_rank(), dist.get_world_size(), os.environ["LOCAL_RANK"]) == (0, 1, "0")
sampler = DistributedSampler(rows, seed=1)
loader = DataLoader(rows, batch_size=8, sampler=sampler)
model = nn.parallel.DistributedDataParallel(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for epoch in range(100_000):
    sampler.set_epoch(epoch)
    for x, y in loader:
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()
"""

HYDRA = """
import hydra

@hydra.main(version_base=None, config_path="conf", config_name="config")
def main(config):
    assert config == {"lr": 0.02, "model": {"width": 16, "name": "a=b, c"}, "extra": [1, 2]}, config
    optimizer.param_groups[0]["lr"] = config.lr
    train(100_000)

if __name__ == "__main__":
    main()
"""


def a_free_port():
    with socket.socket() as one:
        one.bind(("localhost", 0))
        return str(one.getsockname()[1])


def built(found):
    assert found.outcome == "ok", f"{found.reason}\n{found.traceback}"
    return next(event for event in found.events if event["event"] == "built")


def test_a_script_for_torchrun_with_its_variables(tmp_path):
    variables = {"RANK": "0", "WORLD_SIZE": "1", "LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "1"}
    variables |= {"MASTER_ADDR": "localhost", "MASTER_PORT": a_free_port()}
    with ProcessRunner(preload=["torch"], env={**os.environ, **variables}) as runner:
        scripts = Scripts(runner, tmp_path)
        facts = scripts.facts(TRAINING + DISTRIBUTED)
        assert [root["name"] for root in facts["script"]["roots"]] == ["DistributedDataParallel"]
        assert facts["n_epoch_steps"] == 8
        found = scripts.run(TRAINING + DISTRIBUTED, settings={"num_workers": 1, "amp": "bf16"})
    event = built(found)
    assert event["num_workers"] == 1 and event["notes"] == []


def test_a_script_with_hydra_and_its_own_conf(scripts):
    scripts.write("lr: 0.5\nmodel: {width: 4, name: x}\n", "conf/config.yaml")
    words = ["lr=0.02", "model.width=16", "model.name='a=b, c'", "+extra=[1,2]"]
    facts = scripts.facts(TRAINING + HYDRA, args=words)
    assert facts["optimizer"] == "SGD" and facts["spawn_error"] == ""
    event = built(scripts.run(TRAINING + HYDRA, args=words, settings={"num_workers": 1}))
    assert event["num_workers"] == 1 and event["notes"] == []


@pytest.mark.skipif(sys.version_info < (3, 11), reason="Python has no safe path before 3.11")
def test_with_a_safe_path_no_folder_goes_first(tmp_path):
    text = "import os, sys\nassert not {'', os.getcwd()} & set(sys.path), sys.path\n" + TRAINING
    with ProcessRunner(preload=["torch"], env={**os.environ, "PYTHONSAFEPATH": "1"}) as runner:
        built(Scripts(runner, tmp_path).run(text + "train(100_000)"))

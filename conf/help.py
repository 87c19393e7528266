"""The text of `--help`: what the script does, examples, the groups with their options, the keys."""

from __future__ import annotations

from conf.groups import HERE
from conf.session import Session

WHAT = {
    "config": """\
tune.py searches the runtime settings with which a PyTorch training runs fastest on this machine:
data loading, memory layout, precision, cuDNN, compilation, threads, kernels. It measures PyTorch's
defaults first, tries other settings in short timed windows, proves the winner against the defaults
in fresh processes, and writes it to a YAML file. What is learned does not change.""",
    "train": """\
train.py trains a model for as long as it takes, with PyTorch's defaults or with the settings that
tune.py has frozen. It keeps checkpoints and goes on from them.""",
}
EXAMPLES = {
    "config": """\
  python tune.py +model=resnet50                        search for ten minutes, prove, freeze
  python tune.py +model=resnet50 budget=1h freeze=best.yaml
  python tune.py +model=gpt_small search_space=[dataloader,amp]
  python tune.py +model=gpt_small search_space.num_workers.high=4 ~search_space.pin_memory
  python tune.py -m +model=resnet18,gpt_small           one study after another
  python tune.py --config-dir my_conf +model=mine       your own, in my_conf/model/mine.yaml
  python tune.py +model=resnet50 --cfg job              show the config and stop
  python tune.py script=train.py -- --epochs 1 --lr 0.1 a script of your own, unchanged; all that
                                                        follows -- is the script's
  python tune.py module=package.train budget=5m -- --epochs 1
  python tune.py resume=<folder of a study> budget=30m  go on
  python tune.py +model=digits_mlp sampler=brute_force record=table.jsonl
                                                        measure the whole space into a table
  python tune.py runner=replay runner.table=table.jsonl a study on that table, in seconds""",
    "train": """\
  python train.py +model=resnet50 settings=best.yaml    with the settings that tune.py froze
  python train.py +model=resnet50 settings.num_workers=4 epochs=3
  python train.py resume=<folder of a full run>         go on from its checkpoint
  python train.py +model=resnet50 --cfg job             show the config and stop""",
}


def help_text(session: Session) -> str:
    """All that `--help` prints."""
    width = max(len(group) for group in session.groups)
    groups = [f"  {group:<{width}}  {', '.join(o)}" for group, o in session.groups.items()]
    return "\n".join(
        [
            WHAT[session.kind],
            "\nExamples:",
            EXAMPLES[session.kind],
            "\nGroups and their options (group=option; +model=option):",
            *groups,
            "\nKeys, with their defaults (key=value):",
            *(f"  {line}" for line in _keys(session.kind)),
            "\nKeys of a group's option: --cfg job shows all, as in window.max_s=4.",
            "Hydra's own flags: --hydra-help.",
        ]
    )


def _keys(kind: str) -> list[str]:
    """The keys as the primary config itself has them, comments included."""
    lines = (HERE / f"{kind}.yaml").read_text(encoding="utf-8").splitlines()
    return lines[lines.index("# keys") + 1 :]

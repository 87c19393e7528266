"""Two import worlds: the tuner without torch and user code, the worker without the tuner's tools.

The worker's world is asserted where workers run, in tests/runners/test_process.py.
"""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

ROOMS = ("search_spaces", "objectives", "runners", "studies", "reports")
TORCH_FREE = (
    "settings",
    "aside",
    "cgroup",
    "elsewhere",
    "job",
    "lock",
    "machine",
    "room",
    "measurement",
    "environment",
    "elsewhere",
    "errors",
    "figures",
    "frozen",
    "hidden",
    "programs",
    "progress",
    "scratch_place",
    "spoken",
    "warm_up",
    "window_end",
)
"""Modules of hotlap that the tuner's process may import."""

ONE_WAY = ("interpose", "training", "script")
"""Packages of hotlap that stand on one another: each may import those before it."""

HEAVY = {"torch", "torchvision", "mlflow", "optuna"}


def modules_after(code, cwd, *words):
    """Top-level and dotted names of all that a clean Python has imported after `code`."""
    report = Path(cwd) / "modules.txt"
    at_exit = (
        "import atexit, sys\n"
        f"atexit.register(lambda: open({str(report)!r}, 'w').write('\\n'.join(sys.modules)))\n"
    )
    env = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", at_exit + code, *words],
        cwd=cwd,
        env=env,
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return set(report.read_text().split("\n")), done


def imports(path):
    """Dotted names that a file imports, wherever in it."""
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} has a relative import"
            found += [f"{node.module}.{alias.name}" for alias in node.names]
    return found


def files(folder):
    found = sorted((ROOT / folder).rglob("*.py"))
    assert found
    return found


@pytest.mark.parametrize("entry", ["tune", "train"])
def test_the_front_of_each_entry_needs_nothing_heavy(entry, tmp_path):
    modules, _ = modules_after(f"import {entry}", tmp_path)
    assert "hydra" in modules and not modules & HEAVY


def test_a_mistake_in_the_config_is_told_before_anything_heavy_is_imported(tmp_path):
    code = (
        "import tune\n"
        "assert tune.main(['+model=digits_mlp', 'budgt=5m'], 'config', tune.tune) == 2\n"
    )
    modules, done = modules_after(code, tmp_path)
    assert "budget" in done.stderr and not modules & HEAVY


def test_a_whole_study_imports_neither_torch_nor_mlflow_nor_the_users_code(users_folder):
    code = (
        "import sys, tune\n"
        "sys.argv[0] = 'tune.py'\n"
        "assert tune.main(sys.argv[1:], 'config', tune.tune) == 0\n"
    )
    words = (
        "--config-dir my_conf +model=make tracking=none n_trials=3 confirm.max_rounds=1 budget=2m "
        "search_space=[dataloader,optimizer] window.max_s=0.2 window.min_s=0.1 window.block_s=0.05 "
        "window.max_warmup_s=0.5 runner.preload=[torch]"
    )
    modules, done = modules_after(code, users_folder, *words.split())
    assert "optuna" in modules and "frozen settings:" in done.stdout
    assert not modules & {"torch", "torchvision", "mlflow", "my_job"}
    assert not any(name.startswith("hotlap.zoo") for name in modules)


def test_what_the_tuner_uses_of_hotlap_needs_no_torch(tmp_path):
    code = "\n".join(f"import hotlap.{name}" for name in TORCH_FREE)
    modules, _ = modules_after(code, tmp_path)
    assert not modules & {"torch", "optuna", "hydra", "mlflow"}


@pytest.mark.parametrize("path", files("hotlap"), ids=lambda path: str(path.relative_to(ROOT)))
def test_hotlap_stands_on_torch_numpy_and_yaml_alone(path):
    allowed = {"hotlap", "torch", "numpy", "yaml", *sys.stdlib_module_names}
    if "zoo" in path.parts:  # our own workloads, for those who installed what they need
        allowed |= {"torchvision", "sklearn", "PIL"}
    for name in imports(path):
        assert name.partition(".")[0] in allowed, f"{path.name} imports {name}"


@pytest.mark.parametrize("package", ONE_WAY)
def test_what_stands_between_script_and_torch_is_imported_in_one_direction(package):
    after = ONE_WAY[ONE_WAY.index(package) + 1 :]
    for path in files(f"hotlap/{package}"):
        for name in imports(path):
            assert not f"{name}.".startswith(tuple(f"hotlap.{one}." for one in after)), (
                f"{path.relative_to(ROOT)} imports {name}"
            )


@pytest.mark.parametrize("room", ROOMS)
def test_rooms_do_not_import_each_other_nor_torch_nor_the_config(room):
    for path in files(room):
        for name in imports(path):
            top, _, rest = name.partition(".")
            where = f"{path.relative_to(ROOT)} imports {name}"
            assert top not in {"torch", "torchvision", "conf", "hydra", "omegaconf"}, where
            if top in ROOMS and top != room:
                assert name.startswith("runners.protocol."), where
            if top == "hotlap" and rest:
                module = rest.partition(".")[0]
                assert module in (*TORCH_FREE, "__version__"), where


def test_only_suggest_asks_optuna_for_values():
    calls = [
        path.relative_to(ROOT)
        for room in ROOMS
        for path in files(room)
        if "trial.suggest_" in path.read_text()
    ]
    assert calls == [Path("search_spaces/suggest.py")]

import subprocess
import sys
from pathlib import Path

import hotlap.zoo

ZOO = Path(hotlap.zoo.__file__).parent


def loaded(*modules):
    program = f"import sys, {', '.join(modules)}; print(*sys.modules)"
    run = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ZOO.parents[1],
        capture_output=True,
        text=True,
        check=True,
    )
    return set(run.stdout.split())


def test_the_zoo_is_imported_without_torchvision_sklearn_or_the_tuner():
    modules = [f"hotlap.zoo.{path.stem}" for path in ZOO.glob("*.py") if path.stem != "__init__"]
    found = loaded(*modules)
    assert {"hotlap.zoo.vision", "torch"} <= found
    assert not {"torchvision", "sklearn", "PIL", "optuna", "hydra", "mlflow"} & found


def test_files_can_be_generated_without_torch():
    assert "torch" not in loaded("hotlap.zoo.jpegs", "hotlap.zoo.cache", "hotlap.zoo.data")

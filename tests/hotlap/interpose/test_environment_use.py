import pytest

from hotlap.interpose.environment_use import MAX_ENTRIES, needs_fresh, written


@pytest.fixture
def asked(tmp_path):
    def ask(text, **beside):
        for name, other in beside.items():
            path = tmp_path / f"{name.replace('__in__', '/')}.py"
            path.parent.mkdir(exist_ok=True)
            path.write_text(other)
        (tmp_path / "train.py").write_text(text)
        return needs_fresh(str(tmp_path / "train.py"), False)

    return ask


@pytest.mark.parametrize(
    "text",
    [
        "import os\nos.environ['OMP_NUM_THREADS'] = '1'",
        "import os\nos.environ['PATH'] += ':x'",
        "import os as o\no.environ.setdefault('A', '1')",
        "import os\nos.environ.update(A='1')",
        "import os\nos.environ.pop('A')",
        "import os\ndel os.environ['A']",
        "import os\nos.environ |= {'A': '1'}",
        "import os\nos.environ = {}",
        "import os\nenv = os.environ\nenv['A'] = '1'",
        "import os\nchange(os.environ)",
        "import os\nsubprocess.run('x', env=os.environ)",
        "import os\nos.environb[b'A'] = b'1'",
        "import os\nos.putenv('A', '1')",
        "from os import putenv",
        "from os import environ\nenviron['A'] = '1'",
        "from os import environ as e\ne['A'] = '1'",
        "from os import *",
        "import os\ngetattr(os, 'environ')['A'] = '1'",
        "from dotenv import load_dotenv",
        "import dotenv",
        "def main():\n    import os\n    for k in 'ab': os.environ[k] = '1'",
        "print 'Python 2'",
        "x = '\0'",
    ],
)
def test_a_script_that_may_write_its_environment_needs_a_fresh_interpreter(asked, text):
    assert asked(text)


@pytest.mark.parametrize(
    "text",
    [
        "import torch",
        "import os\nrank = os.environ.get('RANK') or os.environ['LOCAL_RANK']",
        "import os\nif 'A' in os.environ: print(os.environ.get('A'))",
        "import os\nenv = dict(os.environ, A='1')\nenv = {**os.environ}\nenv = os.environ.copy()",
        "import os\nfor name in os.environ: print(name, len(os.environ), f'{os.environ}')",
        "from os import environ\nx = environ.get('A')",
        "import os\nf(**os.environ)",
        "text = 'a docstring about os.environ and \\d'",
        "'\\d'",
    ],
)
def test_reading_it_needs_none(asked, text):
    assert not asked(text)


def test_files_that_it_imports_are_looked_at_and_others_are_not(asked):
    writes = "import os\nos.environ['A'] = '1'"
    assert not asked("import utils", utils="", other=writes)
    assert asked("import utils", utils=writes)
    assert asked(
        "from nets import *", nets__in____init__="from .deep import x", nets__in__deep=writes
    )
    assert not asked("import a", a="import b", b="from a import other")


def test_one_that_runs_text_found_at_run_time_may_mean_any_file_beside_it(asked):
    writes = "import os\nos.environ['A'] = '1'"
    runs = "exec(open('settings/' + name).read())"
    assert not asked(runs, settings__in__one="lr = 1")
    assert asked(runs, settings__in__two=writes)


def test_what_is_on_the_users_own_import_path_counts(asked, tmp_path, monkeypatch):
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "own.py").write_text("import os\nos.environ['A'] = '1'")
    assert not asked("import own")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "lib"))
    assert asked("import own")


def test_in_doubt_a_fresh_one(asked, tmp_path):
    assert needs_fresh("package.train", True)
    assert needs_fresh(str(tmp_path / "gone.py"), False)
    (tmp_path / "console").write_text("#!/usr/bin/python\nimport torch")
    assert needs_fresh(str(tmp_path / "console"), False)
    for i in range(MAX_ENTRIES):
        (tmp_path / f"{i}.jpg").touch()
    assert not asked("import torch")
    assert asked("eval('1')")


def test_a_module_with_an_installed_ones_name_needs_a_fresh_interpreter(asked):
    assert asked("import helper", helper="import yaml", yaml="")
    assert asked("import random", random="")
    assert not asked("import torch, mine", test="", random="", yaml="", mine="from . import x")


def test_a_module_that_is_a_link_out_of_the_folder_is_looked_at_like_others(asked, tmp_path):
    (tmp_path / "common").mkdir()
    (tmp_path / "train").mkdir()
    real = tmp_path / "common" / "utils.py"
    (tmp_path / "train" / "utils.py").symlink_to("../common/utils.py")
    real.write_text("")
    (tmp_path / "train" / "train.py").write_text("import utils")
    assert not needs_fresh(str(tmp_path / "train" / "train.py"), False)
    real.write_text("import os\nos.environ['A'] = '1'")
    assert needs_fresh(str(tmp_path / "train" / "train.py"), False)
    (tmp_path / "train" / "train.py").write_text("import yaml")
    (tmp_path / "train" / "yaml.py").symlink_to("../common/other.py")
    (tmp_path / "common" / "other.py").write_text("")
    assert needs_fresh(str(tmp_path / "train" / "train.py"), False)


def test_variables_that_were_written_and_matter_are_named():
    before = {"OMP_NUM_THREADS": "1", "PATH": "a", "MKL_CBWR": "AUTO"}
    after = {"OMP_NUM_THREADS": "2", "PATH": "b", "PYTORCH_CUDA_ALLOC_CONF": "x", "KMP_X": "1"}
    assert written(before, after) == ["MKL_CBWR", "OMP_NUM_THREADS", "PYTORCH_CUDA_ALLOC_CONF"]
    assert written(after, after) == []
    assert written({}, {"PYTORCH_NVML_BASED_CUDA_CHECK": "1"}) == []  # Lightning, at its import

"""Facts about this machine that need neither torch nor the tuner."""

import json

import pytest

from hotlap.machine import cpu_facts, cpu_flags, nvidia_driver


def test_facts_are_plain_data():
    facts = cpu_facts()
    assert json.loads(json.dumps(facts)) == facts
    assert facts["cpu"] and 1 <= facts["physical_cores"] and 1 <= facts["cores"]
    assert all(isinstance(flag, str) for flag in cpu_flags())


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.161.08  Mon Feb\n", "535.161.08"),
        (
            "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.86.15  Release Build\n"
            "GCC version:  gcc version 12.3.0 (Ubuntu 12.3.0-1ubuntu1~22.04)\n",
            "570.86.15",
        ),
        ("", None),
    ],
)
def test_the_drivers_version_is_read_where_linux_has_it(tmp_path, text, version):
    (tmp_path / "version").write_text(text)
    assert nvidia_driver(tmp_path / "version") == version
    assert nvidia_driver(tmp_path / "none") is None

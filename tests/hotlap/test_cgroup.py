from pathlib import Path

import pytest

from hotlap.cgroup import cpu_quota, memory_limit


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")
    return root


def test_version_2_tightest_group_of_ours_and_all_above_holds(tmp_path: Path) -> None:
    root = write(
        tmp_path,
        {
            "proc/self/cgroup": "0::/pod/box",
            "sys/fs/cgroup/pod/cpu.max": "150000 100000",
            "sys/fs/cgroup/pod/box/cpu.max": "max 100000",
            "sys/fs/cgroup/pod/memory.max": "max",
            "sys/fs/cgroup/pod/box/memory.max": "1073741824",
        },
    )
    assert cpu_quota(root) == 1.5
    assert memory_limit(root) == 1 << 30


def test_version_1_quota_and_limit_are_read(tmp_path: Path) -> None:
    root = write(
        tmp_path,
        {
            "proc/self/cgroup": "4:memory:/box\n2:cpu,cpuacct:/box\n0::/",
            "sys/fs/cgroup/cpu,cpuacct/box/cpu.cfs_quota_us": "400000",
            "sys/fs/cgroup/cpu,cpuacct/box/cpu.cfs_period_us": "100000",
            "sys/fs/cgroup/memory/box/memory.limit_in_bytes": "2147483648",
        },
    )
    assert cpu_quota(root) == 4.0
    assert memory_limit(root) == 2 << 30


def test_container_that_shows_its_own_group_as_the_root_is_limited_too(tmp_path: Path) -> None:
    root = write(
        tmp_path,
        {
            "proc/self/cgroup": "2:cpu:/docker/0123456789\n4:memory:/docker/0123456789",
            "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "200000",
            "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000",
            "sys/fs/cgroup/memory/memory.limit_in_bytes": "1048576",
        },
    )
    assert cpu_quota(root) == 2.0
    assert memory_limit(root) == 1 << 20


@pytest.mark.parametrize(
    "files",
    [
        {},
        {"proc/self/cgroup": "0::/", "sys/fs/cgroup/cpu.max": "max 100000"},
        {
            "proc/self/cgroup": "2:cpu:/\n4:memory:/",
            "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1",
            "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000",
            "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712",
        },
    ],
)
def test_no_limit_is_none(tmp_path: Path, files: dict[str, str]) -> None:
    root = write(tmp_path, files)
    assert cpu_quota(root) is None
    assert memory_limit(root) is None

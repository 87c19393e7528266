import os
import signal
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

import pytest

from hotlap.overlay import not_for_a_user
from hotlap.scratch import scratch
from hotlap.scratch_place import PREFIX, bases, remove_left
from tests.conftest import ROOT

HERE = Path(__file__).parent
NOBODY = 65534
AS_ROOT = sys.platform == "linux" and os.geteuid() == 0

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="overlayfs is a part of Linux")
root_only = pytest.mark.skipif(not AS_ROOT, reason="only root can mount what this needs")


AS_USER = """
import os, sys
from hotlap.scratch_place import remove_left
if int(sys.argv[1]) != os.geteuid():
    os.setgid(int(sys.argv[1]))
    os.setuid(int(sys.argv[1]))
remove_left()
"""


def clean_up(user):
    """What the server does, which is the trial's own user."""
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, "-c", AS_USER, str(user)], env=env, check=True)


@pytest.fixture(scope="module", autouse=True)
def nothing_left():
    yield
    for user in (os.geteuid(), NOBODY if AS_ROOT else os.geteuid()):
        clean_up(user)


@pytest.fixture
def folder():
    """A working folder that any user can reach, unlike pytest's own."""
    with tempfile.TemporaryDirectory(prefix="working,folder:") as name:
        path = Path(name)
        path.chmod(0o755)
        for part in ("data/deep", "outputs/trial"):
            (path / part).mkdir(parents=True)
        (path / "old.txt").write_text("old")
        (path / "data/sample.txt").write_text("sample")
        yield path


@pytest.fixture(params=["root", "user"])
def trial(request, folder):
    """Starts a trial in the folder, as root and as a user who is not."""
    if request.param == "root" and not AS_ROOT:
        pytest.skip("not root")
    user = 0 if request.param == "root" else NOBODY if AS_ROOT else os.geteuid()
    group = user if AS_ROOT else os.getegid()
    for path in (folder, *folder.rglob("*")):
        os.chown(path, user, group)
    return lambda code, **more: run(code, folder, user, **more)


def start(code, folder, user=0, before=(), **more):
    words = [sys.executable, str(HERE / "scratch_trial.py"), str(user)]
    return subprocess.Popen(
        [*before, *words, str(folder), textwrap.dedent(code)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        **more,
    )


def run(code, folder, user=0, **more):
    process = start(code, folder, user, **more)
    said, _ = process.communicate(timeout=60)
    if process.returncode == 3 and "refuses" in said:
        pytest.skip(said)
    assert process.returncode == 0, said + (folder / "events.jsonl").read_text()
    return said


def files(folder):
    return {
        str(path.relative_to(folder)): path.read_text() if path.is_file() else None
        for path in folder.rglob("*")
    }


def places():
    return {path for base in bases() for path in Path(base).glob(f"{PREFIX}*")}


def test_what_a_script_writes_is_seen_by_it_and_vanishes(trial, folder):
    before = files(folder)
    said = trial("""
        import shutil, subprocess
        assert open("data/sample.txt").read() == "sample"
        open("old.txt", "a").write(" and changed")
        open("data/deep/new.txt", "w").write("new")
        os.remove("data/sample.txt")
        shutil.move("data/deep", "moved")
        os.makedirs("images/a")
        subprocess.run("cat old.txt moved/new.txt; echo more > by_a_child; ls data", shell=True)
        if os.fork() == 0:
            assert os.path.exists("by_a_child") and os.getcwd() == folder
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.wait()[1]) == 0
    """)
    assert said == "old and changednew"
    assert files(folder) == {**before, "events.jsonl": ""}


def test_files_opened_before_stay_real_and_even_the_trials_own_folder_is_a_copy(trial, folder):
    trial("""
        shutil.rmtree("outputs")
        os.remove("events.jsonl")
        os.write(2, b"an event")
    """)
    assert (folder / "events.jsonl").read_text() == "an event"
    assert (folder / "outputs/trial").is_dir()


def test_the_bytes_that_were_written_are_counted_old_parts_of_changed_files_too(trial, folder):
    (folder / "data/sample.txt").write_bytes(b"0" * 70_000)
    said = trial("""
        print(covered.written_bytes())
        Path("new").write_bytes(b"1" * 100_000)
        with open("data/sample.txt", "ab") as file:
            file.write(b"1")
        os.remove("old.txt")
        print(covered.written_bytes())
    """)
    assert said.split() == ["0", "170001"]


def test_the_user_can_do_no_more_and_no_less_than_before(trial, folder):
    said = trial("""
        import subprocess
        CAPABILITIES = [line for line in open("/proc/self/status") if line.startswith("CapEff")]
        print(os.geteuid() == int(user), os.stat(".").st_mode & 0o777 == 0o755)
        print(os.geteuid() == 0 or int(CAPABILITIES[0].split()[1], 16) == 0)
        Path("closed").touch(mode=0o400)
        print(os.geteuid() == 0 or not os.access("closed", os.W_OK))
    """)
    assert said.split() == ["True"] * 4


def test_a_killed_trials_files_are_removed_when_it_is_gone_and_not_before(trial, folder):
    code = """
        Path("checkpoint").write_bytes(b"1" * 100_000)
        os.mkdir("locked", mode=0o000)
        os.symlink("/etc", "link")
        print("written", flush=True)
        import time
        time.sleep(600)
    """
    user = folder.stat().st_uid
    with start(code, folder, user) as process:
        line = process.stdout.readline()
        if "refuses" in line:
            pytest.skip(line)
        assert line == "written\n"
        remove_left()
        (place,) = (path for path in places() if path.name.startswith(f"{PREFIX}{process.pid}-"))
        process.send_signal(signal.SIGKILL)
    clean_up(user)
    assert not place.exists()
    assert os.path.isdir("/etc") and os.access("/etc", os.X_OK)


@root_only
@pytest.mark.skipif(
    any(Path(place).is_relative_to(base) for base in bases() for place in (__file__, sys.prefix)),
    reason="what hides the disks would hide hotlap too",
)
def test_memory_is_taken_where_no_disk_can_hold_the_files(folder, tmp_path):
    (tmp_path / "folder").mkdir()
    disks = [f"mount -t tmpfs none {base}" for base in bases()]
    # The folder itself lies on one of them.
    script = " && ".join(["mount --bind $0 /mnt", *disks, 'exec "$@"'])
    said = run(
        """
        Path("new").write_text("new")
        print(covered.written_bytes(), open("/proc/mounts").read().count("hotlap /mnt tmpfs"))
        """,
        Path("/mnt"),
        before=["unshare", "-m", "sh", "-c", script, str(folder)],
    )
    assert said.split() == ["3", "1"]
    assert not (folder / "new").exists()


@root_only
def test_what_is_mounted_in_the_folder_is_there_and_stays_real(folder):
    (folder / "mounted").mkdir()
    script = 'mount -t tmpfs none $0 && mkdir $0/trial && echo 1 > $0/seen && exec "$@"'
    said = run(
        "print(os.listdir('mounted'), covered.real); Path('mounted/new').touch()",
        folder,
        before=["unshare", "-m", "sh", "-c", script, str(folder / "mounted")],
    )
    assert "seen" in said and f"('{folder}/mounted',)" in said


@root_only
@pytest.mark.parametrize("what", ["mounted", "others"])
def test_a_user_is_told_what_only_root_can_cover(folder, what):
    (folder / "mounted").mkdir(mode=0o777)
    (folder / "mounted").chmod(0o777)
    for path in (folder, folder / "outputs/trial"):
        os.chown(path, NOBODY, NOBODY)
    mount = "mount -t tmpfs none $0 && " if what == "mounted" else ""
    before = ["unshare", "-m", "sh", "-c", f'{mount}exec "$@"', str(folder / "mounted")]
    with start("", folder, NOBODY, before=before) as process:
        said = process.stdout.read()
    assert process.returncode == 3
    words = {"mounted": "is mounted in", "others": "belongs to another user or group"}
    assert words[what] in said and "only root" in said


@root_only
def test_without_the_right_to_mount_the_real_folder_is_used_and_the_reason_told(folder):
    drop = ["setpriv", "--bounding-set=-sys_admin", "--inh-caps=-sys_admin"]
    with start("", folder, before=drop) as process:
        said = process.stdout.read()
    assert process.returncode == 3
    assert "refuses it (unshare: Operation not permitted" in said


def test_a_folder_that_cannot_be_covered_is_told():
    code = "from pathlib import Path; from hotlap.scratch import scratch;"
    said = subprocess.check_output(
        [sys.executable, "-c", f"{code}print(scratch(Path('/')).why_not)"],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        text=True,
    )
    assert "the working folder is /" in said


def test_a_process_with_threads_is_not_taken_apart(tmp_path):
    import threading

    done = threading.Event()
    thread = threading.Thread(target=done.wait)
    thread.start()
    try:
        assert "more than one thread" in scratch(tmp_path).why_not
    finally:
        done.set()
        thread.join()


def test_a_file_that_vanishes_meanwhile_is_no_reason(tmp_path, monkeypatch):
    (tmp_path / "gone").mkdir()
    (tmp_path / "also").write_text("")
    listed = os.listdir

    def then_remove(path):
        names = listed(path)
        if names:
            (tmp_path / "gone").rmdir()
            (tmp_path / "also").unlink()
        return names

    monkeypatch.setattr(os, "listdir", then_remove)
    assert not_for_a_user(tmp_path) == "" and listed(tmp_path) == []

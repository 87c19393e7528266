"""Every setting has its effect in torch: on a whole workload and piece by piece."""

import json
import os
import subprocess
import sys
from collections import namedtuple
from dataclasses import replace

import pytest
import torch
from torch import nn
from torch.utils.data import Dataset, IterableDataset

import hotlap
from hotlap.apply import Applied, apply, apply_process
from hotlap.in_force import batch_layouts, disagreements, in_force
from hotlap.settings import Settings

F = nn.functional


class Images(Dataset):
    def __init__(self, n=32):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        generator = torch.Generator().manual_seed(i)
        return torch.randn(3, 8, 8, generator=generator), i % 2


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3)
        self.head = nn.Linear(4 * 36, 2)
        self.seen = []

    def forward(self, x):
        self.seen.append((x.is_contiguous(memory_format=torch.channels_last), x.shape[0]))
        y = self.conv(x)
        self.dtype = y.dtype
        return self.head(y.flatten(1))


def loss(model, batch):
    x, y = batch
    return F.cross_entropy(model(x), y)


def workload(**changes):
    torch.manual_seed(0)
    values = {
        "model": Net(),
        "dataset": Images(),
        "loss": loss,
        "optimizer": lambda parameters, **kernel: torch.optim.SGD(parameters, lr=0.1, **kernel),
        "batch_size": 8,
        "shuffle": False,
    }
    return hotlap.Workload(**{**values, **changes})


@pytest.fixture(autouse=True)
def flags_as_before():
    before = (torch.get_num_threads(), torch.get_float32_matmul_precision())
    yield
    apply_process(Settings())
    torch.set_num_threads(before[0])
    torch.set_float32_matmul_precision(before[1])
    for switch in ("math", "flash", "mem_efficient", "cudnn"):
        getattr(torch.backends.cuda, f"enable_{switch}_sdp")(True)


@pytest.mark.parametrize(
    "name, value",
    [
        ("memory_format", "channels_last"),
        ("amp", "bf16"),
        ("float32_matmul_precision", "high"),
        ("float32_matmul_precision", "medium"),
        ("cudnn_allow_tf32", False),
        ("cudnn_benchmark", True),
        ("cudnn_benchmark_limit", 0),
        ("cudnn_deterministic", True),
        ("intraop_threads", 2),
        ("optimizer_kernel", "for_loop"),
        ("optimizer_kernel", "foreach"),
        ("optimizer_kernel", "fused"),
        ("sdpa_backend", "math"),
        ("num_workers", 1),
    ],
)
def test_a_setting_is_told_by_torch_itself_after_apply(name, value):
    before = in_force(apply(workload(), Settings()))
    assert before[name] != value
    applied = apply(workload(), Settings(**{name: value}))
    assert in_force(applied)[name] == value
    assert disagreements(applied) == [] and applied.notes == []
    assert torch.isfinite(applied.step(next(iter(applied.loader))))
    apply_process(Settings())


def test_defaults_leave_nothing_to_disagree_about():
    applied = apply(workload(), Settings())
    assert disagreements(applied) == []
    assert applied.n_epoch_steps == 4 and applied.device == torch.device("cpu")
    assert len(list(applied.loader)) == len(list(applied.loader)) == 4


def test_a_disagreement_is_found():
    applied = apply(workload(), Settings(cudnn_benchmark=True))
    torch.backends.cudnn.benchmark = False
    assert disagreements(applied) == ["cudnn_benchmark should be True, torch says False"]


@pytest.mark.parametrize("first", ["import hotlap.apply", "from hotlap import apply", "pass"])
def test_hotlap_apply_can_be_called_whoever_imported_what_before(first):
    code = f"{first}\nimport hotlap\nassert callable(hotlap.apply)\nfrom hotlap import apply\n"
    code += "assert callable(apply) and apply is hotlap.apply and callable(apply.apply_process)\n"
    code += "from hotlap.apply import apply as f\nassert callable(f)\nhotlap.loader, hotlap.Step"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_every_public_name_is_there():
    for name in hotlap.__all__:
        assert getattr(hotlap, name) is not None


# Memory layout


class Mixed(nn.Module):
    def __init__(self):
        super().__init__()
        self.image, self.series = nn.Conv2d(3, 4, 3), nn.Conv1d(4, 4, 3)
        self.clip = nn.Conv3d(2, 4, 3)

    def forward(self, image, series, clip):
        return self.image(image).mean() + self.series(series).mean() + self.clip(clip).mean()

    def to(self, device):
        return super().to(device)


class Samples(Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, i):
        clip = torch.randn(2, 4, 8, 8)
        return {"image": torch.randn(3, 8, 8), "series": torch.randn(4, 20), "clip": clip}


def test_only_4d_parameters_and_inputs_become_channels_last_even_if_to_is_overridden():
    mixed = workload(model=Mixed(), dataset=Samples(), loss=lambda model, batch: model(**batch))
    applied = apply(mixed, Settings(memory_format="channels_last"))
    assert applied.model.image.weight.stride() == (27, 1, 9, 3)
    assert applied.model.series.weight.is_contiguous()
    assert applied.model.clip.weight.is_contiguous()
    batch = next(iter(applied.loader))
    assert batch_layouts(applied, batch) == [
        ((8, 3, 8, 8), "channels_last"),
        ((8, 4, 20), "contiguous"),
        ((8, 2, 4, 8, 8), "contiguous"),
    ]
    applied.step(batch)
    assert applied.model.image.weight.grad.stride() == (27, 1, 9, 3)


def test_a_model_without_4d_parameters_gets_a_note_about_channels_last():
    applied = apply(
        workload(model=nn.Sequential(nn.Flatten(), nn.Linear(192, 2))),
        Settings(memory_format="channels_last"),
    )
    assert [note["setting"] for note in applied.notes] == ["memory_format"]


def test_the_model_sees_channels_last_batches_only_when_asked():
    for layout in ("contiguous", "channels_last"):
        applied = apply(workload(), Settings(memory_format=layout))
        applied.step(next(iter(applied.loader)))
        assert applied.model.seen == [(layout == "channels_last", 8)]


Pair = namedtuple("Pair", "x y")


class Bag:
    def __init__(self, x):
        self.x = x

    def to(self, device):
        return Bag(self.x.to(device))


def test_to_device_keeps_the_kind_of_every_container_and_moves_every_tensor():
    batch = {
        "pair": Pair(torch.zeros(2, 3, 4, 4), [torch.zeros(2), "text"]),
        "bag": Bag(torch.zeros(1)),
        "n": 3,
    }
    moved = hotlap.to_device(batch, "meta", Settings(memory_format="channels_last"))
    assert isinstance(moved["pair"], Pair) and isinstance(moved["pair"].y, list)
    assert moved["pair"].y[1] == "text" and moved["n"] == 3
    assert moved["bag"].x.device.type == moved["pair"].y[0].device.type == "meta"
    assert moved["pair"].x.is_contiguous(memory_format=torch.channels_last)


def test_non_blocking_reaches_the_copy():
    class Spy:
        def to(self, device, non_blocking):
            return non_blocking

    assert hotlap.to_device([Spy()], "cpu", Settings(non_blocking=True)) == [True]
    assert hotlap.to_device([Spy()], "cpu", Settings()) == [False]


# Precision


@pytest.mark.parametrize(
    "amp, dtype", [("none", torch.float32), ("bf16", torch.bfloat16), ("fp16", torch.float16)]
)
def test_forward_computes_in_the_autocast_dtype(amp, dtype):
    applied = apply(workload(), Settings(amp=amp))
    applied.step(next(iter(applied.loader)))
    assert applied.model.dtype == dtype
    assert applied.model.conv.weight.dtype == torch.float32
    assert applied.scaler.is_enabled() == (amp == "fp16")


@pytest.mark.parametrize("kernel", ["default", "fused"])
def test_skipped_updates_are_counted_with_every_kernel(kernel):
    def exploding(model, batch):
        return loss(model, batch) * float("inf")

    applied = apply(workload(loss=exploding), Settings(amp="fp16", optimizer_kernel=kernel))
    before = applied.model.head.weight.detach().clone()
    for batch in applied.loader:
        applied.step(batch)
    assert applied.n_skipped_steps() == 4
    assert torch.equal(applied.model.head.weight, before)
    good = apply(workload(), Settings(optimizer_kernel=kernel))
    for batch in good.loader:
        good.step(batch)
    assert good.n_skipped_steps() == 0


def test_legacy_reads_work_after_a_script_used_the_new_tf32_switches():
    code = """
import torch
from hotlap.apply import apply_process
from hotlap.settings import Settings
if hasattr(torch.backends, "fp32_precision"):
    torch.backends.fp32_precision = "tf32"
    torch.backends.cudnn.conv.fp32_precision = "ieee"
for precision, tf32 in (("highest", False), ("high", True), ("medium", False)):
    apply_process(Settings(float32_matmul_precision=precision, cudnn_allow_tf32=tf32))
    assert torch.get_float32_matmul_precision() == precision
    assert torch.backends.cuda.matmul.allow_tf32 == (precision != "highest")
    assert torch.backends.cudnn.allow_tf32 == tf32
    if hasattr(torch.backends.cudnn, "conv"):
        assert (torch.backends.cudnn.conv.fp32_precision == "tf32") == tf32
        assert (torch.backends.cudnn.rnn.fp32_precision == "tf32") == tf32
"""
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)


# Compilation


def test_compile_works_in_place_and_passes_the_mode(monkeypatch):
    asked = {}
    real = nn.Module.compile

    def compile(self, *args, **kwargs):
        asked.update(kwargs)
        real(self, backend="eager")

    monkeypatch.setattr(nn.Module, "compile", compile)
    made = workload()
    keys = list(made.model.state_dict())
    applied = apply(made, Settings(compile_mode="max-autotune"))
    assert asked == {"mode": "max-autotune"}
    assert applied.model is made.model and isinstance(applied.model, Net)
    assert list(applied.model.state_dict()) == keys
    torch._dynamo.reset()
    applied.step(next(iter(applied.loader)))
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] > 0


# Threads and the environment


def run_code(code, **env):
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **env}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done


def test_interop_threads_are_set_and_a_second_call_is_a_note_and_no_crash():
    code = """
import json, torch
from hotlap.apply import apply_process
from hotlap.settings import Settings
first = apply_process(Settings(interop_threads=3, intraop_threads=2))
again = apply_process(Settings(interop_threads=3))
other = apply_process(Settings(interop_threads=4))
counts = [torch.get_num_interop_threads(), torch.get_num_threads()]
print(json.dumps([first, again, [n["setting"] for n in other], counts]))
"""
    assert json.loads(run_code(code).stdout) == [[], [], ["interop_threads"], [3, 2]]


@pytest.mark.parametrize("policy, word", [("active", "ACTIVE"), ("passive", "PASSIVE")])
def test_openmp_reads_the_wait_policy_of_the_environment(policy, word):
    from hotlap.environment import process_environment

    env = process_environment(Settings(omp_wait_policy=policy, intraop_threads=2), os.environ)
    code = f"""
import torch
from hotlap.apply import apply_process
from hotlap.settings import Settings
assert apply_process(Settings(omp_wait_policy={policy!r})) == []
"""
    shown = run_code(code, **env, OMP_DISPLAY_ENV="VERBOSE").stderr
    if "GOMP_SPINCOUNT" not in shown:
        pytest.skip("torch does not use GNU OpenMP here")
    assert f"OMP_WAIT_POLICY = '{word}'" in shown
    assert "OMP_NUM_THREADS = '2'" in shown
    assert f"GOMP_SPINCOUNT = '{env['GOMP_SPINCOUNT']}'" in shown


def test_environment_settings_that_the_process_did_not_start_with_are_noted(monkeypatch):
    names = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF")
    for name in names:
        monkeypatch.delenv(name, raising=False)
    settings = Settings(omp_wait_policy="passive", cuda_alloc_conf="expandable_segments:True")
    notes = apply_process(settings)
    assert [note["setting"] for note in notes] == ["omp_wait_policy", "cuda_alloc_conf"]
    assert "OMP_WAIT_POLICY=PASSIVE GOMP_SPINCOUNT=0" in notes[0]["reason"]
    for name, value in zip(names, ("PASSIVE", "0", *2 * [settings.cuda_alloc_conf]), strict=True):
        monkeypatch.setenv(name, value)
    assert apply_process(settings) == []


# One step


def gradients(applied, batch):
    applied.step(batch)
    return [parameter.grad.clone() for parameter in applied.model.parameters()]


@pytest.mark.parametrize("n", [1, 3, 8, 100])
def test_micro_batches_give_the_whole_batch_s_gradient_and_loss(n):
    batch = next(iter(apply(workload(), Settings()).loader))
    whole = apply(workload(), Settings())
    cut = apply(workload(), Settings(micro_batch_size=n))
    for expected, found in zip(gradients(whole, batch), gradients(cut, batch), strict=True):
        torch.testing.assert_close(found, expected)
    torch.testing.assert_close(cut.step(batch), whole.step(batch))
    assert max(size for _, size in cut.model.seen) == min(n, 8)


def test_a_batch_that_cannot_be_cut_is_refused_and_split_helps():
    def transposed(samples):
        x, y = zip(*samples, strict=True)
        return torch.stack(x, dim=1), torch.tensor(y)  # shape (3, batch, 8, 8)

    values = {
        "collate_fn": transposed,
        "loss": lambda model, batch: loss(model, (batch[0].transpose(0, 1), batch[1])),
        "n_samples": lambda batch: len(batch[1]),
    }
    settings = Settings(micro_batch_size=2)
    applied = apply(workload(**values), settings)
    with pytest.raises(hotlap.errors.InvalidTrial, match=r"split"):
        applied.step(next(iter(applied.loader)))

    def split(batch, n):
        return zip(batch[0].split(n, dim=1), batch[1].split(n), strict=True)

    applied = apply(workload(**values, split=split), settings)
    applied.step(next(iter(applied.loader)))
    assert [size for _, size in applied.model.seen] == [2, 2, 2, 2]


def test_micro_batches_are_refused_where_batch_norm_would_learn_something_else():
    model = nn.Sequential(nn.BatchNorm2d(3), Net())
    with pytest.raises(hotlap.errors.InvalidTrial, match="batch norm"):
        apply(workload(model=model), Settings(micro_batch_size=2))
    model[0].eval()  # fixed statistics do not depend on the batch
    applied = apply(workload(model=model), Settings(micro_batch_size=2))
    applied.step(next(iter(applied.loader)))


def test_set_to_none_decides_what_zero_grad_leaves():
    seen = []

    def spying(model, batch):
        seen.append(model.conv.weight.grad)
        return loss(model, batch)

    for flag in (True, False):
        applied = apply(workload(loss=spying), Settings(set_to_none=flag))
        batch = next(iter(applied.loader))
        seen.clear()
        applied.step(batch)
        applied.step(batch)
        assert (seen[1] is None) == flag


def test_training_with_settings_lowers_the_loss_and_returns_it_detached():
    applied = apply(workload(), Settings(memory_format="channels_last", optimizer_kernel="fused"))
    batch = next(iter(applied.loader))
    losses = [applied.step(batch) for _ in range(20)]
    assert losses[-1] < losses[0] and not losses[0].requires_grad


def test_an_optimizer_that_evaluates_the_loss_itself_is_trained_too():
    made = workload(optimizer=lambda parameters, **kernel: torch.optim.LBFGS(parameters, lr=0.1))
    applied = apply(made, Settings())
    batch = next(iter(applied.loader))
    first = applied.step(batch)
    assert applied.step(batch) < first
    with pytest.raises(hotlap.errors.InvalidTrial, match="LBFGS"):
        apply(made, Settings(amp="fp16"))


class Attending(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(16))

    def forward(self, x):
        self.flash = torch.backends.cuda.flash_sdp_enabled()
        x = x * self.weight
        return F.scaled_dot_product_attention(x, x, x).mean()


class Tokens(Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, i):
        return torch.randn(2, 4, 16)


def test_the_attention_kernel_is_the_only_one_left_inside_forward():
    made = {"model": Attending(), "dataset": Tokens(), "loss": lambda m, batch: m(batch)}
    for name, flash in (("math", False), ("flash", True)):
        applied = apply(workload(**made), Settings(sdpa_backend=name))
        applied.step(next(iter(applied.loader)))
        assert applied.model.flash == flash and in_force(applied)["sdpa_backend"] == name


def test_an_attention_kernel_that_cannot_run_is_an_invalid_trial():
    made = {"model": Attending(), "dataset": Tokens(), "loss": lambda m, batch: m(batch)}
    applied = apply(workload(**made), Settings(sdpa_backend="efficient"))
    with pytest.raises(hotlap.errors.InvalidTrial, match="sdpa_backend=efficient"):
        applied.step(next(iter(applied.loader)))


# Whose loader


class OnDevice(Images):
    def resident_batch(self, batch_size, collate_fn, device):
        samples = [self[i] for i in range(batch_size)]
        x, y = zip(*samples, strict=True)
        return torch.stack(x).to(device), torch.tensor(y, device=device)


def test_a_resident_batch_is_given_without_end_and_loader_settings_are_noted():
    applied = apply(workload(dataset=OnDevice()), Settings(num_workers=2, prefetch_factor=4))
    iterator = iter(applied.loader)
    assert next(iterator)[0] is next(iterator)[0] and applied.n_epoch_steps is None
    assert {note["setting"] for note in applied.notes} == {"num_workers", "prefetch_factor"}
    applied.step(next(iterator))


def test_the_workload_s_own_loader_arguments_stay_where_settings_are_silent():
    own = {"num_workers": 2, "persistent_workers": True, "prefetch_factor": 4, "timeout": 60}
    applied = apply(workload(loader_defaults=own), Settings())
    assert (applied.loader.num_workers, applied.loader.prefetch_factor) == (2, 4)
    assert applied.settings.num_workers == 2 and applied.loader.timeout == 60
    assert {note["setting"] for note in applied.notes} == {
        "num_workers",
        "prefetch_factor",
        "persistent_workers",
    }
    applied = apply(workload(loader_defaults=own), Settings(num_workers=1, prefetch_factor=3))
    assert (applied.loader.num_workers, applied.loader.prefetch_factor) == (1, 3)


def test_an_iterable_dataset_is_not_shuffled_and_has_no_known_epoch():
    class Stream(IterableDataset):
        def __iter__(self):
            return iter([Images()[i] for i in range(16)])

    applied = apply(replace(workload(), dataset=Stream(), shuffle=True), Settings())
    assert isinstance(applied, Applied) and applied.n_epoch_steps is None
    assert len(list(applied.loader)) == 2

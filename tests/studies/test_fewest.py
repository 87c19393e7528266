"""What is frozen holds few settings, and says which of them were proven together only."""

from dataclasses import replace
from pathlib import Path

from banked import plain_goal
from replay import EXPERT

from hotlap.settings import Settings
from studies import Ablation, Contribution
from studies.entry import Entry

NOISY = {"process_noise": 0.09, "in_memory": True, "budget_s": 300}


def workers_only(settings):
    return 300.0 if settings.num_workers else 100.0


def test_the_file_holds_little_but_what_matters_also_on_a_noisy_machine(replay, tmp_path):
    held = []
    for seed in range(8):
        session = replay(workers_only, folder=tmp_path / str(seed), seed=seed, **NOISY)
        found = session.studied()
        winner = found.proof.winner.settings
        assert winner.num_workers
        held.append(set(winner.changed()))
        if not found.contributions:
            assert set(found.together) == held[-1]
    assert sum(map(len, held)) <= 12  # 8 would be num_workers alone


def test_what_was_put_back_and_shown_to_pay_is_not_proven_together_only(replay):
    found = replay(workers_only, process_noise=0.01, in_memory=True, budget_s=900).studied()
    assert found.together == ()
    proof, winner = found.proof, found.proof.winner
    arm = replace(winner, name="expert", settings=EXPERT)
    expert = replace(found, proof=replace(proof, arms=[proof.baseline, arm]), ablation=None)
    assert set(expert.together) == set(EXPERT.changed())
    for settings, said, together in (
        (EXPERT, {"tuned_together": ["pin_memory"]}, ("pin_memory",)),
        (replace(EXPERT, pin_memory=False), {"tuned_together": []}, ("pin_memory",)),
        (EXPERT, {"tuned_together": []}, ()),
        (EXPERT, {}, None),
        (EXPERT, {"tuned_together": "many"}, None),
    ):
        hit = Entry(settings, said, plain_goal(), Path())
        assert replace(expert, again=True, hit=hit).together == together
    workers = Contribution(
        ("num_workers",), arm, proof.baseline, winner.speedup(proof.baseline), True
    )
    likely = replace(workers, settings=("pin_memory",), ratio=replace(workers.ratio, low=0.9))
    taken_apart = replace(expert, ablation=Ablation(EXPERT, EXPERT, (workers, likely)))
    assert taken_apart.together == ("pin_memory",)


def test_what_was_put_back_in_one_lump_is_proven_together_only(replay):
    found = replay(workers_only, process_noise=0.01, in_memory=True, budget_s=900).studied()
    baseline, speedup = found.proof.baseline, found.proof.winner.speedup(found.proof.baseline)
    settings = Settings(num_workers=4, amp="bf16", pin_memory=True, allocator="jemalloc")
    arm = replace(found.proof.winner, settings=settings)
    workers = Contribution(("num_workers",), arm, baseline, speedup, True)
    lump = ("amp", "pin_memory", "allocator")
    assert speedup.low > 1
    for merged, together in ((True, set(lump)), (False, set())):
        rest = Contribution(lump, arm, baseline, speedup, True, merged=merged)
        proof = replace(found.proof, arms=[baseline, arm])
        ablation = Ablation(settings, settings, (workers, rest))
        assert set(replace(found, proof=proof, ablation=ablation).together) == together

"""Killed at any moment, as often as you like: it goes on, and ends with the same bits."""

from __future__ import annotations

import os
import random
import shutil
import subprocess

from disturbed import Tree, kill, wait_for_job, wait_until_gone

KILLS = int(os.environ.get("KILLS", "20"))
SEED = int(os.environ.get("SEED", "0"))


def test_killed_runs_end_with_the_same_bits(
    tree: Tree, undisturbed: tuple[dict[str, str], float]
) -> None:
    """Should a run finish between two kills, the next one makes some of its results anew."""
    wanted, seconds = undisturbed
    moment = random.Random(SEED)
    longest = seconds / 15 + seconds / KILLS  # to start, and so that the kills fit into one run
    killed = finished = 0
    while killed < KILLS:
        process = tree.start()
        try:
            process.wait(moment.uniform(0.5, longest))
        except subprocess.TimeoutExpired:
            kill(process)
            killed += 1
            assert tree.refusal() == ""
            print(f"{killed} kills, {len(tree.content())} of {len(wanted)} files", flush=True)
            continue
        _check(process, tree, wanted)
        finished += 1
        shutil.rmtree(tree.results / moment.choice(["audio", "synthetic", "uci"]))
    process = tree.start()
    process.wait()
    _check(process, tree, wanted)
    print(f"{killed} kills, {finished + 1} runs came to an end: all with the same results")


def _check(process: subprocess.Popen[str], tree: Tree, wanted: dict[str, str]) -> None:
    assert process.returncode == 0, tree.output()
    found = tree.content()
    assert found.keys() == wanted.keys()
    assert {name for name in wanted if found[name] != wanted[name]} == set()
    assert tree.left_behind() == []


def test_job_that_outlives_its_run_is_waited_for(tree: Tree) -> None:
    """The lock stays while a job of the killed run writes, and goes with it."""
    target = "results/smoke/synthetic/paper/single_gaussian/wta/K9/seed1234.safetensors"
    process = tree.start(target, fresh=True)
    job = wait_for_job(process, "train_synthetic")
    job.suspend()  # it would be done too soon
    process.kill()
    process.wait()
    try:
        assert f"process {process.pid}" in tree.refusal()
        for locked, words in ((True, "Nothing was started"), (False, "cannot be locked")):
            again = tree.start(target, locked=locked)
            assert again.wait() != 0
            assert words in tree.output()
    finally:
        job.kill()
    wait_until_gone(job)
    assert tree.refusal() == ""
    tree.finish(target)
    assert tree.left_behind() == []


def test_second_run_stops(tree: Tree) -> None:
    target = "results/smoke/synthetic/paper/single_gaussian/wta/K9/seed1234.safetensors"
    first = tree.start(target)
    job = wait_for_job(first, "generate_synthetic")
    job.suspend()
    refusal = tree.refusal()
    assert f"process {first.pid}" in refusal
    assert "Nothing was started" in refusal
    job.resume()
    assert first.wait() == 0, tree.output()
    assert tree.refusal() == ""

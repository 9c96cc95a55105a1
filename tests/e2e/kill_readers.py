#!/usr/bin/env python3
"""kill_readers.py ROUNDS SAMPLE: kills clrscope while it reads a process, at different moments, and checks that the process stays healthy.

Starts the heartbeat sample. Each of `clrscope stacks` itself, the worker that it starts (.NET 8 and 9), and `clrscope doctor` is killed
ROUNDS times by SIGKILL while it is at work. After each the process must run on, by nobody traced and without a child, and answer its signal;
in the end all that it kept must be right. Prints one JSON object; exits 1 with the first thing that is wrong."""
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

PATIENCE = 60
MOST_MISSED = 20  # times so many rounds: who is always through before it is killed cannot be


def fail(text):
    sys.exit(f"{pathlib.Path(sys.argv[0]).stem}: {text}")


def of_threads(pid, name):
    """A file of each thread; those that end meanwhile are left out."""
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        try:
            yield (task / name).read_text()
        except (FileNotFoundError, ProcessLookupError):
            pass


def children(pid):
    return [int(child) for text in of_threads(pid, "children") for child in text.split()]


def until(condition, what):
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            fail(what)
        time.sleep(0.001)


def faults(pid):
    """How far a process has come, by the page faults it has had: the same on a busy machine. None when it has ended."""
    try:
        after_name = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return None if after_name[0] in "ZX" else int(after_name[7])
    except (FileNotFoundError, ProcessLookupError):
        return None


def wait_for_progress(pid, wanted):
    """Whether it has come so far; not when it ended before."""
    until(lambda: (now := faults(pid)) is None or now >= wanted, f"process {pid} had no {wanted} page faults")
    return faults(pid) is not None


def faults_in_all(command, whom="main"):
    """The page faults of a whole run, without those of its end; 0 when there is no such process."""
    looker = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    victim = worker_of(looker) if whom == "worker" else looker.pid
    most = 0
    while victim and (now := faults(victim)) is not None:
        most = now
        time.sleep(0.001)
    if looker.wait(PATIENCE) != 0:
        fail(f"{command} ended with {looker.returncode}")
    return most


def check_health(app, asked):
    if app.poll() is not None:
        fail(f"the process has ended with {app.returncode}")
    until(lambda: all("TracerPid:\t0\n" in text for text in of_threads(app.pid, "status")), "it is still traced")
    until(lambda: all(text.rpartition(")")[2].split()[0] not in "tT" for text in of_threads(app.pid, "stat")), "a thread of it stands still")
    if children(app.pid):
        fail(f"it has children: {children(app.pid)}")
    app.send_signal(signal.SIGUSR1)
    answer = json.loads(app.stdout.readline())
    if (answer["asked"], answer["wrong"]) != (asked, 0) or answer["beats"] == 0:
        fail(f"it answers {answer}, asked for the {asked}th time")


def worker_of(looker):
    """Its first child; None when it has none in its life."""
    while looker.poll() is None:
        try:
            if found := children(looker.pid):
                return found[0]
        except OSError:
            return None
    return None


def kill_one(command, whom, progress):
    """Whether it was still at work."""
    looker = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        victim = worker_of(looker) if whom == "worker" else looker.pid
        if victim is None or not wait_for_progress(victim, progress):
            return False
        try:
            os.kill(victim, signal.SIGKILL)
        except ProcessLookupError:
            return False
        looker.wait(PATIENCE)  # without its worker it ends by itself
        return True
    finally:
        if looker.poll() is None:
            looker.kill()
        looker.wait()


def main(rounds, sample):
    app = subprocess.Popen([sample, "heartbeat"], stdout=subprocess.PIPE, text=True)
    try:
        app.stdout.readline()
        looks = ["clrscope", "stacks", "-p", str(app.pid), "--json"]
        doctor = ["clrscope", "doctor", "-p", str(app.pid), "--duration", "1s", "--json"]
        killed, missed, asked = {}, {}, 0
        for kind, (command, whom) in {"stacks": (looks, "main"), "worker": (looks, "worker"), "doctor": (doctor, "main")}.items():
            # A worker may be through before it is seen, on a busy machine; one that is never seen is not needed by this runtime.
            whole = next((most for _ in range(5) if (most := faults_in_all(command, whom))), 0)
            killed[kind] = missed[kind] = 0
            while whole and killed[kind] < rounds and missed[kind] <= MOST_MISSED * rounds:
                hit = kill_one(command, whom, (killed[kind] + missed[kind]) * 37 % 101 * whole // 101)
                killed[kind] += hit
                missed[kind] += not hit
                asked += 1
                check_health(app, asked)
        app.terminate()
        done = json.loads(app.stdout.readline())["truth"]
        print(json.dumps({"killed": killed, "missed": missed, "asked": done["asked"], "wrong": done["wrong"], "beats": done["beats"]}))
    finally:
        app.kill()
        app.wait()


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])

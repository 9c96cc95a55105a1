#!/usr/bin/env python3
"""kill_lookers.py ROUNDS SAMPLE: kills those who look at a process, at ever other moments, and holds the process to its health.

Starts the heartbeat sample. Each of `clrscope stacks` itself, the worker that it starts (where it starts one), and `clrscope doctor` is killed
ROUNDS times by SIGKILL while it is at work. After each the process must run on, by nobody traced and without a child, and answer its signal;
in the end all that it kept must be right. Prints one JSON object; exits 1 with the first thing that is wrong."""
import json
import pathlib
import signal
import subprocess
import sys
import time

rounds, sample = int(sys.argv[1]), sys.argv[2]
PATIENCE = 60
MOST_MISSED = 20  # times so many rounds: who is always through before it is killed cannot be


def fail(text):
    sys.exit(f"kill_lookers: {text}")


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
        time.sleep(0.005)


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


def kill_one(command, whom, delay):
    """Whether it was still at work."""
    looker = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        victim = worker_of(looker) if whom == "worker" else looker.pid
        if victim is None:
            return None
        time.sleep(delay)
        if looker.poll() is not None:
            return False
        try:
            subprocess.run(["kill", "-KILL", str(victim)], check=True, stderr=subprocess.DEVNULL)
        except subprocess.CalledProcessError:
            return False
        looker.wait(PATIENCE)  # without its worker it ends by itself
        return True
    finally:
        if looker.poll() is None:
            looker.kill()
        looker.wait()


app = subprocess.Popen([sample, "heartbeat"], stdout=subprocess.PIPE, text=True)
try:
    app.stdout.readline()
    looks = ["clrscope", "stacks", "-p", str(app.pid), "--json"]
    start = time.monotonic()
    subprocess.run(looks, check=True, stdout=subprocess.DEVNULL)
    usual = time.monotonic() - start
    kinds = {"stacks": (looks, "main"), "worker": (looks, "worker"),
             "doctor": (["clrscope", "doctor", "-p", str(app.pid), "--duration", "2s", "--json"], "main")}
    killed, asked = {}, 0
    for kind, (command, whom) in kinds.items():
        span = 2 if kind == "doctor" else usual if whom == "main" else usual / 2
        killed[kind] = missed = 0
        while killed[kind] < rounds and missed <= MOST_MISSED * rounds:
            hit = kill_one(command, whom, (killed[kind] + missed) * 37 % 101 / 101 * span)
            if hit is None:  # this runtime needs no worker
                break
            killed[kind] += hit
            missed += not hit
            asked += 1
            check_health(app, asked)
    app.terminate()
    done = json.loads(app.stdout.readline())["truth"]
    print(json.dumps({"killed": killed, "asked": done["asked"], "wrong": done["wrong"], "beats": done["beats"]}))
finally:
    app.kill()
    app.wait()

"""A copy-on-write twin of a process of 300 MB that allocates: the pause, what is said to come after it, and the process's own heartbeat."""
import json
import signal
import time

from kit import Row, median


def run(kit):
    rounds = 2 if kit.quick else 40
    app, _ = kit.sample("heartbeat", "--kept-mb", "260", "--rate", "50")
    time.sleep(1)
    rss = resident_mb(app.pid)
    if rss < 300:
        raise RuntimeError(f"the sample has only {rss:.0f} MB resident")
    ask(app)
    time.sleep(1 if kit.quick else 10)
    without = ask(app)
    made = []
    for _ in range(rounds):
        twin = json.loads(kit.weigh(kit.folder / "inspect_twins", app.pid, 1).out)
        time.sleep(0.2)  # the first writes to what was not copied
        made.append((twin, ask(app)))
    with_us = max(gap for _, gap in made)
    return [
        Row(f"twin at {rss:.0f} MB, pause", "ms", median([twin["pauseMs"] for twin, _ in made]), 30),
        Row("twin, longest pause of all", "ms", max(twin["pauseMs"] for twin, _ in made)),
        Row("twin, at most with what comes after, longest said", "ms", max(twin["atMostMs"] for twin, _ in made)),
        Row("heartbeat, longest gap without us", "ms", without),
        Row("heartbeat, longest gap with twins", "ms", with_us),
        Row("gaps beyond what was said and the one without us", "", sum(gap > twin["atMostMs"] + without for twin, gap in made), 0),
    ]


def ask(app):
    """The longest gap since it was asked last, in ms."""
    app.send_signal(signal.SIGUSR1)
    return max(gap["gapNs"] for gap in json.loads(app.stdout.readline())["gaps"]) / 1e6


def resident_mb(pid):
    with open(f"/proc/{pid}/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS")) / 1024

"""How long it takes from the command to the verdict on a deadlock, how long the process is paused for it, how long a whole examination takes,
and what the background doctor of a controller costs."""
import json
import os
import pathlib
import time

from kit import Row
from serve_bench import Controller

BACKGROUND_CPU_PERCENT = 0.2
BACKGROUND_PAUSE_MS = {"net8.0": 5, "net9.0": 5, "net10.0": 0}


def run(kit):
    rows = []
    for target in ["net10.0"] if kit.quick else ["net8.0", "net9.0", "net10.0"]:
        sample, ready = kit.sample("deadlock-monitor", target=target)
        ours = kit.repeat(15, kit.clrscope, "doctor", "-p", str(ready["pid"]), "--only", "CS1001", "--json")
        answer = json.loads(ours.out)
        if [finding["id"] for finding in answer["findings"]] != ["CS1001"]:
            raise RuntimeError(f"no deadlock found: {ours.out[:300]}")
        rows.append(Row(f"deadlock verdict, {target}", "ms", ours.seconds * 1000, 100))
        rows.append(Row(f"deadlock verdict, pause, {target}", "ms", answer["pauseMs"], 0 if target == "net10.0" else 30))
        kit.end_sample(sample)
        rows += background(kit, target)
    sample, ready = kit.sample("sick")
    whole = kit.repeat(1, kit.clrscope, "doctor", "-p", str(ready["pid"]), "--json")
    rows.append(Row("whole examination of the sample", "ms", whole.seconds * 1000, 15_000))
    kit.end_sample(sample)
    return rows


def background(kit, target):
    """A client asks for the verdict on one process every 10 s, as the overview does more often: CPU of the controller and its helpers, longest pause."""
    sample, ready = kit.sample("sick", target=target)
    controller = Controller(kit)
    look = lambda: json.loads(controller.ask(f"/watch/{ready['pid']}")[1])
    look()
    time.sleep(1 if kit.quick else 10)
    seconds, pauses, before, start = (3 if kit.quick else 60), [], cpu_seconds(controller.process.pid), time.monotonic()
    while time.monotonic() - start < seconds:
        pauses.append(look()["cost"]["pauseMs"])
        time.sleep(min(10, seconds))
    used = (cpu_seconds(controller.process.pid) - before) / (time.monotonic() - start) * 100
    kit.end_sample(sample)
    controller.process.terminate()
    controller.process.wait()
    return [
        Row(f"background doctor, CPU of one core, {target}", "%", used, BACKGROUND_CPU_PERCENT),
        Row(f"background doctor, longest pause, {target}", "ms", max(pauses), BACKGROUND_PAUSE_MS[target]),
    ]


def cpu_seconds(pid):
    """Of a process and all that it started, those that have ended included."""
    words = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    own = sum(int(word) for word in words[11:15]) / os.sysconf("SC_CLK_TCK")
    children = pathlib.Path(f"/proc/{pid}/task").glob("*/children")
    return own + sum(cpu_seconds(int(child)) for each in children for child in each.read_text().split())

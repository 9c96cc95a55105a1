"""How long it takes from the command to the verdict on a deadlock, and how long the process stands still for it."""
import json

from kit import Row


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
    return rows

"""The heap of 5 million objects: how long the process stands still, how long until the histogram and until all references, our memory."""
import json

from kit import Row, median


def run(kit):
    rounds = 1 if kit.quick else 5
    app, ready = kit.sample("big-heap", "5")
    objects = ready["truth"]["objects"]
    histogram = [look(kit, app.pid, "--no-references") for _ in range(rounds)]
    whole = [look(kit, app.pid) for _ in range(rounds)]
    for heap in histogram + whole:
        if heap["objects"] < objects or heap["unreadBytes"] or heap["unresolvedEdges"]:
            raise RuntimeError(f"{heap['objects']} of {objects} objects, {heap['unreadBytes']} bytes unread")
    return [
        Row("heap of 5 M objects, pause", "ms", median([h["pauseMs"] for h in histogram + whole]), 30),
        Row("heap, types and sizes", "ms", median([h["tookMs"] for h in histogram]), 1000),
        Row("heap, with references and roots", "ms", median([h["tookMs"] for h in whole])),
        Row("heap, our memory per object", "B", max(h["peakKb"] * 1024 / h["objects"] for h in whole), 60),
    ]


def look(kit, pid, *options):
    return json.loads(kit.weigh(kit.folder / "inspect_heap", pid, *options).out)

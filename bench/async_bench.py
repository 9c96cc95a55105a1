"""Async stacks of 100,000 state machines: chaining them, once the heap has been read; and the pause of the process."""
import json

from kit import Row, median


def run(kit):
    chains = 1_000 if kit.quick else 33_400
    app, _ = kit.sample("async-chains", str(chains))
    seen = [json.loads(kit.weigh(kit.folder / "inspect_async", app.pid).out) for _ in range(1 if kit.quick else 5)]
    return [
        Row(f"{seen[0]['stateMachines']:,} state machines chained", "ms", median([one["durationMs"] for one in seen]), 500),
        Row("pause", "ms", median([one["pauseMs"] for one in seen]), 30),
    ]

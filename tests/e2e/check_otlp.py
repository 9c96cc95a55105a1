"""Whether the data points that otlp_collector.py wrote are those of the sample `meters`, and of a sink beside it.

    check_otlp.py POINTS PID NDJSON
"""
import json
import sys

points = [json.loads(line) for line in open(sys.argv[1]) if line.endswith("\n")]
mine = [p for p in points if p["resource"].get("process.pid") == int(sys.argv[2])]
resource = mine[0]["resource"]
assert resource["service.name"] == "samples" and resource["process.runtime.version"] and resource["host.name"], resource

by_name = {}
for p in mine:
    by_name.setdefault(p["name"], []).append(p)

connections = by_name["samples.connections"][0]
assert (connections["kind"], connections["monotonic"], connections["cumulative"], connections["value"]) == ("sum", False, True, 17), connections
assert connections["scope"] == "Clrscope.Samples" and connections["unit"] == "{connection}", connections

warm = {p["tags"]["room"]: p["value"] for p in by_name["samples.temperature"]}
assert warm == {"cellar": 11.5, "roof": 28.25}, warm
assert by_name["samples.temperature"][0]["kind"] == "gauge"

sent = by_name["samples.bytes"]
grown = [p["value"] for p in sent]
assert grown == sorted(grown) and grown[-1] > grown[0] and sent[0]["monotonic"] and sent[0]["cumulative"], sent
assert len({p["start"] for p in sent}) == 1, sent
assert all(p["start"] < p["time"] for p in mine)

latency = by_name["samples.latency"]
assert all(p["kind"] == "summary" and p["count"] > 0 for p in latency), latency
# Each sink has its own intervals; one second's quantiles are the same for all.
beside = [row["quantiles"] for row in map(json.loads, open(sys.argv[3])) if row["name"] == "samples.latency"]
assert any(p["quantiles"] in beside for p in latency), (latency, beside)
assert any(name.startswith("dotnet.gc.") for name in by_name), list(by_name)

own = [p["value"] for p in points if p["name"] == "clrscope.events.dropped"]
assert own and own[-1] == 0, own

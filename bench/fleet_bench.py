"""The fleet server: spans per processor second from the network's bytes into SQLite, bytes on disk, flame graphs of an hour."""
import tempfile

from kit import Row


def run(kit):
    spans = 2_000_000 if kit.quick else 10_000_000  # fewer would not reach all ten services
    with tempfile.TemporaryDirectory(dir=kit.tmp) as folder:
        bench = kit.weigh(kit.folder / "fleet_bench", spans, folder)
    if bench.code != 0:
        raise RuntimeError(bench.err.strip())
    seen = {name: float(value) for name, value, _ in (line.split() for line in bench.out.splitlines())}
    # The budgets are those of 10 M spans: fewer get no verdict.
    budget = lambda value: None if kit.quick else value
    what = f"{seen['flame_spans'] / 1e6:g} M spans"
    return [
        Row("fleet: ingest into SQLite per core", "M spans/s", seen["ingest"], 1, None, "", True),
        Row("fleet: ingest, one batch per transaction", "M spans/s", seen["route_ingest"], None, None, "", True),
        Row("fleet: merging chunks", "M spans/s", seen["merging"], None, None, "", True),
        Row("fleet: on the wire", "bytes/span", seen["wire"]),
        Row(f"fleet: {spans / 1e6:g} M spans on disk", "MB", seen["disk"] * spans / 1e6, budget(100)),
        Row(f"fleet: flame graph of a route, {what}", "ms", seen["flame"], budget(100)),
        Row(f"fleet: flame graph of a route on one host, {seen['flame_host_spans'] / 1e6:g} of {what}", "ms", seen["flame_host"]),
        Row(f"fleet: flame graph of the slowest 1 % of {what}", "ms", seen["flame_slowest"], budget(100)),
        Row("fleet: routes with percentiles by minute", "ms", seen["routes"]),
        Row("fleet: one request by trace id", "ms", seen["find"]),
    ]

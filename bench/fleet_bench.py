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
    what = f"{spans / 1e6:g} M spans"
    return [
        Row("fleet: ingest into SQLite per core", "M spans/s", seen["ingest"], 1, None, "", True),
        Row("fleet: on the wire", "bytes/span", seen["wire"]),
        Row("fleet: on disk", "bytes/span", seen["disk"], 10),
        Row(f"fleet: flame graph of a service, {seen['flame_service_spans'] / 1e6:g} M of {what}", "ms", seen["flame_service"], 100),
        Row(f"fleet: flame graph of a route, {seen['flame_route_spans'] / 1e6:g} M of {what}", "ms", seen["flame_route"]),
        Row("fleet: flame graph of the slowest 1 %", "ms", seen["flame_slowest"]),
        Row("fleet: routes with percentiles by minute", "ms", seen["routes"]),
        Row("fleet: one request by trace id", "ms", seen["find"]),
    ]

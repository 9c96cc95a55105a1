"""The fleet server on ClickHouse, one server: spans per processor second of both, bytes on disk, queries, a route with 100 M samples."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request

import clickhouse_fill
from kit import Row

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests/cluster"))


def cpu_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def flames(kit, cluster):
    """Flame graphs by CPU of a route with many samples, asked over REST: from roll-ups, and one that only requests can answer."""
    samples = 1_000_000 if kit.quick else 100_000_000
    node = cluster.nodes[0]
    took = clickhouse_fill.fill(node, samples)
    server = subprocess.Popen([kit.folder / "clrscope-fleet", "serve", "--store", cluster.store(), "--no-auth", "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0",
                               "--json"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, env=kit.env)
    kit.started.append(server)
    address = json.loads(server.stdout.readline())["http"]

    def flame(**query):
        words = urllib.parse.urlencode({"service": "filled", "route": clickhouse_fill.ROUTE, "by": "cpu", **query})
        began = time.monotonic()
        with urllib.request.urlopen(f"{address}/fleet/flame?{words}", timeout=100) as answer:
            body = answer.read()
        return (time.monotonic() - began) * 1e3, json.loads(body)

    now = time.time()
    last_day = {"from": now - 86_400 + 137, "to": now}  # not at the border of a slot
    cpu = cpu_seconds(node.process.pid)
    first, answer = flame(**last_day)
    cpu = cpu_seconds(node.process.pid) - cpu
    again = [flame(**last_day)[0] for _ in range(5)]
    whole, all_of_it = flame()
    if all_of_it["samples"] != samples or not 0.9 * samples < answer["samples"] < samples:
        raise RuntimeError(f"{all_of_it['samples']} and {answer['samples']} samples in the flame graphs, not {samples}")
    slowest, _ = flame(fromPercentile=99)
    requests = node.query("SELECT sum(rows) FROM system.parts WHERE active AND database = 'clrscope' AND table = 'request'")
    disk = {table: int(node.query(f"SELECT sum(bytes_on_disk) FROM system.parts WHERE active AND database = 'clrscope' AND table = '{table}'"))
            for table in ("flame_5m", "flame_1h")}
    server.terminate()
    server.communicate(timeout=60)
    what = f"{answer['samples'] / 1e6:.4g} M CPU samples of a route"
    print(f"clickhouse: {samples / 1e6:g} M samples, {requests} requests, {len(answer['name'])} call paths filled in {took:.0f} s; flame graph again: "
          f"{', '.join(f'{one:.0f}' for one in again)} ms, {cpu:.2f} CPU s of the engine for the first", file=sys.stderr)
    return [
        Row(f"clickhouse: flame graph, {what}, first, wall", "ms", first, None if kit.quick else 1000),
        Row("clickhouse: the same again, the slowest of 5", "ms", max(again), None if kit.quick else 1000),
        Row("clickhouse: the first, CPU time of the engine", "ms", cpu * 1e3),
        Row("clickhouse: flame graph without a range", "ms", whole),
        Row("clickhouse: flame graph of the slowest 1 %, from requests", "ms", slowest),
        Row("clickhouse: roll-ups of call paths on disk", "MB", sum(disk.values()) / 1e6),
    ]


def run(kit):
    from cluster import Cluster, missing
    if why := missing(False):
        print(f"clickhouse: {why}", file=sys.stderr)
        return []
    spans = 2_000_000 if kit.quick else 10_000_000
    with tempfile.TemporaryDirectory(dir=kit.tmp) as folder:
        cluster = Cluster(folder, 0, 0)
        node = cluster.nodes[0]
        try:
            subprocess.run([kit.folder / "clrscope-fleet", "migrate", "--store", cluster.store()], check=True, stdout=subprocess.DEVNULL)
            before = cpu_seconds(node.process.pid)
            bench = subprocess.Popen([kit.folder / "fleet_bench", str(spans), folder, cluster.store()], text=True,
                                     stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            first = bench.stdout.readline()
            engine = cpu_seconds(node.process.pid) - before
            rest, _ = bench.communicate("\n")
            if bench.returncode != 0:
                raise RuntimeError("fleet_bench failed")
            disk = int(node.query("SELECT sum(bytes_on_disk) FROM system.parts WHERE active AND database = 'clrscope'"))
            rows = flames(kit, cluster)
        finally:
            cluster.stop()
    seen = {name: float(value) for name, value, _ in (line.split() for line in (first + rest).splitlines())}
    what = f"{seen['flame_spans'] / 1e6:g} M spans"
    return [
        Row("clickhouse: ingest per core, engine included", "M spans/s", spans / (seen["own"] + engine) / 1e6, 0.3, None, "", True),
        Row("clickhouse: ingest, the fleet server's own part", "M spans/s", spans / seen["own"] / 1e6, None, None, "", True),
        Row(f"clickhouse: {spans / 1e6:g} M spans on disk", "MB", disk / 1e6),
        Row(f"clickhouse: flame graph of a route, {what}, wall", "ms", seen["flame"]),
        Row("clickhouse: routes with percentiles by minute, wall", "ms", seen["routes"]),
        Row("clickhouse: one request by trace id, wall", "ms", seen["find"]),
        *rows,
    ]

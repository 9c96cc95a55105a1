"""The fleet server on ClickHouse, one server: spans per processor second of both, bytes on disk, queries."""
import os
import pathlib
import subprocess
import sys
import tempfile

from kit import Row

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests/cluster"))


def cpu_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


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
    ]

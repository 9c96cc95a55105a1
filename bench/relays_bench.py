"""Acknowledgements while a replica of ClickHouse restarts, and the memory of a fleet server with 1,000 relays."""
import json
import pathlib
import subprocess
import sys
import tempfile
import time

from kit import Row

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests/cluster"))


class Relays:
    """relays_bench: streams that send a batch each so many milliseconds, and time its acknowledgement."""

    def __init__(self, kit, address, streams, every, requests, spans):
        self.process = subprocess.Popen([kit.folder / "relays_bench", address, str(streams), str(every), str(requests), str(spans)], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=kit.env)
        kit.started.append(self.process)
        if not self.process.stdout.readline().startswith("connected"):
            raise RuntimeError("relays_bench: the streams were not connected")

    def tell(self, word):
        print(word, file=self.process.stdin, flush=True)

    def end(self):
        said, _ = self.process.communicate(timeout=200)
        if self.process.returncode != 0:
            raise RuntimeError("relays_bench failed")
        return {name: float(value) for name, value, _ in (line.split() for line in said.splitlines())}


def serve(kit, store):
    server = subprocess.Popen([kit.folder / "clrscope-fleet", "serve", "--store", store, "--no-auth", "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0", "--json"],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, env=kit.env)
    kit.started.append(server)
    return server, json.loads(server.stdout.readline())["grpc"]


def stop(server):
    server.terminate()
    server.communicate(timeout=60)


def memory_mb(pid, what):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(what):
            return int(line.split()[1]) / 1024
    raise RuntimeError(f"/proc/{pid}/status has no {what}")


def restart(kit, folder):
    """Two shards with two replicas; 20 relays send twice a second; a replica that holds the ledger is killed, stays away, comes back."""
    from cluster import Cluster, missing
    if why := missing(True):
        print(f"relays: {why}", file=sys.stderr)
        return []
    cluster = Cluster(folder)
    try:
        subprocess.run([kit.folder / "clrscope-fleet", "migrate", "--store", cluster.store()], check=True, stdout=subprocess.DEVNULL)
        server, address = serve(kit, cluster.store())
        seen = {}
        for case in ("steady", "restart"):
            relays = Relays(kit, address, 20, 500, 20, 5)
            time.sleep(3)
            relays.tell("begin")
            if case == "restart":
                cluster.nodes[0].kill()
                time.sleep(10)
                cluster.nodes[0].start()
                cluster.nodes[0].wait()
            time.sleep(10)
            relays.tell("end")
            seen[case] = relays.end()
            print(f"relays: {case}: {seen[case]}", file=sys.stderr)
            if seen[case]["refused"] or not seen[case]["stored"]:
                raise RuntimeError(f"batches were refused, or none was stored: {seen}")
        stop(server)
    finally:
        cluster.stop()
    steady, away = seen["steady"], seen["restart"]
    return [Row("relays: acknowledgement on 2 x 2 servers, median", "ms", steady["p50"]),
            Row("relays: the same, p99", "ms", steady["p99"]),
            Row(f"relays: while a replica restarts, p99 of {away['counted']:g}", "ms", away["p99"], 2000),
            Row("relays: while a replica restarts, longest", "ms", away["max"])]


def thousand(kit, name, store):
    """Memory of the server: connected and idle, then while each sends a batch of 20 requests with 100 spans a second."""
    streams = 50 if kit.quick else 1000
    server, address = serve(kit, store)
    alone = memory_mb(server.pid, "VmRSS")
    idle = Relays(kit, address, streams, 0, 1, 1)
    connected = memory_mb(server.pid, "VmRSS")
    idle.end()
    busy = Relays(kit, address, streams, 1000, 20, 5)
    busy.tell("begin")
    time.sleep(2 if kit.quick else 30)
    busy.tell("end")
    seen = busy.end()
    peak = memory_mb(server.pid, "VmHWM")
    stop(server)
    print(f"relays: {name}, {streams} relays: {seen}; {alone:.0f} MB alone", file=sys.stderr)
    budget = None if kit.quick else 200
    return [Row(f"relays: fleet server, {streams} relays connected, {name}", "MB", connected, budget),
            Row(f"relays: {streams} relays, a batch a second each, peak, {name}", "MB", peak, budget),
            Row(f"relays: the same, acknowledgement p99, {name}", "ms", seen["p99"])]


def run(kit):
    from cluster import Cluster, missing
    with tempfile.TemporaryDirectory(dir=kit.tmp) as folder:
        rows = thousand(kit, "SQLite", f"sqlite:{folder}/relays.db")
        if kit.quick:  # tests kill replicas, too
            return rows
        rows += restart(kit, pathlib.Path(folder) / "replicas")
        if why := missing(False):
            print(f"relays: {why}", file=sys.stderr)
            return rows
        cluster = Cluster(pathlib.Path(folder) / "alone", 0, 0)
        try:
            subprocess.run([kit.folder / "clrscope-fleet", "migrate", "--store", cluster.store()], check=True, stdout=subprocess.DEVNULL)
            rows += thousand(kit, "ClickHouse", cluster.store())
        finally:
            cluster.stop()
    return rows

"""The fleet server: spans per processor second from the network's bytes into SQLite, bytes on disk, flame graphs of an hour."""
import json
import pathlib
import signal
import subprocess
import tempfile
import time

from kit import Row


def real_store(kit, folder, requests):
    """A store of requests of the sample shop: all of them sampled, with CPU samples."""
    quiet = {"stdin": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "env": kit.env}
    store = pathlib.Path(folder) / "shop.db"
    server = subprocess.Popen([kit.folder / "clrscope-fleet", "serve", "--store", f"sqlite:{store}", "--no-auth", "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0",
                               "--json"], stdout=subprocess.PIPE, text=True, **quiet)
    kit.started.append(server)
    address = json.loads(server.stdout.readline())["grpc"]
    shop, ready = kit.sample("shop")
    profile = subprocess.Popen([kit.clrscope, "requests", "-p", str(ready["pid"]), "--include", "Samples.Shop", "--sample", "1", "--to", f"grpc://{address}", "--json"],
                               stdout=subprocess.PIPE, text=True, **quiet)
    kit.started.append(profile)
    for _ in range(600):
        status = subprocess.run([kit.clrscope, "agent", "status", "-p", str(ready["pid"]), "--json"], capture_output=True, text=True, env=kit.env)
        if status.returncode == 0 and json.loads(status.stdout or "[]") and json.loads(status.stdout)[0]["sources"] == ["methods"]:
            break
        time.sleep(0.05)
    load, _ = kit.sample("shop-load", "--address", ready["truth"]["address"], "--rate", "300", "--requests", str(requests), "--duration", "600")
    load.communicate(timeout=600)
    profile.send_signal(signal.SIGINT)
    profile.communicate(timeout=60)
    for process in (shop, server):
        process.terminate()
        process.communicate(timeout=60)
    return store


def run(kit):
    spans = 2_000_000 if kit.quick else 10_000_000  # fewer would not reach all ten services
    with tempfile.TemporaryDirectory(dir=kit.tmp) as folder:
        bench = kit.weigh(kit.folder / "fleet_bench", spans, folder)
        real = kit.weigh(kit.folder / "fleet_bench", "merge", real_store(kit, folder, 600 if kit.quick else 15_000))
    if bench.code != 0 or real.code != 0:
        raise RuntimeError((bench.err + real.err).strip())
    seen = {name: float(value) for name, value, _ in (line.split() for line in (bench.out + real.out).splitlines())}
    # The budgets are those of 10 M spans: fewer get no verdict.
    budget = lambda value: None if kit.quick else value
    what = f"{seen['flame_spans'] / 1e6:g} M spans"
    return [
        Row("fleet: ingest into SQLite per core", "M spans/s", seen["ingest"], 1, None, "", True),
        Row("fleet: ingest, one batch per transaction", "M spans/s", seen["route_ingest"], None, None, "", True),
        Row("fleet: merging chunks", "M spans/s", seen["merging"], None, None, "", True),
        Row("fleet: on the wire", "bytes/span", seen["wire"]),
        Row(f"fleet: {spans / 1e6:g} M spans on disk", "MB", seen["disk"] * spans / 1e6, budget(100)),
        Row(f"fleet: {seen['shop_requests']:g} requests of the shop on disk, {seen['shop_spans'] / seen['shop_requests']:.1f} spans each", "bytes/span", seen["shop_disk"], budget(10)),
        Row(f"fleet: flame graph of a route, {what}", "ms", seen["flame"], budget(100)),
        Row(f"fleet: flame graph of a route on one host, {seen['flame_host_spans'] / 1e6:g} of {what}", "ms", seen["flame_host"]),
        Row(f"fleet: flame graph of the slowest 1 % of {what}", "ms", seen["flame_slowest"], budget(100)),
        Row("fleet: routes with percentiles by minute", "ms", seen["routes"]),
        Row("fleet: one request by trace id", "ms", seen["find"]),
    ]

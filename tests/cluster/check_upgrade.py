#!/usr/bin/env python3
"""A ClickHouse store of version 1 becomes one of today by `fleet migrate`: its requests are found, new ones are stored beside them.

    check_upgrade.py FOLDER [SHARDS REPLICAS]

The tables are those of schema_v1.sql. Prints counts as JSON.
"""
import json
import pathlib
import re
import subprocess
import sys
import time
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "fleet"))

from cluster import Cluster  # noqa: E402
from fleet_kit import BIN, Server, check, relay, source, until  # noqa: E402

DB, REQUESTS, EPOCH = "old", 50, (1 << 63) + 77
SHARDS = {"request": "cityHash64(service, intDiv(bucket, 6))", "trace": "rand()", "service_10s": "rand()", "source": "cityHash64(service, host)",
          "path": "path"}


def run(node, sql):
    urllib.request.urlopen(f"{node.url}/?database={DB}&insert_distributed_sync=1", sql.encode(), timeout=60).read()


def create(node, cluster):
    node.query(f"CREATE DATABASE {DB}")
    for line in (HERE / "schema_v1.sql").read_text().splitlines():
        if line.startswith("--"):
            continue
        table = re.match(r"CREATE TABLE (\w+)", line)
        name = table[1] if table else ""
        if cluster and name in SHARDS:
            line = re.sub(r"ENGINE = (\w+)", lambda engine: f"ENGINE = Replicated{engine[1]}('/clrscope/{DB}/{{shard}}/{name}', '{{replica}}')", line)
        run(node, line.replace("{db}", DB))
        if cluster and name in SHARDS:
            run(node, f"CREATE TABLE {name}_all AS {name} ENGINE = Distributed(fleet, {DB}, {name}, {SHARDS[name]})")
    run(node, f"INSERT INTO meta VALUES (1, '{'fleet' if cluster else ''}', {3 if cluster else 1})")


def fill(nodes, cluster):
    """One batch of a server of version 1: a group of requests with two spans each, its source, the ledger."""
    end = "_all" if cluster else ""
    node, now = nodes[0], time.time_ns()
    run(node, f"INSERT INTO path{end} VALUES (11, 0, 'Old.Outer'), (12, 11, 'Old.Inner')")
    rows = []
    for i in range(REQUESTS):
        begin = now - 3_600_000_000_000 + i * 1_000_000
        rows.append(f"('shop', {begin // 10**10}, {begin}, 5, {EPOCH}, 1, 'web-old', '0.9', unhex('{i + 1:032x}'), 'GET', '/orders/{{id}}', '/orders/1', '', 200, 1, "
                    f"{1_000_000 + i}, 900000, 0, 0, 0, 0, 0, 2, [11, 12], [1000, 500], [0, 1], [0, 10], [1500, 500], [0, 0], [7, 7], [0, 0], [0, 0], [], [], [])")
    run(node, f"INSERT INTO request{end} VALUES {', '.join(rows)}")
    run(node, f"INSERT INTO source{end} VALUES ('shop', 'web-old', 'instance-of-old', 5, {EPOCH}, 1, '0.9', 3, '.NET 8', '0.1', {now // 86_400_000_000_000}, {now}, "
              f"{now}, 0, 1, 0, {REQUESTS}, {2 * REQUESTS}, {REQUESTS}, {2 * REQUESTS}, {REQUESTS}, {REQUESTS}, 0, 0, 0)")
    for holder in nodes[:3 if cluster else 1]:
        run(holder, f"INSERT INTO ledger_batch VALUES ('batch-of-old', {EPOCH}, 1, {now // 86_400_000_000_000})")
        run(holder, f"INSERT INTO ledger_commit VALUES ({EPOCH}, 1, {now // 86_400_000_000_000})")


def main():
    folder = pathlib.Path(sys.argv[1])
    shards, replicas = (int(sys.argv[2]), int(sys.argv[3])) if len(sys.argv) > 3 else (0, 0)
    cluster = Cluster(folder, shards, replicas)
    for node in cluster.nodes:
        create(node, shards > 0)
    fill(cluster.nodes, shards > 0)
    store = cluster.store(DB)
    refused = subprocess.run([BIN / "clrscope-fleet", "serve", "--store", store, "--no-auth"], capture_output=True, text=True)
    check(refused.returncode != 0 and "fleet migrate" in refused.stderr, f"the server asks for a migration: {refused.stderr}")
    answer = {}
    for name in ("migrated", "again"):
        done = subprocess.run([BIN / "clrscope-fleet", "migrate", "--store", store, "--json"], check=True, stdout=subprocess.PIPE, text=True)
        answer[name] = json.loads(done.stdout)["done"]
    server = Server(folder, listen="127.0.0.1:0", store=store)

    def total():
        return sum(one["requests"] for one in server.get("/fleet/series", service="shop", by="version", step="300s")["series"])
    answer["old"] = until(lambda: total() == REQUESTS and total(), "the old requests are counted")
    sender = relay(f"grpc://{server.address['grpc']}", "--linger", "60s", stdin=subprocess.PIPE)
    writer = source("web-new", "shop", 3, 20, 4, stdout=sender.stdin)
    sender.stdin.close()
    sender.stdin = None
    writer.communicate(timeout=60)
    sender.communicate(timeout=100)
    answer["all"] = until(lambda: total() == REQUESTS + 60 and total(), "old and new requests are counted")
    flame = until(lambda: (one := server.get("/fleet/flame", service="shop"))["requests"] == REQUESTS + 60 and one, "both are in the flame graph")
    answer["spans"] = flame["spans"]
    check("Old.Inner" in flame["names"], f"old call paths have their names: {flame['names']}")
    answer["cpu"] = server.get("/fleet/flame", service="shop", by="cpu")["requests"]
    found = server.get(f"/fleet/requests/{REQUESTS:032x}")["requests"]
    check(len(found) == 1 and found[0]["host"] == "web-old" and len(found[0]["spans"]) == 2, f"an old request is found by its trace id: {found}")
    hosts = {host["host"]: host for host in server.get("/fleet/hosts")["hosts"]}
    check(all(host["lostRequests"] == 0 for host in hosts.values()) and len(hosts) == 2, f"both hosts are listed, nothing is lost: {hosts}")
    checked = [str(BIN / "clrscope-fleet"), "check", "--store", store, "--json"]
    until(lambda: subprocess.run(checked, stdout=subprocess.DEVNULL).returncode == 0, "the views agree with the requests")
    server.end()
    cluster.stop()
    print(json.dumps(answer))


if __name__ == "__main__":
    main()

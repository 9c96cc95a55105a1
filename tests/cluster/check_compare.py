#!/usr/bin/env python3
"""ClickHouse and SQLite give equal answers, and no broken connection makes a batch count twice or not at all.

    check_compare.py FOLDER SHARDS REPLICAS ADDS

Random batches and queries (store_compare.cpp), first plainly, then with two fleet servers that add every batch at the same
time over connections that break. Prints counts as JSON.
"""
import json
import os
import pathlib
import subprocess
import sys

from cluster import Cluster, Process

BIN = pathlib.Path(os.environ["FLEET_BIN"])
HERE = pathlib.Path(__file__).parent


class Proxy(Process):
    def __init__(self, target, seed, one_in):
        self.target, self.seed, self.one_in = target, seed, one_in
        super().__init__([], None)

    def start(self):
        words = [sys.executable, "-B", HERE / "flaky_proxy.py", self.target, self.seed, self.one_in]
        self.process = subprocess.Popen([str(word) for word in words], stdout=subprocess.PIPE, text=True)
        self.port = int(self.process.stdout.readline())


def run(*words):
    done = subprocess.run([str(word) for word in words], stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise SystemExit(f"FAILED: {words[:3]} ended with {done.returncode}")
    return done.stdout


def migrate(store):
    return json.loads(run(BIN / "clrscope-fleet", "migrate", "--store", store, "--json"))["done"]


def main():
    folder, shards, replicas, adds = pathlib.Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
    cluster = Cluster(folder, shards, replicas)
    answer = {"migrated": migrate(cluster.store("plain")), "again": migrate(cluster.store("plain"))}
    answer["plain"] = json.loads(run(BIN / "store_compare", folder, 1, adds, cluster.store("plain")))

    migrate(cluster.store("flaky"))
    writers = []
    for server in (1, 2):
        proxies = [Proxy(node.http, 10 * server + i, 14 * len(cluster.nodes)) for i, node in enumerate(cluster.nodes)]
        writers.append("clickhouse:" + ",".join(f"http://127.0.0.1:{proxy.port}/?database=flaky" for proxy in proxies))
    answer["flaky"] = json.loads(run(BIN / "store_compare", folder, 2, adds, cluster.store("flaky"), *writers))
    node = cluster.nodes[0]
    table = "request" if shards == 0 else "request_all"
    answer["flaky"]["rows"] = int(node.query(f"SELECT count() FROM flaky.{table}"))
    answer["flaky"]["conflicts"] = int(node.query("SELECT uniq(batch) FROM flaky.ledger_conflict"))
    cluster.stop()
    print(json.dumps(answer))


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""`fleet check` compares the materialised views with the requests: it agrees at first, and finds every view that is damaged.

    check_views.py FOLDER

Also whether series and flame graphs are answered from the roll-ups: a damaged one shows in the answer. Prints counts as JSON.
"""
import json
import pathlib
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "fleet"))

from cluster import Cluster  # noqa: E402
from fleet_kit import BIN, Server, check, relay, source  # noqa: E402

# What damages a view, and what must be found.
DAMAGES = {
    "service_10s": "INSERT INTO {db}.service_10s SELECT * FROM {db}.service_10s LIMIT 1",
    "trace": "INSERT INTO {db}.trace SELECT trace, service, bucket, batch + 1, epoch, seq FROM {db}.trace LIMIT 1",
    "latency_5m": "INSERT INTO {db}.latency_5m SELECT * FROM {db}.latency_5m LIMIT 1",
    "latency_1h": "ALTER TABLE {db}.latency_1h DROP PARTITION {day}",
    "flame_5m": "ALTER TABLE {db}.flame_5m DROP PARTITION {day}",
    "flame_1h": "INSERT INTO {db}.flame_1h SELECT * FROM {db}.flame_1h WHERE call != 0 AND weight = 0 LIMIT 1",
}


def fleet(*words):
    done = subprocess.run([BIN / "clrscope-fleet", *words, "--json"], stdout=subprocess.PIPE, text=True)
    return done.returncode, json.loads(done.stdout or "{}")


def send(server, host, version):
    sender = relay(f"grpc://{server.address['grpc']}", "--linger", "60s", stdin=subprocess.PIPE)
    writer = source(host, "shop", 5, 20, 4, f"version={version}", stdout=sender.stdin)
    sender.stdin.close()
    sender.stdin = None
    writer.communicate(timeout=60)
    sender.communicate(timeout=100)
    check(sender.returncode == 0, "all is delivered")


def main():
    folder = pathlib.Path(sys.argv[1])
    cluster = Cluster(folder, 0, 0)
    node = cluster.nodes[0]
    answer = {"found": []}
    for table, damage in DAMAGES.items():
        store = cluster.store(table)
        fleet("migrate", "--store", store)
        server = Server(folder, listen="127.0.0.1:0", store=store)
        send(server, "web-1", "1.0")
        send(server, "web-2", "1.1")
        code, found = fleet("check", "--store", store)
        check(code == 0 and found["different"] == 0 and found["compared"] >= 4, f"an intact store agrees: {found}")

        def requests():
            return sum(one["requests"] for one in server.get("/fleet/series", service="shop", by="version")["series"])

        def flame(**query):
            return server.get("/fleet/flame", service="shop", **query)
        before = requests()
        check(before == 200, f"all requests count: {before}")
        around = {"from": time.time() - 1500, "to": time.time() + 1500}
        for query in ({}, around, {"by": "cpu"}, {"by": "cpu", **around}):
            rolled, raw = flame(**query), flame(**query, status="0-999")
            check(rolled == raw and rolled["requests"] == 200, f"flame graphs of roll-ups and of requests are equal: {query} {rolled} {raw}")
        node.query(damage.format(db=table, day=int(time.time()) // 86400))
        code, found = fleet("check", "--store", store)
        check(code == 2 and found["different"] > 0, f"the damage of {table} is found: {code} {found}")
        check({one["table"] for one in found["differences"]} == {table}, f"{table} and no other: {found}")
        answer["found"].append(table)
        if table == "latency_1h":
            answer["rolled"] = requests()
        if table == "flame_5m":
            answer["flame5m"] = flame(**around)["requests"]
        if table == "flame_1h":
            answer["flame1h"] = flame()["spans"]
        server.end()
    cluster.stop()
    print(json.dumps(answer))


if __name__ == "__main__":
    main()

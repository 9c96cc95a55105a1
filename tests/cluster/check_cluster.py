#!/usr/bin/env python3
"""Every batch is stored exactly once, and reads go on, while parts of a ClickHouse cluster and fleet servers are killed.

    check_cluster.py FOLDER SECONDS [replica] [server] [zookeeper]

2 shards x 2 replicas, ZooKeeper, two fleet servers, each with a host that sends all the time. Each part named is killed by
kill -9 in the middle of it and comes back after SECONDS. Prints counts as JSON.
"""
import json
import pathlib
import subprocess
import sys
import threading
import time

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "fleet"))

import fleet_kit  # noqa: E402
from cluster import Cluster  # noqa: E402
from fleet_kit import Server, check, relay, source, until  # noqa: E402

REQUESTS, SPANS = 20, 5
MOST = 100_000  # batches of a source; it is ended earlier


class Sender:
    """A host: a source whose batches are released one by one, and its relay."""

    def __init__(self, folder, name, server):
        self.name, self.released, self.stop = name, 0, threading.Event()
        self.source = source(name, "shop", MOST, REQUESTS, SPANS, "wait", stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.relay = relay(f"grpc://{server.listen}", "--spool", str(folder / f"spool-{name}"), "--linger", "120s",
                           stdin=self.source.stdout, stderr=subprocess.DEVNULL)
        self.source.stdout.close()
        self.thread = threading.Thread(target=self.release, daemon=True)
        self.thread.start()

    def release(self):
        while not self.stop.wait(0.4):
            print(file=self.source.stdin, flush=True)
            self.released += 1

    def end(self):
        self.stop.set()
        self.thread.join()
        _, told = self.source.communicate(timeout=60)
        said, _ = self.relay.communicate(timeout=300)
        state = json.loads(said)
        check(state["waitingBytes"] == 0 and state["lostRequests"] == 0, f"the relay of {self.name} delivers all: {state}")
        return json.loads(told)


class Reader(threading.Thread):
    """Asks a server all the time; counts answers and failures."""

    def __init__(self, servers):
        super().__init__(daemon=True)
        self.servers, self.answers, self.failures, self.stop = servers, 0, [], threading.Event()
        self.start()

    def run(self):
        while not self.stop.wait(0.1):
            answers = []
            for server in self.servers:
                try:
                    answers.append(server.ask("/fleet/services", {})[0])
                except OSError as error:  # it is being killed or started
                    answers.append(str(error))
            if 200 in answers:
                self.answers += 1
            else:
                self.failures.append(answers)


def hosts(server):
    answer = server.get("/fleet/hosts")
    return {host["host"]: host for host in answer["hosts"]} if isinstance(answer, dict) else {}


def main():
    folder, seconds, parts = pathlib.Path(sys.argv[1]), float(sys.argv[2]), sys.argv[3:]
    fleet_kit.LIMIT = 180
    cluster = Cluster(folder)
    subprocess.run([fleet_kit.BIN / "clrscope-fleet", "migrate", "--store", cluster.store()], check=True, stdout=subprocess.DEVNULL)
    servers = []
    for name in ("a", "b"):
        (folder / name).mkdir()
        servers.append(Server(folder / name, store=cluster.store()))
    senders = [Sender(folder, f"web-{server.folder.name}", server) for server in servers]
    names = [sender.name for sender in senders]

    def stored():
        found = hosts(servers[1])
        return [found.get(name, {}).get("storedRequests", 0) for name in names]

    until(lambda: min(stored()) > 0, "both hosts are stored")
    reader = Reader(servers)

    def progress(what):
        before = stored()
        until(lambda: all(now > then for now, then in zip(stored(), before)), f"batches of both hosts are stored {what}")

    reads = {}
    for part in parts:
        before, failures = reader.answers, len(reader.failures)
        if part == "replica":
            cluster.nodes[0].kill()  # one of those that hold the ledger
            progress("without a replica")
            time.sleep(seconds)
            cluster.nodes[0].start()
            cluster.nodes[0].wait()
        elif part == "server":
            servers[0].kill()
            until(lambda: reader.answers > before + 2, "the other server answers")
            servers[0].start()
        elif part == "zookeeper":
            cluster.zookeeper.kill()
            time.sleep(seconds)
            cluster.zookeeper.start()
        else:
            raise SystemExit(f"unknown part: {part}")
        until(lambda: reader.answers > before, f"reads go on after {part}")
        reads[part] = {"answers": reader.answers - before, "failures": len(reader.failures) - failures}
        progress(f"after {part}")

    written = [sender.end() for sender in senders]
    reader.stop.set()
    reader.join()
    expected = [one["requests"] for one in written]
    until(lambda: stored() == expected, f"all is stored: {expected}")
    until(lambda: servers[0].get("/fleet/services")["services"][0]["requests"] == sum(expected), f"services have {sum(expected)}")
    found = hosts(servers[1])
    check(all(host["lostRequests"] == 0 for host in found.values()), f"nothing is lost: {found}")
    most = max(sender.released for sender in senders)
    for batch in range(most):
        answer = servers[1].get(f"/fleet/requests/{batch:016x}{REQUESTS - 1:016x}")
        holders = sorted(one["host"] for one in answer["requests"])
        wanted = sorted(sender.name for sender in senders if sender.released > batch)
        check(holders == wanted, f"batch {batch} is stored once per host: {holders}, not {wanted}")
    # What was cut off by a kill is in no view that counts.
    checked = [str(fleet_kit.BIN / "clrscope-fleet"), "check", "--store", cluster.store(), "--json"]
    views = json.loads(until(lambda: (done := subprocess.run(checked, stdout=subprocess.PIPE, text=True)).returncode == 0 and done.stdout,
                             "the views agree with the requests"))
    for server in servers:
        server.end()
    cluster.stop()
    print(json.dumps({"requests": sum(expected), "batches": sum(sender.released for sender in senders), "reads": reads, "views": views["compared"],
                      "duplicates": sum(host["duplicates"] for host in found.values())}))


if __name__ == "__main__":
    main()

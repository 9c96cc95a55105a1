#!/usr/bin/env python3
"""Tables, views and queries of the ClickHouse store on today's engine: SQLite's answers, and views that agree with the requests.

    check_dialect.py FOLDER LIBRARY ADDS

LIBRARY is libchdb.so (tools/chdb): one server, plain tables. Prints counts as JSON.
"""
import json
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "fleet"))

from cluster import Cluster  # noqa: E402
from fleet_kit import BIN, Server, check, relay, source  # noqa: E402


def fleet(*words):
    done = subprocess.run([BIN / "clrscope-fleet", *words, "--json"], stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


def main():
    folder, library, adds = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    cluster = Cluster(folder, library=library)
    answer = {"engine": cluster.nodes[0].query("SELECT version()")}
    compared = cluster.store("compared")
    answer["migrated"] = fleet("migrate", "--store", compared)["done"]
    answer["again"] = fleet("migrate", "--store", compared)["done"]
    done = subprocess.run([BIN / "store_compare", folder, "1", adds, compared], stdout=subprocess.PIPE, text=True)
    check(done.returncode == 0, "the answers are those of SQLite")
    answer["compared"] = json.loads(done.stdout)

    store = cluster.store("served")
    fleet("migrate", "--store", store)
    server = Server(folder, listen="127.0.0.1:0", store=store)
    sender = relay(f"grpc://{server.address['grpc']}", "--linger", "60s", stdin=subprocess.PIPE)
    writer = source("web-1", "shop", 5, 20, 4, stdout=sender.stdin)
    sender.stdin.close()
    sender.stdin = None
    writer.communicate(timeout=60)
    sender.communicate(timeout=100)
    check(sender.returncode == 0, "all is delivered")
    answer["served"] = server.get("/fleet/flame", service="shop")["requests"]
    answer["check"] = fleet("check", "--store", store)
    server.end()
    cluster.stop()
    print(json.dumps(answer))


if __name__ == "__main__":
    main()

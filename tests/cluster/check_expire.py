#!/usr/bin/env python3
"""Rows of processes that ended are deleted from ClickHouse after the retention; those of living ones still count.

    check_expire.py FOLDER [SHARDS REPLICAS]

Prints counts as JSON.
"""
import json
import os
import pathlib
import subprocess
import sys

from cluster import Cluster, until

BIN = pathlib.Path(os.environ["FLEET_BIN"])


def main():
    folder = pathlib.Path(sys.argv[1])
    cluster = Cluster(folder, *(int(word) for word in sys.argv[2:4] or (0, 0)))
    subprocess.run([BIN / "clrscope-fleet", "migrate", "--store", cluster.store()], check=True, stdout=subprocess.DEVNULL)
    done = subprocess.run([BIN / "store_expire", folder, cluster.store()], check=True, stdout=subprocess.PIPE, text=True)
    answer = json.loads(done.stdout)

    def rows(host):
        return sum(int(node.query(f"SELECT count() FROM clrscope.source WHERE host = '{host}'")) for node in cluster.nodes)
    until(lambda: rows("web-2") == 0, "the rows of the process that ended are deleted")
    answer["rows"] = rows("web-1")
    cluster.stop()
    print(json.dumps(answer))


if __name__ == "__main__":
    main()

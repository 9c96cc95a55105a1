#!/usr/bin/env python3
"""What clrscope-fleet says of a ClickHouse that refuses it or is away.

    check_access.py FOLDER

Prints the exit codes and messages as JSON.
"""
import json
import os
import pathlib
import subprocess
import sys

import cluster

BIN = pathlib.Path(os.environ["FLEET_BIN"])
TEAM = "<team><password>right</password><networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota></team></users>"


def migrate(store, **environment):
    variables = {f"CLRSCOPE_CLICKHOUSE_{name.upper()}": value for name, value in environment.items()}
    done = subprocess.run([BIN / "clrscope-fleet", "migrate", "--store", store], env=os.environ | variables, text=True,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=110)
    return {"code": done.returncode, "says": done.stderr}


def main():
    cluster.USERS = cluster.USERS.replace("</users>", TEAM)
    servers = cluster.Cluster(pathlib.Path(sys.argv[1]), 0, 0)
    store = servers.store()
    answer = {"wrong": migrate(store, user="team", password="wrong"), "stranger": migrate(store, user="nobody"),
              "right": migrate(store, user="team", password="right")}
    servers.stop()
    answer["away"] = migrate(store, user="team", password="right")
    print(json.dumps(answer))


if __name__ == "__main__":
    main()

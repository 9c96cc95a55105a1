#!/usr/bin/env python3
"""Runs a command with a ClickHouse store of its own: one server alone, with tables.

    with_store.py FOLDER COMMAND…

The servers that the command starts with tests/fleet/fleet_kit.py use it (FLEET_STORE).
"""
import os
import pathlib
import subprocess
import sys

from cluster import Cluster


def main():
    cluster = Cluster(sys.argv[1], 0, 0)
    program = pathlib.Path(os.environ["FLEET_BIN"]) / "clrscope-fleet"
    subprocess.run([program, "migrate", "--store", cluster.store()], check=True, stdout=subprocess.DEVNULL)
    done = subprocess.run(sys.argv[2:], env={**os.environ, "FLEET_STORE": cluster.store()})
    cluster.stop()
    sys.exit(done.returncode)


if __name__ == "__main__":
    main()

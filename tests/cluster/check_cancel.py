#!/usr/bin/env python3
"""A query ends in the engine when its HTTP or gRPC client leaves; one that needs too much memory is refused with a hint.

    check_cancel.py FOLDER

The table of requests is replaced by a view without an end (SELECT … FROM system.numbers), so that every query about it runs
until it is killed. Prints what happened as JSON.
"""
import json
import pathlib
import socket
import subprocess
import sys
import time

import grpc

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "fleet"))

from cluster import Cluster, until  # noqa: E402
from fleet_kit import BIN, Server, check, relay, source  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
DB = "clrscope"
ZERO = {"String": "''", "FixedString(16)": "toFixedString('', 16)", "Int64": "toInt64(0)"}


def replace_requests(node, duration, limit):
    """`request` becomes a view of numbers: rows of the committed group, of service shop, now."""
    epoch = int(node.query(f"SELECT max(epoch) FROM {DB}.ledger_commit"))
    now = int(time.time())
    known = {"service": "'shop'", "bucket": f"toUInt32({now // 10})", "begin": f"toInt64({now}000000000)", "epoch": f"toUInt64({epoch})",
             "seq": "toUInt32(1)", "flags": "toUInt8(1)", "spans": "toUInt32(1)", "duration": duration}
    columns = []
    for line in node.query(f"SELECT name, type FROM system.columns WHERE database = '{DB}' AND table = 'request_data'").splitlines():
        name, kind = line.split("\t")
        zero = ZERO.get(kind) or (f"emptyArray{kind[6:-1]}()" if kind.startswith("Array") else f"to{kind}(0)")
        columns.append(f"{known.get(name, zero)} AS {name}")
    node.query(f"DROP TABLE IF EXISTS {DB}.request")
    node.query(f"CREATE VIEW {DB}.request AS SELECT {', '.join(columns)} FROM (SELECT number FROM system.numbers {limit})")


def running(node):
    return int(node.query("SELECT count() FROM system.processes WHERE query LIKE '%FROM request WHERE%' AND query_id LIKE 'clrscope-%'"))


def main():
    folder = pathlib.Path(sys.argv[1])
    cluster = Cluster(folder, 0, 0)
    node = cluster.nodes[0]
    subprocess.run([BIN / "clrscope-fleet", "migrate", "--store", cluster.store()], check=True, stdout=subprocess.DEVNULL)
    server = Server(folder, "--query-memory", "40MB", listen="127.0.0.1:0", store=cluster.store())
    sender = relay(f"grpc://{server.address['grpc']}", "--linger", "60s", stdin=subprocess.PIPE)
    writer = source("web-1", "shop", 1, 20, 4, stdout=sender.stdin)
    sender.stdin.close()
    sender.stdin = None
    writer.communicate(timeout=60)
    sender.communicate(timeout=100)
    check(server.get("/fleet/flame", service="shop")["requests"] == 20, "the requests are there")
    node.query(f"DROP TABLE {DB}.request_to_trace")
    for view in ("service_10s", "latency_5m", "latency_1h", "flame_feed"):
        node.query(f"DROP TABLE {DB}.request_to_{view}")
    node.query(f"RENAME TABLE {DB}.request TO {DB}.request_data")

    # More distinct durations than fit into the memory of a query.
    replace_requests(node, "number", "LIMIT 4000000")
    code, problem = server.ask("/fleet/requests", {"service": "shop", "fromPercentile": 99})
    answer = {"memory": code, "hint": problem.get("hint", ""), "detail": problem.get("detail", "")}

    # Endless: each ends because its client left, long before the engine's own limit of 30 s.
    replace_requests(node, "toUInt64(1000000)", "")
    host, port = server.address["http"].removeprefix("http://").split(":")
    for path in ("series", "points"):
        client = socket.create_connection((host, int(port)))
        client.sendall(f"GET /fleet/{path}?service=shop&by=host HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode())
        until(lambda: running(node) > 0, f"the query of {path} runs in the engine")
        client.close()
        until(lambda: running(node) == 0, f"the query of {path} ends after its HTTP client left", 25)
    # SeriesRequest of the service shop, by host.
    with grpc.insecure_channel(server.address["grpc"]) as channel:
        call = channel.unary_unary("/clrscope.fleet.v1.Query/Series").future(b"\x0a\x06\x12\x04shop\x10\x02", timeout=100)
        until(lambda: running(node) > 0, "the query of a gRPC client runs in the engine")
        check(not call.done(), "its answer has not come")
        call.cancel()
        until(lambda: running(node) == 0, "the query ends after its gRPC client left", 25)
    killed = (folder / "cluster/alone/errors").read_text()
    answer["http"] = "cancelled" if "Code: 394" in killed or "was cancelled" in killed else killed[-300:]
    check(server.get("/health")["status"] == "ok", "the server goes on")
    server.end()
    cluster.stop()
    print(json.dumps(answer))


if __name__ == "__main__":
    main()

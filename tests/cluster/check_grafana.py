#!/usr/bin/env python3
"""Every query of the Grafana dashboard (docs/grafana/fleet-dashboard.json) runs, and tells what the fleet server tells.

    check_grafana.py FOLDER [SHARDS REPLICAS [LIBRARY]]

LIBRARY: today's engine (tools/chdb). Variables are replaced as Grafana does. REST queries go to a fleet server, SQL to the first ClickHouse server. Prints counts as JSON.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import time
import urllib.parse
import urllib.request

from cluster import Cluster

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "fleet"))

from fleet_kit import Server, check, relay, source, until  # noqa: E402

DASHBOARD = HERE.parent.parent / "docs/grafana/fleet-dashboard.json"
TYPES = {"string": str, "number": (int, float), "timestamp": str}
STEP = 10  # seconds


def send(server, host, service, requests):
    sender = relay(f"grpc://{server.address['grpc']}", "--linger", "60s", stdin=subprocess.PIPE)
    writer = source(host, service, 3, requests, 4, stdout=sender.stdin)
    sender.stdin.close()
    sender.stdin = None
    writer.communicate(timeout=60)
    sender.communicate(timeout=100)
    check(sender.returncode == 0, "all is delivered")


def send_span(server):
    """Twice: it counts once."""
    now = time.time_ns()
    span = {"traceId": "ab" * 16, "spanId": "cd" * 8, "name": "GET", "startTimeUnixNano": str(now), "endTimeUnixNano": str(now + 10**6), "status": {"code": 2}}
    body = {"resourceSpans": [{"resource": {"attributes": [{"key": "service.name", "value": {"stringValue": "gateway"}}]}, "scopeSpans": [{"spans": [span]}]}]}
    for _ in range(2):
        request = urllib.request.Request(server.address["http"] + "/v1/traces", json.dumps(body).encode(), {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            check(answer.read() == b"{}", "a span is taken")


class Grafana:
    """Replaces variables and asks the data sources."""

    def __init__(self, server, node, suffix, begin, end):
        self.server, self.node = server, node
        self.range = {"from": begin, "to": end}
        service = "shop"
        self.values = {"__from": begin * 1000, "__to": end * 1000, "__from:date:seconds": begin, "__to:date:seconds": end, "__interval": f"{STEP}s",
                       "__interval_ms": STEP * 1000, "service": service, "service:percentencode": urllib.parse.quote(service), "service:sqlstring": f"'{service}'",
                       "database": "clrscope", "suffix": suffix}

    def text(self, text):
        return re.sub(r"\$\{([^}]+)\}", lambda found: str(self.values[found[1]]), text)

    def rows(self, target):
        if "rawSql" in target:
            return json.loads(self.node.query(self.text(target["rawSql"]) + " FORMAT JSON"))["data"]
        with urllib.request.urlopen(self.server.address["http"] + self.text(target["url"]), timeout=60) as answer:
            rows = json.load(answer)[target["root_selector"]]
        for row in rows:
            for column in target["columns"]:
                value = row.get(column["selector"])
                check(isinstance(value, TYPES[column["type"]]), f"{target['url']}: {column} is {value!r}")
        return rows


def main(folder, shards=0, replicas=0, library=None):
    cluster = Cluster(folder, int(shards), int(replicas), library)
    node = cluster.nodes[0]
    program = pathlib.Path(os.environ["FLEET_BIN"]) / "clrscope-fleet"
    subprocess.run([program, "migrate", "--store", cluster.store()], check=True, stdout=subprocess.DEVNULL)
    begin = int(time.time()) // STEP * STEP - 60
    server = Server(folder, listen="127.0.0.1:0", store=cluster.store())
    send(server, "web-1", "shop", 40)
    send(server, "web-2", "shop", 30)
    send(server, "web-3", "billing", 10)
    send_span(server)
    # Rows that nobody committed, as a server leaves them that dies: they must not count.
    suffix = "_all" if int(shards) else ""
    node.query(f"INSERT INTO clrscope.request{suffix} (service, bucket, begin, duration, epoch, seq, batch) VALUES ('shop', {begin // 10}, {begin * 10**9}, 7, 3, 1, 9)")
    grafana = Grafana(server, node, suffix, begin, begin + 3600)
    requests = {"shop": 210, "billing": 30}
    until(lambda: {one["service"]: one["requests"] for one in server.get("/fleet/services")["services"]} == requests, "all replicas have all")

    document = json.loads(DASHBOARD.read_text())
    variable = document["templating"]["list"][0]["query"]["infinityQuery"]
    check([one["service"] for one in grafana.rows(variable)] == ["billing", "shop"], "the variable service")
    found = {panel["title"]: [row for target in panel["targets"] for row in grafana.rows(target)] for panel in document["panels"]}
    for title, rows in found.items():
        check(rows, f"{title}: no rows")

    def total(title, group, value):
        sums = {}
        for row in found[title]:
            sums[row[group]] = sums.get(row[group], 0) + float(row[value]) * STEP
        return {name: round(count) for name, count in sums.items()}

    check(total("Requests per second, by service", "group", "perSecond") == requests, f"{found['Requests per second, by service']}")
    check(total("Requests per second, by service (SQL)", "service", "per_second") == requests, f"{found['Requests per second, by service (SQL)']}")
    # The same percentiles by both ways.
    by_rest = server.get("/fleet/points", by="service", service="shop", step=f"{STEP}s", **grafana.range)["points"]
    by_sql = found["Latency of ${service} (SQL)"]
    same = [(round(float(row["p50"]), 6), round(float(row["p99"]), 6)) for row in by_sql]
    check(same == [(point["p50Ms"], point["p99Ms"]) for point in by_rest], f"{by_sql} is not {by_rest}")
    routes = {one["route"]: (one["requests"], one["errors"]) for one in server.get("/fleet/routes", service="shop", **grafana.range)["routes"]}
    check({row["route_name"]: (int(row["requests"]), int(row["errors"])) for row in found["Errors of ${service}, by route (SQL)"]} == routes, f"{routes}")
    flame = server.get("/fleet/flame", service="shop", **grafana.range)
    methods = found["Running time of ${service}, by method (SQL)"]
    check(abs(sum(float(row["self_ms"]) for row in methods) - flame["totalMs"]) < 1e-3 and sum(int(row["call_count"]) for row in methods) == flame["spans"], f"{methods}")
    [spans] = found["Spans of other tracers, by service (SQL)"]
    check((spans["service"], int(spans["spans"]), int(spans["traces"])) == ("gateway", 1, 1), f"{spans}")
    server.end()
    cluster.stop()
    print(json.dumps({"panels": len(document["panels"]), "rows": sum(map(len, found.values()))}))


if __name__ == "__main__":
    main(*sys.argv[1:])

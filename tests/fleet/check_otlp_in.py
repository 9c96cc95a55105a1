#!/usr/bin/env python3
"""Spans of OpenTelemetry's SDK, sent by all of its exporters, appear in the trace of a recorded request, each once; bad ones are
counted, and whatever else is sent is refused.

    check_otlp_in.py FOLDER
"""
import gzip
import http.client
import json
import pathlib
import subprocess
import sys
import time
import urllib.parse
from datetime import datetime

from fleet_kit import BIN, Server, check, relay, source

HERE = pathlib.Path(__file__).parent


def make_token(folder, scope):
    return subprocess.run([BIN / "clrscope-fleet", "token", "--token-file", folder / "tokens", "--name", scope, "--scope", scope],
                          check=True, capture_output=True, text=True).stdout.strip()


def post(server, body, token=None, **headers):
    """Status and body of POST /v1/traces."""
    address = urllib.parse.urlparse(server.address["http"])
    line = http.client.HTTPConnection(address.hostname, address.port, timeout=60)
    fields = {name.replace("_", "-"): value for name, value in headers.items()}
    if token:
        fields["Authorization"] = f"Bearer {token}"
    try:
        line.request("POST", "/v1/traces", body, fields)
        answer = line.getresponse()
        return answer.status, answer.read()
    except ConnectionError:  # it was refused before all of it was sent
        return None, b""
    finally:
        line.close()


def span(**fields):
    now = time.time_ns()
    return {"traceId": "5b8efff798038103d269b633813fc60c", "spanId": "eee19b7ec3c1b174", "name": "I'm a server span", "kind": 2,
            "startTimeUnixNano": str(now), "endTimeUnixNano": str(now + 1_000_000), **fields}


def request(*spans):
    service = {"key": "service.name", "value": {"stringValue": "my.service"}}
    return {"resourceSpans": [{"resource": {"attributes": [service]}, "scopeSpans": [{"scope": {"name": "lib"}, "spans": list(spans)}]}], "unknown": 1}


def by_sdk(server, tokens, readable):
    """The three exporters of the SDK, each with a request that clrscope recorded."""
    urls = {"proto": server.address["http"] + "/v1/traces", "json": server.address["http"] + "/v1/traces", "grpc": "http://" + server.address["grpc"]}
    for number, (kind, url) in enumerate(urls.items(), 1):
        trace = f"{0:016x}{number:016x}"
        [recorded] = readable(trace)["requests"]
        start = datetime.fromisoformat(recorded["startTime"].replace("Z", "+00:00")).timestamp() * 1000
        words = [trace, str(start), str(recorded["durationMs"])]
        refused = run_sdk(kind, url, tokens["read"], *words)
        check(all(one["code"] != 0 for one in refused["outcomes"]), f"{kind}: a read token sends nothing: {refused}")
        check("otlpSpans" not in readable(trace), f"{kind}: nothing is stored")
        sent = run_sdk(kind, url, tokens["ingest"], *words)
        check(all(one["code"] == 0 for one in sent["outcomes"]), f"{kind}: {sent}")
        found = readable(trace)
        check(len(found["requests"]) == 1 and len(found["otlpSpans"]) == sent["spans"] == 3, f"{kind}: each span once: {found}")
        spans = {one["name"]: one for one in found["otlpSpans"]}
        root = spans["GET /checkout"]
        check((root["service"], root["host"], root["version"], root["kind"], root["scope"]) == ("gateway", "gateway-host", "3.1", "server", "gateway-instrumentation"), f"{root}")
        check({one["key"]: one["value"] for one in root["attributes"]} == {"http.request.method": "GET", "user.tags": "[a, b]", "retry.count": "2"}, f"{root}")
        check(spans["GET"]["parentSpanId"] == root["spanId"] and "parentSpanId" not in root, f"{spans}")
        check((spans["SELECT stock"]["status"], spans["SELECT stock"]["statusMessage"]) == ("error", "no such item"), f"{spans}")
        # gateway > its call > the request of clrscope > the service that it calls
        chain = [(line["kind"], line["parent"], line.get("placedBy")) for line in found["lines"]]
        check(chain == [("span", 0, None), ("span", 1, "spanId"), ("request", 2, "time"), ("span", 3, "time")], f"{kind}: {found['lines']}")


def run_sdk(kind, url, token, *words):
    done = subprocess.run(["node", HERE / "otlp_export.mjs", kind, url, token, *words], check=True, capture_output=True, text=True, timeout=100)
    return json.loads(done.stdout)


def by_hand(server, token, readable):
    """What the SDK never sends."""
    post_json = lambda message: post(server, json.dumps(message), token, Content_Type="application/json")  # noqa: E731
    old = str(time.time_ns() - 30 * 86_400 * 10**9)
    status, body = post_json(request(span(), span(spanId=""), span(traceId="12345678"), span(spanId="zz" * 8), span(startTimeUnixNano=old), span(parentSpanId="abcd")))
    check(status == 200 and json.loads(body)["partialSuccess"]["rejectedSpans"] == "5", f"{status} {body}")
    [only] = readable("5b8efff798038103d269b633813fc60c")["otlpSpans"]
    check(only["name"] == "I'm a server span" and only["service"] == "my.service", f"{only}")
    many = [{"key": f"k{i}", "value": {"stringValue": "é" * 5000}} for i in range(100)]
    trace = "ff" * 16
    check(post_json(request(span(traceId=trace, attributes=many, kind=77))) == (200, b"{}"), "long attributes are cut")
    [cut] = readable(trace)["otlpSpans"]
    check(len(cut["attributes"]) == 64 and cut["attributesDropped"] == 36 and cut["attributes"][0]["value"] == "é" * 512 and cut["kind"] == "unspecified", f"{cut}")
    for body, headers, expected in (
            ("{", {"Content_Type": "application/json"}, 400),
            ("[" * 100_000, {"Content_Type": "application/json"}, 400),
            (json.dumps({"resourceSpans": 3}), {"Content_Type": "application/json; charset=utf-8"}, 400),
            (b"\xff" * 50, {"Content_Type": "application/x-protobuf"}, 400),
            ("{}", {"Content_Type": "text/plain"}, 415),
            ("{}", {}, 415),
            ("{}", {"Content_Type": "application/json", "Content_Encoding": "br"}, 415),
            ("{}", {"Content_Type": "application/json", "Content_Encoding": "gzip"}, 400),
            (gzip.compress(b"{}")[:-5], {"Content_Type": "application/json", "Content_Encoding": "gzip"}, 400),
            (gzip.compress(b" " * (64 << 20)), {"Content_Type": "application/json", "Content_Encoding": "gzip"}, 413),
            ("{}", {"Content_Type": "application/json", "Origin": "http://evil.example", "Sec_Fetch_Site": "cross-site"}, 403)):
        status, _ = post(server, body, token, **headers)
        check(status == expected, f"{body[:20]!r} {headers}: {expected}, not {status}")
    status, _ = post(server, b" " * (5 << 20), token, Content_Type="application/json")
    check(status in (413, None), f"a large body: {status}")
    check(post(server, "{}", Content_Type="application/json")[0] == 401, "no token")
    check(post(server, gzip.compress(b"{}"), token, Content_Type="application/json", Content_Encoding="gzip") == (200, b"{}"), "gzip")


def main(folder):
    folder = pathlib.Path(folder)
    folder.mkdir(exist_ok=True)
    tokens = {scope: make_token(folder, scope) for scope in ("ingest", "read")}
    server = Server(folder, "--token-file", str(folder / "tokens"), listen="127.0.0.1:0")
    (folder / "token").write_text(tokens["ingest"])
    sender = relay(f"grpc://{server.address['grpc']}", "--token-file", str(folder / "token"), "--linger", "60s", stdin=subprocess.PIPE)
    writer = source("web-1", "shop", 1, 10, 4, stdout=sender.stdin)
    sender.stdin.close()
    sender.stdin = None
    writer.communicate(timeout=60)
    sender.communicate(timeout=100)
    check(sender.returncode == 0, "the relay delivers")
    readable = lambda trace: server.get(f"/fleet/requests/{trace}", token=tokens["read"])  # noqa: E731
    by_sdk(server, tokens, readable)
    by_hand(server, tokens["ingest"], readable)
    server.kill()
    server.start()
    check(len(readable(f"{0:016x}{1:016x}")["otlpSpans"]) == 3, "spans outlive the server")
    check(readable("ab" * 16) == 404, "an unknown trace")
    server.end()
    print("OTLP in: ok")


main(sys.argv[1])

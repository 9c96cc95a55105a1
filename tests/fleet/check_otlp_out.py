#!/usr/bin/env python3
"""What the fleet server stores goes to a collector as OTLP spans: decoded with OpenTelemetry's own definitions they are the requests of
the store, each span once although the collector was away at first. Over gRPC, another fleet server takes them.

    check_otlp_out.py FOLDER PROTOS
"""
import http.server
import json
import pathlib
import subprocess
import sys
import threading

sys.path.insert(0, sys.argv[2])
sys.dont_write_bytecode = True

from fleet_kit import BIN, Server, check, relay, source, until  # noqa: E402
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2  # noqa: E402

REQUESTS, SPANS = 30, 5


class Collector(http.server.BaseHTTPRequestHandler):
    """Refuses twice, then takes all."""
    protocol_version = "HTTP/1.1"
    refusals, found, keys = 2, [], set()

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        kind = type(self)
        status = 503 if kind.refusals > 0 else 200
        kind.refusals -= 1
        if status == 200:
            check(self.path == "/v1/traces" and self.headers["Content-Type"] == "application/x-protobuf", self.path)
            kind.keys.add(self.headers["X-Key"])
            message = trace_service_pb2.ExportTraceServiceRequest()
            message.ParseFromString(body)
            kind.found.append(message)
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def send(server, requests):
    sender = relay(f"grpc://{server.address['grpc']}", "--linger", "60s", stdin=subprocess.PIPE)
    writer = source("web-1", "shop", 2, requests, SPANS, stdout=sender.stdin)
    sender.stdin.close()
    sender.stdin = None
    writer.communicate(timeout=60)
    sender.communicate(timeout=100)
    check(sender.returncode == 0, "the relay delivers")


def plain(attributes):
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in attributes}


def spans_of(messages):
    """Trace id → span id → span, and the resources."""
    traces, resources, count = {}, [], 0
    for message in messages:
        for resource in message.resource_spans:
            resources.append(plain(resource.resource.attributes))
            for scope in resource.scope_spans:
                check(scope.scope.name == "clrscope", f"{scope.scope}")
                for span in scope.spans:
                    traces.setdefault(span.trace_id.hex(), {})[span.span_id] = span
                    count += 1
    return traces, resources, count


def to_collector(folder):
    web = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Collector)
    threading.Thread(target=web.serve_forever, daemon=True).start()
    (folder / "headers").write_text("X-Key: secret-17\n")
    server = Server(folder, "--otlp-to", f"http://127.0.0.1:{web.server_address[1]}", "--otlp-header-file", str(folder / "headers"), listen="127.0.0.1:0")
    send(server, REQUESTS)
    # The first request has no trace id.
    expected = (2 * REQUESTS - 1) * (SPANS + 1)
    until(lambda: spans_of(list(Collector.found))[2] >= expected, f"{expected} spans arrive")
    traces, resources, count = spans_of(Collector.found)
    check(count == expected and sum(map(len, traces.values())) == expected, f"each span once: {count} of {expected}")
    check(Collector.keys == {"secret-17"}, f"{Collector.keys}")
    check(all(one["service.name"] == "shop" and one["host.name"] == "web-1" and one["service.version"] == "1.0" for one in resources), f"{resources}")
    for trace, spans in traces.items():
        [stored] = server.get(f"/fleet/requests/{trace}")["requests"]
        [root] = [one for one in spans.values() if not one.parent_span_id]
        known = plain(root.attributes)
        check(root.name == f"{stored['method']} {stored['route']}" and root.kind == 2, f"{root} is {stored}")
        check((known["http.request.method"], known["http.route"], known["url.path"], known["http.response.status_code"]) ==
              (stored["method"], stored["route"], stored["path"], stored["status"]), f"{known}")
        check(root.status.code == (2 if stored["status"] >= 500 else 0), f"{root.status}")
        check(abs(root.end_time_unix_nano - root.start_time_unix_nano - stored["durationMs"] * 1e6) < 1, f"{root}")
        # The calls of the request, with their callers.
        path = lambda span: path(spans[span.parent_span_id]) + [span.name] if span.parent_span_id else []  # noqa: E731
        sent = sorted((path(one), one.end_time_unix_nano - one.start_time_unix_nano, one.start_time_unix_nano - root.start_time_unix_nano) for one in spans.values() if one.parent_span_id)
        chain = lambda at: chain(stored["spans"][at - 1]["parent"]) + [stored["spans"][at - 1]["method"]] if at else []  # noqa: E731
        kept = sorted((chain(i + 1), round(one["durationMs"] * 1e6), round(one["startMs"] * 1e6)) for i, one in enumerate(stored["spans"]))
        check(sent == kept, f"{trace}: {sent} is not {kept}")
    server.end()
    web.shutdown()
    return expected


def to_fleet(folder):
    """Another server takes the spans over gRPC, with a token in a header."""
    (folder / "second").mkdir()
    token = subprocess.run([BIN / "clrscope-fleet", "token", "--token-file", folder / "tokens", "--name", "both", "--scope", "ingest,read"],
                           check=True, capture_output=True, text=True).stdout.strip()
    (folder / "authorization").write_text(f"authorization: Bearer {token}\n")
    second = Server(folder / "second", "--token-file", str(folder / "tokens"), listen="127.0.0.1:0")
    (folder / "first").mkdir()
    first = Server(folder / "first", "--otlp-to", f"grpc://{second.address['grpc']}", "--otlp-header-file", str(folder / "authorization"), listen="127.0.0.1:0")
    send(first, 5)
    trace = f"{1:016x}{4:016x}"
    answer = lambda: second.get(f"/fleet/requests/{trace}", token=token)  # noqa: E731
    found = until(lambda: answer() != 404 and answer(), "the spans arrive at the second server")
    check(found["requests"] == [] and len(found["otlpSpans"]) == SPANS + 1, f"{found}")
    check([line["parent"] for line in found["lines"]] == list(range(SPANS + 1)), f"calls nest: {found['lines']}")
    first.end()
    second.end()


def main(folder):
    folder = pathlib.Path(folder)
    spans = to_collector(folder)
    to_fleet(folder)
    print(json.dumps({"spans": spans}))


main(sys.argv[1])

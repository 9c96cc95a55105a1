#!/usr/bin/env python3
"""CPU samples of the fleet server as OTLP profiles: decoded by another implementation they are the flame graph of the store, and every
sample links to a span that was sent. A collector that does not take profiles gets the spans all the same.

    check_otlp_profiles.py FOLDER
"""
import base64
import http.server
import json
import pathlib
import subprocess
import sys
import threading

from fleet_kit import BIN, Server, check, relay, source, start, until

BATCHES, REQUESTS, SPANS = 3, 20, 5


def send(server):
    sender = relay(f"grpc://{server.address['grpc']}", "--linger", "60s", stdin=subprocess.PIPE)
    writer = source("web-1", "shop", BATCHES, REQUESTS, SPANS, stdout=sender.stdin)
    sender.stdin.close()
    sender.stdin = None
    writer.communicate(timeout=60)
    sender.communicate(timeout=100)
    check(sender.returncode == 0, "the relay delivers")


def stored_times(flame):
    """Call path → CPU time of its own."""
    times, path = {}, []
    for name, depth, own in zip(flame["name"], flame["depth"], flame["selfNs"]):
        path[depth:] = [flame["names"][name]]
        if own:
            times[tuple(path)] = own
    return times


def sent_times(messages, spans):
    times = {}
    for message in messages:
        tables = message["dictionary"]
        text = tables["stringTable"]
        check(text[0] == "" and tables["stackTable"][0]["locationIndices"] == [] and tables["linkTable"][0]["spanId"] == "", "element 0 is empty")
        check(len(set(text)) == len(text), "each text once")
        [resource] = message["resourceProfiles"]
        known = {one["key"]: one["value"] for one in resource["resource"]["attributes"]}
        check(known["service.name"]["stringValue"] == "shop" and known["host.name"]["stringValue"] == "web-1", f"{known}")
        [scope] = resource["scopeProfiles"]
        [profile] = scope["profiles"]
        kind = profile["sampleType"]
        check((scope["scope"]["name"], text[kind["typeStrindex"]], text[kind["unitStrindex"]]) == ("clrscope", "cpu", "nanoseconds"), f"{kind}")
        check(len(base64.b64decode(profile["profileId"])) == 16, "a profile has an id")
        begin = int(profile["timeUnixNano"])
        for sample in profile["samples"]:
            check(len(sample["values"]) == len(sample["timestampsUnixNano"]), "a time for each value")
            check(all(begin <= int(one) <= begin + int(profile["durationNano"]) for one in sample["timestampsUnixNano"]), "times are in the profile")
            functions = [tables["locationTable"][at]["lines"][0]["functionIndex"] for at in tables["stackTable"][sample["stackIndex"]]["locationIndices"]]
            path = tuple(text[tables["functionTable"][at]["nameStrindex"]] for at in reversed(functions))
            times[path] = times.get(path, 0) + sum(map(int, sample["values"]))
            if sample["linkIndex"]:
                link = tables["linkTable"][sample["linkIndex"]]
                span = spans.get((link["traceId"], link["spanId"]))
                check(span, f"{link} is a span that was sent")
                begun, ended = int(span["start_time_unix_nano"]), int(span["end_time_unix_nano"])
                check(all(begun <= int(one) <= ended for one in sample["timestampsUnixNano"]), f"its samples are in the span {span}")
    return times


def compared(folder):
    collector = start("node", pathlib.Path(__file__).parent / "profiles.mjs", stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    port = collector.stdout.readline().strip()
    server = Server(folder, "--otlp-to", f"http://127.0.0.1:{port}", "--otlp-profiles", listen="127.0.0.1:0")
    send(server)

    def found():
        collector.stdin.write("\n")
        collector.stdin.flush()
        return json.loads(collector.stdout.readline())

    flame = server.get("/fleet/flame", service="shop", by="cpu")
    expected = stored_times(flame)
    samples = lambda one: sum(len(sample["values"]) for m in one["/v1development/profiles"] for sample in m["resourceProfiles"][0]["scopeProfiles"][0]["profiles"][0]["samples"])  # noqa: E731
    until(lambda: samples(found()) >= flame["samples"], f"{flame['samples']} samples arrive")
    server.end()  # all spans have been sent
    got = found()
    spans = {(span["trace_id"], span["span_id"]): span for message in got["/v1/traces"] for resource in message["resource_spans"] for scope in resource["scope_spans"] for span in scope["spans"]}
    check(samples(got) == flame["samples"] == BATCHES * REQUESTS * 2, f"each sample once: {samples(got)}")
    times = sent_times(got["/v1development/profiles"], spans)
    check(times == expected and len(times) > 1, f"{times} is not {expected}")
    collector.kill()
    return samples(got)


class OnlySpans(http.server.BaseHTTPRequestHandler):
    """An older collector."""
    protocol_version = "HTTP/1.1"
    paths = []

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        type(self).paths.append(self.path)
        self.send_response(200 if self.path == "/v1/traces" else 404)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def refused(folder):
    folder.mkdir()
    web = http.server.ThreadingHTTPServer(("127.0.0.1", 0), OnlySpans)
    threading.Thread(target=web.serve_forever, daemon=True).start()
    words = [BIN / "clrscope-fleet", "serve", "--store", f"sqlite:{folder}/fleet.db", "--no-auth", "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0", "--json"]
    refusal = subprocess.run([*words, "--otlp-profiles", "--otlp-to", "http://127.0.0.1:1/v1/traces"], capture_output=True, text=True)
    check(refusal.returncode == 3 and "has a path" in refusal.stderr, f"one path cannot be that of both: {refusal}")
    with open(folder / "log", "w") as log:
        process = start(*words, "--otlp-profiles", "--otlp-to", f"http://127.0.0.1:{web.server_address[1]}", stdout=subprocess.PIPE, stderr=log)
        server = type("Started", (), {"address": json.loads(process.stdout.readline())})
        send(server)
        until(lambda: OnlySpans.paths.count("/v1development/profiles") == BATCHES and "/v1/traces" in OnlySpans.paths, "both are tried")
        process.terminate()
        check(process.wait(30) == 0, "the server ends")
    said = (folder / "log").read_text()
    check(f"profiles to the collector: delivered 0, waiting 0 B, dropped 0, rejected {BATCHES}" in said, said)
    check("404" in said and f"spans to the collector: delivered {(BATCHES * REQUESTS - 1) * (SPANS + 1)}," in said, said)


def main(folder):
    folder = pathlib.Path(folder)
    samples = compared(folder)
    refused(folder / "older")
    print(json.dumps({"samples": samples}))


main(sys.argv[1])

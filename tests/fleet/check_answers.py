#!/usr/bin/env python3
"""Whether every JSON answer of a fleet server is what docs/fleet-openapi.json says. Unknown members are errors.

    check_answers.py FOLDER OPENAPI
"""
import json
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "e2e"))

from fleet_kit import Server, check, relay, source  # noqa: E402
from schemas import Schemas  # noqa: E402

# Route → the questions it is asked: path, query, status.
SHOP = {"service": "shop"}
CALLS = {
    "/fleet/services": [({}, 200), ({"last": "never"}, 400)],
    "/fleet/routes": [(SHOP | {"step": "10s"}, 200), ({}, 400)],
    "/fleet/series": [(SHOP | {"by": by, "step": "10s", "last": "1h"}, 200) for by in ("service", "version", "host", "route", "status")] + [({"by": "x"}, 400)],
    "/fleet/flame": [(SHOP | {"fromPercentile": 50}, 200), (SHOP | {"fromPercentile": 101}, 400)],
    "/fleet/compare": [(SHOP | {"version": "1.0", "baseVersion": "1.1"}, 200), (SHOP | {"last": "1h", "baseShift": "1d"}, 200), (SHOP, 400),
                       (SHOP | {"baseShift": "0s"}, 400), (SHOP | {"baseFrom": 7, "baseTo": 5}, 400)],
    "/fleet/compare/flame": [(SHOP | {"baseFrom": 0, "baseTo": 5}, 200), (SHOP | {"baseHost": "web-2", "by": "cpu"}, 200), (SHOP | {"baseShift": "x"}, 400)],
    "/fleet/requests": [(SHOP | {"limit": 5}, 200), (SHOP | {"limit": 0}, 400)],
    "/fleet/requests/{traceId}": [({"traceId": f"{0:016x}{1:016x}"}, 200), ({"traceId": "ab" * 16}, 404), ({"traceId": "x"}, 400)],
    "/fleet/hosts": [({}, 200), ({"last": "1h"}, 200)],
    "/fleet/configurations": [({}, 200), (SHOP, 200)],
    "/fleet/tenants": [({}, 200)],
    "/fleet/status": [({}, 200)],
    "/health": [({}, 200)],
    "/health/ready": [({}, 200)],
    "/openapi.json": [({}, 200)],
}


def main(folder, openapi):
    document = json.loads(pathlib.Path(openapi).read_text())
    schemas = Schemas(document)
    server = Server(folder, listen="127.0.0.1:0")
    sender = relay(f"grpc://{server.address['grpc']}", "--linger", "60s", stdin=subprocess.PIPE)
    writer = source("web-1", "shop", 2, 20, 5, stdout=sender.stdin)
    sender.stdin.close()
    sender.stdin = None
    writer.communicate(timeout=60)
    sender.communicate(timeout=100)
    check(sender.returncode == 0, "all is delivered")
    check(set(CALLS) == set(document["paths"]), f"every route is asked: {sorted(set(CALLS) ^ set(document['paths']))}")
    changes = document["paths"]["/fleet/configurations"]["post"]["responses"]
    body = SHOP | {"basedOn": 0, "include": ["Shop"], "percent": 50}
    for status in ("200", "409"):  # the second time it is not based on the newest version
        code, answer = server.post("/fleet/configurations", body)
        check(str(code) == status, f"a change: {status}, not {code}: {answer}")
        for content in changes[status]["content"].values():
            check(not schemas.errors(content["schema"], answer), f"a change: {schemas.errors(content['schema'], answer)[:3]}")
    for route, questions in CALLS.items():
        for words, status in questions:
            words = dict(words)
            path = route.replace("{traceId}", words.pop("traceId")) if "{" in route else route
            code, answer = server.ask(path, words)
            check(code == status, f"{path} {words}: {status}, not {code}: {answer}")
            for content in document["paths"][route]["get"]["responses"][str(code)].get("content", {}).values():
                errors = schemas.errors(content["schema"], answer)
                check(not errors, f"{path} {words}: {errors[:3]}")
    server.end()
    print("answers: ok")


main(*sys.argv[1:])

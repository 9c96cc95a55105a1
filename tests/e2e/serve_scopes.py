#!/usr/bin/env python3
"""Each route of openapi.json with each kind of key: who may is let in, who may not is told so.

    serve_scopes.py            every route × no key, and a key of each scope
    serve_scopes.py read-only  the same server with --read-only: nothing beyond metrics and read
"""
import sys

from serve_kit import SCOPES, Serve, check, finish


def ask(serve, method, path, key):
    # No process has this number, and no body says anything: nothing is begun, whoever asks.
    place = path.replace("{", "").replace("}", "") + "?pid=2147483647"
    return serve.ask(place, method, key=key, whole=False, timeout=30)


def refused(answer):
    return answer.status == 401 or (answer.status == 403 and "needs the scope" in answer.text)


def main():
    read_only = sys.argv[1:] == ["read-only"]
    options = ["--read-only"] if read_only else []
    with Serve(*options) as serve:
        keys = {scope: serve.key(scope)["key"] for scope in SCOPES}
        serve.keys_known()
        paths = serve.ask("/openapi.json").json()["paths"]
        routes = [(method.upper(), path, route["x-scope"]) for path, methods in paths.items()
                  for method, route in methods.items()]
        check(len(routes) >= 25, f"there are {len(routes)} routes")
        count = 0
        for method, path, scope in routes:
            count += 1
            nobody = ask(serve, method, path, None)
            if scope == "open":
                check(nobody.status not in (401, 403) or path in ("/sign-in", "/sign-out"), f"{method} {path} is open: {nobody.status}")
            else:
                check(nobody.status == 401, f"{method} {path} without a key: 401, not {nobody.status}")
            for kind in SCOPES:
                count += 1
                may = scope == "open" or kind == scope or kind == "admin"
                if read_only:
                    may = scope == "open" or (scope in ("metrics", "read") and (kind in (scope, "admin")))
                answer = ask(serve, method, path, keys[kind])
                check(refused(answer) != may, f"{method} {path} ({scope}) with a key for {kind}: {answer.status} {answer.text[:100]}")
        print(f"{count} requests to {len(routes)} routes")
    finish()


main()

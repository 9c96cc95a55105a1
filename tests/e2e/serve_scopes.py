#!/usr/bin/env python3
"""Each route of openapi.json with each kind of key: permitted calls succeed, others get 403.

    serve_scopes.py            every route × no key, and a key of each scope
    serve_scopes.py read-only  the same server with --read-only: nothing beyond metrics and read
    serve_scopes.py words PID  what a program says (logs, events, messages of its exceptions) is for who may record it; PID says "no stock"
"""
import concurrent.futures
import sys

from serve_kit import SCOPES, Serve, check, finish, until


def ask(serve, method, path, key):
    # No process has this number, and no body says anything: nothing is begun, whoever asks.
    place = path.replace("{", "").replace("}", "") + "?pid=2147483647"
    return serve.ask(place, method, key=key, whole=False, timeout=30)


def refused(answer):
    return answer.status == 401 or (answer.status == 403 and "needs the scope" in answer.text)


SAID = "no stock"


def heard(serve, key, path, accept="application/json", body=None):
    """Whether the answer has what the program says; a stream until then, or until it has told three things."""
    connection = serve.connect(60)
    connection.request("POST" if body else "GET", path, body=body, headers={"Authorization": f"Bearer {key}", "Accept": accept})
    answer = connection.getresponse()
    text = ""
    while (line := answer.readline().decode()) and SAID not in text and text.count("data:") < 3:
        text += line
    connection.close()
    return answer.status, SAID in text, text[:300]


def words(pid):
    # Both servers at once: each asks the program itself.
    with concurrent.futures.ThreadPoolExecutor() as pool:
        for done in [pool.submit(words_of, pid, options) for options in ([], ["--read-only"])]:
            done.result()
    print("told")
    finish()


TOPICS = ("logs", "events&providers=Microsoft-Windows-DotNETRuntime:0x8000:2", "counters,events&providers=Microsoft-Diagnostics-DiagnosticSource",
          "%20logs")
DOCTOR = "/doctor?only=CS1501&durationSeconds=2&set=CS1501.perSecond=1"
PLACES = [("/exceptions", "application/json"), ("/exceptions", "text/plain"), ("/exceptions", "application/x-ndjson"),
          ("/views/exceptions", "application/json"), ("/views/exceptions", "text/plain"), ("/live?topics=exceptions", "text/event-stream"),
          (DOCTOR, "application/json"), (DOCTOR, "text/plain")]


def words_of(pid, options):
    with Serve(*options) as serve:
        read, trace = serve.key("read")["key"], serve.key("trace", "read")["key"]
        serve.keys_known()
        for path, method in (("/logs", "GET"), ("/logs", "POST"), *(("/live?topics=" + topic, "GET") for topic in TOPICS)):
            answer = serve.ask(f"{path}{'&' if '?' in path else '?'}pid={pid}", method, key=read, whole=False)
            check(answer.status == 403 and "needs the scope trace" in answer.text, f"{method} {path}: 403, not {answer.status} {answer.text[:200]}")
        # Who may record hears it, which also shows that it is said; who may read hears of the exception all the same.
        for path, accept in PLACES:
            place = f"{path}{'&' if '?' in path else '?'}pid={pid}&wait=true"
            if path == DOCTOR:
                check(until(lambda: examined(serve, read, place, accept)), f"{path} as {accept} tells the type")
                continue
            if not options:
                check(until(lambda: heard(serve, trace, place, accept)[1]), f"{path} as {accept} tells who may record")
            status, told, text = heard(serve, read, place, accept)
            check(status == 200 and not told, f"{path} as {accept} with the scope read: {status} {text}")
            check(until(lambda: "OrderRejected" in serve_text(serve, read, place, accept)), f"{path} as {accept} tells the type")


def examined(serve, key, place, accept):
    """Whether a report names the type; never what the program says."""
    answer = serve.ask(place, key=key, headers={"Accept": accept}, timeout=60)
    check(answer.status == 200 and SAID not in answer.text, f"{place} as {accept} with the scope read: {answer.status} {answer.text[:300]}")
    return "OrderRejected" in answer.text


def serve_text(serve, key, place, accept):
    if accept != "text/event-stream":
        return serve.ask(place, key=key, headers={"Accept": accept}, timeout=60).text
    return heard(serve, key, place, accept)[2]


def main():
    if sys.argv[1:2] == ["words"]:
        return words(sys.argv[2])
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

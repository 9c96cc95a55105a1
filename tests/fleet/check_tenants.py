#!/usr/bin/env python3
"""Tenants against a hostile client: tokens of others on every route and method, guessed ids, names as injections, quotas, retention.

    check_tenants.py FOLDER
"""
import html
import http.client
import json
import os
import pathlib
import re
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

from fleet_kit import BIN, Server, check, relay, source, start, until

HERE = pathlib.Path(__file__).parent
TENANTS = """# five tenants
alpha
beta   retention=2d
full   quota=1
few    series=2     # two routes
brief  retention=1h
"""
# Answered to who runs the server too: nothing of them is a tenant's data.
OF_SERVER = {"/fleet/status", "/fleet/tenants"}


def token(folder, name, scope, tenant=None):
    words = [BIN / "clrscope-fleet", "token", "--token-file", folder / "tokens", "--name", name, "--scope", scope]
    done = subprocess.run([*words, *(["--tenant", tenant] if tenant else [])], capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else None


def make_tokens(folder):
    tokens = {name: {scope: token(folder, f"{name}-{scope}", scope, name) for scope in ("ingest", "read", "admin")}
              for name in ("alpha", "beta", "full", "few", "brief")}
    tokens["operator"] = token(folder, "operator", "ingest,read,admin", "*")
    tokens["gone"] = token(folder, "gone", "ingest,read,admin", "gamma")
    tokens["plain"] = token(folder, "plain", "ingest,read,admin")
    return tokens


def ask(server, method, path, word=None, query="", opener=urllib.request.build_opener(), **headers):
    """Status and text."""
    headers = {"Accept": "application/json", **headers, **({"Authorization": f"Bearer {word}"} if word else {})}
    request = urllib.request.Request(server.address["http"] + path + query, method=method, headers=headers, data=b"{}" if method != "GET" else None)
    try:
        with opener.open(request, timeout=60) as answer:
            return answer.status, answer.read().decode(errors="replace")
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode(errors="replace")


def routes_of(server):
    paths = json.loads(ask(server, "GET", "/openapi.json")[1])["paths"]
    return [(method.upper(), path, "security" in form and form["security"]) for path, methods in paths.items() for method, form in methods.items()]


def check_routes(server, tokens):
    """Every route that the server describes, asked for what is beta's."""
    trace = "b".rjust(32, "0")
    query = "?" + urllib.parse.urlencode({"service": "secret-beta", "tenant": "beta", "host": "host-of-secret-beta", "id": 1})
    tricks = {"X-Tenant": "beta", "Tenant": "beta", "X-Scope-OrgID": "beta"}
    count = 0
    for method, path, guarded in routes_of(server):
        if not guarded:
            continue
        count += 1
        place = path.replace("{traceId}", trace).replace("{service}", "secret-beta").replace("{", "").replace("}", "")
        what = f"{method} {path}"
        check(ask(server, method, place, None, query)[0] == 401, f"{what} without a token")
        check(ask(server, method, place, "clrf_wrong", query)[0] == 401, f"{what} with a wrong token")
        for wrong in ("gone", "plain"):
            check(ask(server, method, place, tokens[wrong], query)[0] == 403, f"{what} with the token of {wrong}")
        scope = "ingest" if method == "GET" else "read"
        refused = ask(server, method, place, tokens["alpha"][scope], query)[0]
        check(refused == 403, f"{what} with the scope {scope}: {refused}")
        if path not in OF_SERVER:
            check(ask(server, method, place, tokens["operator"], query)[0] == 403, f"{what} with the token of no tenant")
        for more in (query, "?service=secret-alpha", "?by=service", ""):
            word = tokens["alpha"]["read" if method == "GET" else "admin"]
            status, text = ask(server, method, place, word, more, **tricks)
            # What was asked may be repeated; what only beta's data has may not.
            for secret in ("version-of-secret-beta", "Method.Of.secret-beta", "/secret-beta/", "own-batch-beta"):
                check(secret not in text, f"{what}{more}: {status} {text[:300]}")
            if more == "":
                check("secret-beta" not in text.replace(place, ""), f"{what}: {status} {text[:300]}")
    check(json.loads(ask(server, "GET", "/fleet/services", tokens["beta"]["read"])[1])["services"][0]["service"] == "secret-beta", "beta sees its own")
    return count


def check_spans(server, tokens):
    """Spans of other tracers belong to the tenant of their token."""
    now, trace = time.time_ns(), "be" * 16
    span = {"traceId": trace, "spanId": "cd" * 8, "name": "span-of-secret-beta", "startTimeUnixNano": str(now), "endTimeUnixNano": str(now + 1000)}
    body = json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}).encode()
    for word, expected in ((tokens["gone"], 403), (tokens["plain"], 403), (tokens["operator"], 403), (tokens["beta"]["read"], 403), (tokens["beta"]["ingest"], 200)):
        request = urllib.request.Request(server.address["http"] + "/v1/traces", body, {"Content-Type": "application/json", "Authorization": f"Bearer {word}", "X-Tenant": "alpha"})
        try:
            status = urllib.request.urlopen(request, timeout=60).status
        except urllib.error.HTTPError as error:
            status = error.code
        check(status == expected, f"spans: {expected}, not {status}")
    check("span-of-secret-beta" in ask(server, "GET", f"/fleet/requests/{trace}", tokens["beta"]["read"])[1], "beta sees its span")
    check(ask(server, "GET", f"/fleet/requests/{trace}", tokens["alpha"]["read"])[0] == 404, "alpha does not")


def check_visit(server, tokens):
    """A browser that signed in with a token of alpha sees alpha's data, whatever it asks."""
    address = urllib.parse.urlsplit(server.address["http"])
    host, cookies = address.netloc, ""

    def browse(method, place, body=None):
        """One request as a browser sends it; the pages of loopback have a host name of their own, which need not be resolved here."""
        connection = http.client.HTTPConnection(address.hostname, address.port, timeout=60)
        fields = {"Host": host, "Origin": f"http://{host}", "Sec-Fetch-Site": "same-origin", "Cookie": cookies, "Content-Type": "application/x-www-form-urlencoded"}
        connection.request(method, place, body, {name: value for name, value in fields.items() if value})
        answer = connection.getresponse()
        return answer, answer.read().decode()

    answer, text = browse("POST", "/sign-in/key", urllib.parse.urlencode({"key": tokens["alpha"]["read"]}))
    while not answer.headers["Set-Cookie"] and (further := re.search(r'https?://[^"\'\s]*/sign-in\?once=[^"\'\s<]*', text)):
        place = urllib.parse.urlsplit(html.unescape(further[0]))
        host = place.netloc
        answer, text = browse("GET", f"{place.path}?{place.query}")
    check(answer.headers["Set-Cookie"], f"no cookie: {answer.status} {host} {text}")
    cookies = answer.headers["Set-Cookie"].split(";")[0]
    answer, text = browse("GET", "/fleet/services?tenant=beta")
    check(answer.status == 200 and "secret-alpha" in text and "secret-beta" not in text, f"a visit is of its tenant: {answer.status} {text}")


def check_names(folder, tokens):
    for name in ("../beta", "beta/../alpha", "Beta", "a;DROP DATABASE x", "a b", "-", "beta'", "x" * 33):
        check(token(folder, "evil", "read", name) is None, f"a token of the tenant {name!r} is refused")
    store = os.environ.get("FLEET_STORE") or f"sqlite:{folder}/evil"
    for line in ("../beta", "Beta", "a;b", "alpha retention=0s", "alpha retention", "alpha quota=x", "alpha\nalpha", "alpha moon=1", "# nobody"):
        (folder / "wrong").write_text(line + "\n")
        done = subprocess.run([BIN / "clrscope-fleet", "serve", "--store", store, "--tenants", folder / "wrong", "--token-file", folder / "tokens",
                               "--listen", f"unix:{folder}/wrong.sock", "--http", "none"], capture_output=True, text=True, timeout=60)
        check(done.returncode == 3 and "tenant" in done.stderr, f"{line!r} is refused: {done.returncode} {done.stderr}")
    check(not (folder / "evil").exists() or not list((folder / "evil").glob("*.db")), "nothing was made of wrong names")


def client(server, phase, tokens, **pipes):
    return start("node", HERE / "tenants.mjs", server.address["grpc"], phase, json.dumps(tokens), stdout=subprocess.PIPE, **pipes)


def run_client(server, phase, tokens):
    process = client(server, phase, tokens)
    said = process.communicate(timeout=120)[0]
    check(process.returncode == 0, f"the client ends well in {phase}: {said}")
    print(said.strip())


def send(folder, server, word, *more):
    (folder / "token").write_text(word)
    sender = relay(f"grpc://{server.address['grpc']}", "--token-file", str(folder / "token"), *more, stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    writer = source("web-1", "shop", 20, 50, 4, stdout=sender.stdin)
    sender.stdin.close()
    sender.stdin = None
    writer.wait()
    said, errors = sender.communicate(timeout=90)
    return json.loads(said), errors


def uses(folder, server, word):
    (folder / "asking").write_text(word)
    done = subprocess.run([BIN / "clrscope-fleet", "tenants", "--server", server.address["http"], "--token-file", folder / "asking", "--json"],
                          capture_output=True, text=True, check=True)
    return {one["tenant"]: one for one in json.loads(done.stdout)["tenants"]}


def check_quota(folder, server, tokens):
    """The relay of a tenant that is full keeps what its spool holds, counts the rest, and delivers when there is room."""
    state, errors = send(folder, server, tokens["full"]["ingest"], "--spool", str(folder / "spool"), "--spool-limit", "8KB", "--linger", "1s")
    check(state["delivered"] == 0 and state["waitingBytes"] > 0, f"batches wait: {state}")
    check(state["dropped"] > 0 and state["lostRequests"] > 0, f"what the spool cannot hold is counted: {state}")
    check("quota" in errors and "quota" in state["trouble"], f"the relay says why: {errors}")
    seen = uses(folder, server, tokens["operator"])
    check(set(seen) == {"alpha", "beta", "full", "few", "brief"}, f"the token of * sees all tenants: {seen}")
    check(seen["full"]["full"] and seen["full"]["refusedBatches"] > 0 and not seen["alpha"]["full"], f"what they use: {seen}")
    check(seen["few"]["series"] == 2 and seen["few"]["refusedRequests"] == 5, f"series: {seen['few']}")
    check(set(uses(folder, server, tokens["beta"]["read"])) == {"beta"}, "a tenant sees its own use")
    host = next(one for one in server.get("/fleet/hosts", tokens["few"]["read"])["hosts"] if one["service"] == "few")
    check(host["storedRequests"] == 4, f"stored of the service few: {host}")
    (folder / "tenants").write_text(TENANTS.replace("quota=1", "quota=1GiB"))
    until(lambda: not uses(folder, server, tokens["full"]["read"])["full"]["full"], "the larger quota counts")
    state, _ = send(folder, server, tokens["full"]["ingest"], "--spool", str(folder / "spool"), "--linger", "60s")
    check(state["waitingBytes"] == 0 and state["lostRequests"] == 0, f"all is delivered: {state}")


def check_removal(folder, server, tokens):
    process = client(server, "removal", tokens, stdin=subprocess.PIPE)
    check(process.stdout.readline().strip() == "open", "a stream of beta is open")
    (folder / "tenants").write_text("".join(line + "\n" for line in TENANTS.splitlines() if not line.startswith("beta")))
    until(lambda: ask(server, "GET", "/fleet/services", tokens["beta"]["read"])[0] == 403, "the token of beta is refused")
    said = process.communicate("go\n", timeout=60)[0]
    check(process.returncode == 0, f"the open stream is refused too: {said}")
    (folder / "tenants").write_text(TENANTS)
    services = until(lambda: server.get("/fleet/services", tokens["beta"]["read"]) != 403 and server.get("/fleet/services", tokens["beta"]["read"]),
                     "beta is back")
    check(services["services"][0]["service"] == "secret-beta", "with its data")


def check_audit(folder):
    lines = [json.loads(line) for line in (folder / "audit").read_text().splitlines()]
    of = {(line["who"], line.get("tenant"), line["outcome"]) for line in lines}
    check(("alpha-read", "alpha", "allowed") in of and ("beta-read", "beta", "allowed") in of, "lines have their tenant")
    check(("gone", "gamma", "refused") in of and ("operator", "*", "allowed") in of, "also of those that are refused")


def main():
    folder = pathlib.Path(sys.argv[1])
    tokens = make_tokens(folder)
    (folder / "tenants").write_text(TENANTS)
    check_names(folder, tokens)
    store = os.environ.get("FLEET_STORE") or f"sqlite:{folder}/stores"
    if store.startswith("clickhouse:"):
        subprocess.run([BIN / "clrscope-fleet", "migrate", "--store", store, "--tenants", folder / "tenants"], check=True, stdout=subprocess.DEVNULL)
    server = Server(folder, "--token-file", str(folder / "tokens"), "--tenants", str(folder / "tenants"), "--audit", str(folder / "audit"), store=store,
                    listen="127.0.0.1:0")
    check("open" not in server.address, "no one-time address: it would be of no tenant")
    run_client(server, "isolation", tokens)
    print(check_routes(server, tokens), "routes")
    check_spans(server, tokens)
    check_visit(server, tokens)
    run_client(server, "limits", tokens)
    check_quota(folder, server, tokens)
    check_removal(folder, server, tokens)
    check_audit(folder)
    server.end()
    print("tenants: ok")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""A controller under bad manners and attack: serve_guard.py WHAT"""
import html
import json
import os
import pathlib
import re
import resource
import select
import signal
import socket
import subprocess
import sys
import threading
import time

from serve_kit import Serve, check, finish, until


def keys():
    with Serve() as serve:
        good, old = serve.key("read", name="good"), serve.key("read", name="old", more=["--expires", "1s"])
        gone = serve.key("read", name="gone")
        serve.keys_known()
        check(serve.ask("/processes", key=gone["key"]).status == 200, "a new key is good on a running server")
        subprocess.run([serve.bin, "key", "revoke", gone["id"], "--folder", str(serve.folder)], check=True)
        check(until(lambda: serve.ask("/processes", key=gone["key"]).status == 401), "a revoked key is refused without a restart")
        check(until(lambda: serve.ask("/processes", key=old["key"]).status == 401), "so is one that has expired")
        answers = [serve.ask("/processes", key=key) for key in (gone["key"], old["key"], good["key"] + "x", "csk_", "x" * 5000)]
        check({(a.status, a.text) for a in answers} == {(401, answers[0].text)}, f"all are refused alike: {[a.text for a in answers]}")
        check(answers[0].headers["WWW-Authenticate"].startswith("Bearer"), "401 says how to authenticate")
        for _ in range(40):
            last = serve.ask("/processes", key="csk_guess")
        check(last.status == 429 and last.headers["Retry-After"], f"many wrong keys end in 429: {last.status}")
        check(serve.ask("/processes", key=good["key"]).status == 200, "a good key passes meanwhile")
        stored = (serve.folder / "keys.json").read_text()
        check(all(one["key"] not in stored for one in (good, old, gone)), "no key lies in the file")
        folder = serve.folder
    with Serve(folder=folder) as again:
        check(again.ask("/processes", key=good["key"]).status == 200, "keys outlive the server")
    finish()


def browser():
    with Serve() as serve:
        key = serve.key("read", "trace", name="person")["key"]
        serve.keys_known()
        page = serve.ask("/processes", headers={"Accept": "text/html,*/*"})
        check(page.status == 401 and "/sign-in/key" in page.text, "a browser without a key gets a page to sign in")
        check("default-src 'none'" in page.headers["Content-Security-Policy"], "with the policy of every page")
        once, at_pages = serve.once, {"Host": serve.pages}
        # The cookies of 127.0.0.1 go to all its ports: there is none there, and strangers do not learn where there is one.
        check(serve.pages.endswith(f".localhost:{serve.at.port}"), f"pages have a name of their own: {serve.pages}")
        led = serve.ask(once)
        check(led.status == 200 and f"url=http://{serve.pages}/sign-in?once=" in led.text and not led.headers["Set-Cookie"],
              f"127.0.0.1 leads there, without a cookie: {led.status} {led.text}")
        check(serve.pages not in serve.ask("/sign-in?once=guess", headers={"Accept": "text/html"}).text + page.text, "and only who may come in")
        first, second = serve.ask(once, headers=at_pages), serve.ask(once, headers=at_pages)
        check(first.status == 303 and first.headers["Location"] == "/", "the one-time address leads to the pages")
        cookie = first.headers["Set-Cookie"]
        check("HttpOnly" in cookie and "SameSite=Strict" in cookie, f"the cookie is for the server alone: {cookie}")
        check(second.status == 403, f"and works once: {second.status}")
        jar = {"Cookie": cookie.split(";")[0], **at_pages}
        check(serve.ask("/processes", headers=jar).status == 200, "the cookie lets in")
        check('id="app"' in serve.ask("/", headers={**jar, "Accept": "text/html"}).text, "to the pages too")
        style = re.search(r'href="([^"]*\.css[^"]*)"', page.text)[1]
        check(serve.ask(style).status == 200, f"the page to sign in has its style: {style}")
        host = serve.pages
        for fields, status in (({}, 403), ({"Origin": "http://evil.example"}, 403), ({"Origin": "null"}, 403),
                               ({"Sec-Fetch-Site": "cross-site"}, 403), ({"Sec-Fetch-Site": "same-site"}, 403)):
            answer = serve.ask("/sign-out", "POST", headers={**jar, **fields})
            check(answer.status == status, f"a cookie's POST with {fields}: {status}, not {answer.status}")
        form = {"Content-Type": "application/x-www-form-urlencoded", "Origin": f"http://{host}", **at_pages}
        check(serve.ask("/sign-in/key", "POST", body="key=" + key, headers={**form, "Origin": "http://evil.example"}).status == 403,
              "another site cannot sign a browser in")
        check(serve.ask("/sign-in/key", "POST", body="key=csk_wrong", headers=form).status == 401, "a wrong key signs nobody in")
        for place, led in (("/check", "/check"), ("//evil.example", "/"), ("https://evil.example", "/"), ("/%0d%0aX-Evil:1", "/"),
                           ("/\\evil.example", "/")):
            answer = serve.ask("/sign-in/key", "POST", body=f"key={key}&next={place}", headers=form)
            check(answer.status == 303 and answer.headers["Location"] == led and not answer.headers["X-Evil"],
                  f"after signing in, {place!r} leads to {led}: {answer.status} {answer.headers['Location']}")
        own = {"Cookie": answer.headers["Set-Cookie"].split(";")[0], **at_pages}
        check(serve.ask("/audit", headers=own).status == 403, "a visit has the scopes of its key")
        check(serve.ask("/sign-out", "POST", headers={**own, "Origin": f"http://{host}"}).status == 303, "signing out works")
        check(serve.ask("/processes", headers=own).status == 401, "and ends the visit")
        plain = f"http://{serve.at.netloc}"
        led = serve.ask("/sign-in/key", "POST", body=f"key={key}&next=/check%3Fpid=7", headers={**form, "Host": serve.at.netloc, "Origin": plain})
        place = re.search(r'url=http://([^/]+)(/sign-in[^"]*)"', led.text)
        check(led.status == 200 and not led.headers["Set-Cookie"] and place[1] == host, f"a key signs in where the pages are: {led.text}")
        link = {**at_pages, "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
        there = serve.ask(html.unescape(place[2]), headers=link)
        check(there.status == 200 and "url=/check?pid=7" in there.text, f"who came from there goes on by a page, not a redirect: {there.text}")
        own = {"Cookie": there.headers["Set-Cookie"].split(";")[0], **at_pages}
        check(serve.ask("/processes", headers=own).status == 200 and serve.ask("/audit", headers=own).status == 403, "with the key's scopes")
    finish()


def foreign():
    """Pages of other sites: no GET of theirs reaches anything, with or without keys."""
    link = {"Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
    with Serve("--no-auth") as serve:
        paths = serve.ask("/openapi.json").json()["paths"]
        routes = [(method.upper(), path.replace("{", "").replace("}", "")) for path, methods in paths.items() for method in methods]
        evil = ({"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site", "Accept": "text/html"}, {"Origin": "http://evil.example"},
                {"Origin": "null"}, {"Referer": "http://evil.example/x"}, {"Sec-Fetch-Site": "cross-site", **link, "Accept": "application/json"})
        for method, path in routes:
            for fields in evil:
                if path == "/sign-in" and "Sec-Fetch-Mode" in fields:
                    continue  # a page, whatever is accepted
                answer = serve.ask(path + "?pid=2147483647", method, headers=fields)
                check(answer.status == 403 and "page of this server" in answer.text, f"{method} {path} with {fields}: {answer.status} {answer.text[:100]}")
        for fields in ({}, {"Sec-Fetch-Site": "none"}, {"Sec-Fetch-Site": "same-origin"}, {"Origin": serve.url}, {"Referer": serve.url + "/check"},
                       {"Sec-Fetch-Site": "cross-site", **link, "Accept": "text/html"}):
            check(serve.ask("/check", headers=fields).status == 200, f"programs, own pages and links to pages still work: {fields}")
        print(f"{len(routes) * len(evil)} requests of foreign pages")
    finish()


def manners():
    with Serve("--hosts", "api.local", "--base-path", "/scope") as serve:
        key = serve.key("admin")["key"]
        serve.keys_known()
        for host, status in (("evil.example", 421), ("127.0.0.1.evil.example", 421), ("api.local", 200), ("api.local:80", 200),
                             ("localhost", 200), ("[::1]:5", 200), ("", 421)):
            answer = serve.ask("/health/live", headers={"Host": host})
            check(answer.status == status, f"Host {host!r}: {status}, not {answer.status}")
        check(serve.ask("/scope/health/live").status == 200, "paths below the base path")
        check('href="/scope/assets/' in serve.ask("/scope/stacks", headers={"Accept": "text/html"}).text, "links have the base path")
        check(serve.ask("/nothing", key=key).status == 404, "404")
        wrong = serve.ask("/processes", "DELETE", key=key)
        check(wrong.status == 405 and "GET" in wrong.headers["Allow"], "405 tells what is allowed")
        check(serve.ask("/processes", key=key, headers={"Accept": "image/png"}).status == 406, "406")
        large = serve.ask("/sign-in/key", "POST", body="x" * 10000)
        check(large.status == 413, f"413: {large.status}")
        head = serve.raw(b"GET /health/live HTTP/1.1\r\nHost: localhost\r\n" + b"X: " + b"y" * 100000 + b"\r\n\r\n")
        check(head.startswith(b"HTTP/1.1 431"), f"431: {head[:40]}")
        for bad in (b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", b"\0\0\0\r\n\r\n", b"GET /%00 HTTP/1.1\r\nHost: localhost\r\n\r\n",
                    b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n"):
            answer = serve.raw(bad)
            check(answer.startswith((b"HTTP/1.1 400", b"HTTP/1.1 421", b"HTTP/1.1 501", b"HTTP/1.1 404")), f"{bad!r}: {answer[:60]!r}")
        # Nothing that was sent becomes a field of an answer, nor a tag of a page.
        for place in ("/%0d%0aX-Evil:%201", "/processes?name=%0d%0aX-Evil:%201", "/check?pid=%0aX-Evil:1", "/assets/%0d%0aX-Evil:1",
                      "/sign-in?once=%0d%0aX-Evil:1"):
            answer = serve.raw(f"GET {place} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\nConnection: close\r\n\r\n".encode())
            check(not re.search(rb"^X-Evil", answer, re.M | re.I), f"{place} makes no field: {answer[:200]!r}")
        for place in ("/check?name=%3Cscript%3Ealert(1)%3C/script%3E", "/%3Cscript%3E", "/stacks?pid=%22%3E%3Cscript%3E",
                      "/stacks?pid=\"><script>", "/<script>"):
            for sent in (key, None):  # the shell, and the page to sign in
                answer = serve.ask(place, key=sent, headers={"Accept": "text/html"})
                check("</html>" in answer.text and "<script>" not in answer.text, f"{place} makes no tag: {answer.text[:300]}")
        for place in ("/assets/../../../../etc/passwd", "/assets/..%2f..%2f..%2fetc%2fpasswd", "/assets/%2e%2e/keys.json",
                      "/recordings/..%2fkeys.json", "/recordings/../keys.json", "/sessions/..%2f..%2fkeys.json", "//etc/passwd",
                      "/assets//etc/passwd"):
            answer = serve.raw(f"GET {place} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\nConnection: close\r\n\r\n".encode())
            check(b"root:" not in answer and b"sha256" not in answer and answer.startswith(b"HTTP/1.1 4"), f"{place}: {answer[:100]!r}")
        # What apps say on unix sockets is not believed here.
        forged = {"X-Clrscope-User": "root", "X-Clrscope-Base": "/evil", "X-Clrscope-Caller": "known"}
        check(serve.ask("/processes", headers=forged).status == 401, "a forged user is nobody")
        check("/evil" not in serve.ask("/check", key=key, headers={**forged, "Accept": "text/html"}).text, "a forged base is not used")
        fields = serve.ask("/check", key=key, headers={"Accept": "text/html"}).headers
        for name in ("X-Content-Type-Options", "X-Frame-Options", "Referrer-Policy", "Content-Security-Policy",
                     "Cross-Origin-Resource-Policy", "Cache-Control"):
            check(fields[name], f"every answer has {name}")
        uses = serve.ask("/audit?limit=500", key=key).json()["uses"]
        check(any(use["status"] == 421 for use in uses) and any(use["caller"] == "admin" for use in uses), "refusals and uses are written down")
        check(not any("health" in use["target"] and use["status"] == 200 for use in uses), "but not each health check")
    finish()


def exposure():
    def refusal(*options):
        home = pathlib.Path(os.environ["TMPDIR"]) / "x"
        out = subprocess.run([Serve.__init__.__globals__["shutil"].which("clrscope"), "serve", "--folder", str(home), *options],
                             capture_output=True, text=True, timeout=60)
        return out.returncode, out.stderr
    code, said = refusal("--urls", "http://0.0.0.0:0")
    check(code == 3 and "TLS" in said, f"beyond loopback not without TLS: {code} {said}")
    subprocess.run("openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=one -keyout key.pem -out cert.pem",
                   shell=True, check=True, capture_output=True)
    code, said = refusal("--urls", "https://0.0.0.0:0", "--certificate", "cert.pem", "--certificate-key", "key.pem", "--no-auth")
    check(code == 3 and "no-auth-remote" in said, f"nor without keys: {code} {said}")
    code, said = refusal("--urls", "http://0.0.0.0:0", "--no-auth-remote")
    check(code == 3 and "not without TLS" in said, f"nor without TLS, whatever the administrator says: {code} {said}")
    tls = ("--certificate", "cert.pem", "--certificate-key", "key.pem")
    with Serve(*tls, "--no-auth-remote", urls="https://0.0.0.0:0") as serve:
        check("warning: no key is needed at https://0.0.0.0" in serve.said(), f"anonymous access is said aloud: {serve.said()}")
        ask = lambda path, **fields: serve.ask(path, headers={"Host": "127.0.0.1", **fields})
        check(ask("/processes").status == 200, "with TLS and said so, nobody is asked for a key")
        lines = until(lambda: [one for one in map(json.loads, ask("/audit?limit=20", Accept="application/x-ndjson").text.splitlines())
                               if one["caller"] == "anonymous"])
        check(lines, "each use is one of nobody known")
        kept = [json.loads(line) for line in (serve.folder / "audit.ndjson").read_text().splitlines()]
        check(kept[0]["method"] == "SERVE" and kept[0]["address"].startswith("https://0.0.0.0"), f"and the choice is kept first: {kept[0]}")
        check(ask("/processes", Host="evil.example").status == 421, "names of others still lead nowhere")
        check(ask("/processes", **{"Sec-Fetch-Site": "cross-site"}).status == 403, "nor do pages of others")
    with Serve(*tls, "--no-auth-remote", "--read-only", urls="https://0.0.0.0:0") as serve:
        check(serve.ask("/env?pid=1", headers={"Host": "127.0.0.1"}).status == 403, "and --read-only narrows it")
    with Serve("--certificate", "cert.pem", "--certificate-key", "key.pem", urls="https://127.0.0.1:0") as serve:
        check(serve.ask("/health/live").status == 200, "TLS works")
        cookie = serve.ask(serve.once).headers["Set-Cookie"]
        check("; Secure" in cookie, "with TLS the cookie is Secure")
        at = f"127.0.0.1:{serve.at.port}"

        def client(*options):
            out = subprocess.run(["openssl", "s_client", "-connect", at, "-cipher", "DEFAULT@SECLEVEL=0", *options], input="",
                                 capture_output=True, text=True, timeout=60)
            return re.search(r"^ *(?:New, )?(TLSv1[.0-9]*), Cipher is (?!\(NONE)", out.stdout, re.M), out.stdout + out.stderr
        for version, taken in (("-tls1", False), ("-tls1_1", False), ("-tls1_2", True), ("-tls1_3", True)):
            agreed, said = client(version)
            check(bool(agreed) == taken, f"{version} is {'taken' if taken else 'refused'}: {said[-300:]}")
        subprocess.run("openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=two -keyout key.new -out cert.new"
                       " && mv key.new key.pem && mv cert.new cert.pem", shell=True, check=True, capture_output=True)
        check(until(lambda: "CN = two" in client()[1]), "a new certificate is taken without a restart")
    with Serve(urls="http://127.0.0.1:0,unix:" + os.path.abspath("sock")) as serve:
        check(oct(os.stat("sock").st_mode & 0o777) == "0o600", "the socket is for its owner")
        code, said = refusal("--urls", serve.url)
        check(code == 1 and "another" in said, f"two on one port: {code} {said}")
        code, said = refusal("--urls", "unix:" + os.path.abspath("sock"))
        check(code == 1 and "another" in said, f"two on one socket: {code} {said}")
        serve.process.kill()
        serve.process.wait()
        check(os.path.exists("sock"), "a killed server leaves its socket")
        serve.process.returncode = 0
    with Serve(urls="http://127.0.0.1:0,unix:" + os.path.abspath("sock")):
        with socket.socket(socket.AF_UNIX) as one:
            one.connect("sock")
            one.sendall(b"GET /processes HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            check(one.recv(100).startswith(b"HTTP/1.1 200"), "the next one replaces it, and its owner needs no key")
    parent = subprocess.Popen(["tail", "-f", "/dev/null"])
    owned = Serve("--owner", str(parent.pid))
    parent.kill()
    parent.wait()
    try:
        check(owned.process.wait(30) == 0, "it ends with its owner")
    except subprocess.TimeoutExpired:
        check(False, "it ends with its owner")
        owned.end()
    finish()


def keep_something(pid):
    """A recording and a report of the process, by a server that shows all: its folder and where they are."""
    with Serve() as serve:
        key = serve.key("admin")["key"]
        serve.keys_known()
        made = serve.ask("/sessions", "POST", key=key, body=f'{{"pid": {pid}, "profile": "gc-collect"}}')
        check(made.status == 201, f"a session begins: {made.status} {made.text}")
        serve.ask(made.headers["Location"] + "/stop", "POST", key=key, timeout=60)
        seen = serve.ask(f"/doctor?pid={pid}&durationSeconds=1&only=CS1001", key=key, timeout=60)
        check(seen.status == 200, f"a report is made: {seen.status} {seen.text}")
        count = int(re.search(r"of (\d+) .NET processes", serve.ask("/check", key=key).text)[1])
        check(count >= 1, "check counts the processes")
        return serve.folder, key, made.headers["Location"].split("/")[-1], seen.headers["Location"].split("/")[-1]


def what_is_kept(serve, key, recording, report):
    """Whether it is in the lists, and the status of each of its addresses."""
    lists = [serve.ask(path, key=key).text for path in ("/recordings", "/sessions", "/doctor/reports")]
    listed = [name in text for text, name in zip(lists, (recording, recording, report))]
    asked = [serve.ask(path, key=key, headers=fields, timeout=60).status for path, fields in (
        (f"/recordings/{recording}", {}), (f"/recordings/{recording}?format=ndjson", {}), (f"/recordings/{recording}/report/events", {}),
        (f"/recordings/{recording}", {"Accept": "application/json"}), (f"/recordings/{recording}/flame.html", {}),
        (f"/flame?recording={recording}", {}), (f"/sessions/{recording}", {}),
        (f"/doctor/reports/{report}", {}), (f"/doctor/reports/{report}", {"Accept": "text/plain"}), (f"/doctor/reports/{report}/report.html", {}))]
    asked.append(serve.ask(f"/sessions/{recording}/stop", "POST", key=key, timeout=60).status)
    return listed, asked


def allow():
    pid = sys.argv[2]
    folder, key, recording, report = keep_something(pid)
    with Serve("--allow", "nothing-of-that-name", folder=folder) as serve:
        check(serve.ask("/processes", key=key).json() == [], "who is not on the list is not shown")
        check("no .NET process found" in serve.ask("/check", key=key).text, "nor counted")
        listed, asked = what_is_kept(serve, key, recording, report)
        check(not any(listed), f"nor is what was kept of it listed: {listed}")
        check(set(asked) == {404}, f"nor found: {asked}")
        for path in (f"/recordings/{recording}", f"/sessions/{recording}", f"/doctor/reports/{report}"):
            gone = serve.ask(path, "DELETE", key=key)
            check(gone.status == 404, f"nor removed: DELETE {path}: {gone.status}")
        paths = serve.ask("/openapi.json").json()["paths"]
        for path, methods in paths.items():
            names = [p["name"] for p in methods.get("get", {}).get("parameters", [])]
            if "pid" in names and "{" not in path:
                answer = serve.ask(f"{path}?pid={pid}&durationSeconds=1", key=key, whole=False, timeout=60)
                # Without a process some tell what holds for all: an empty list is fine.
                check(answer.status >= 400 or not answer.text.strip("[]{} \n") or pid not in answer.text,
                      f"GET {path} of a process that is not allowed: {answer.status} {answer.text[:200]}")
    for options in (["--allow", pid], ["--allow", "sam*"], ["--owner", pid]):
        with Serve(*options, folder=folder) as serve:
            listed, asked = what_is_kept(serve, key, recording, report)
            check(all(listed) and set(asked) == {200}, f"with {options} it is: {listed} {asked}")
            counted = serve.ask("/check", key=key).text
            check("1 of 1 .NET processes" in counted or options == ["--allow", "sam*"], f"{options}: one may be seen: {counted}")
    with Serve("--owner", str(os.getpid()), folder=folder) as serve:
        listed, asked = what_is_kept(serve, key, recording, report)
        check(not any(listed) and set(asked) == {404}, f"and with another owner it is not: {listed} {asked}")
        check("no .NET process found" in serve.ask("/check", key=key).text, "and is not counted")
    finish()


def slow():
    """Slow senders are cut after 15 s; others are served meanwhile."""
    with Serve() as serve:
        began = {}
        for _ in range(300):
            start = time.monotonic()
            one = socket.create_connection((serve.at.hostname, serve.at.port))
            one.sendall(b"GET /health/live HTTP/1.1\r\nHost: localhost\r\nX: ")
            began[one] = start
        open_ones, deadline, served = list(began), time.monotonic() + 60, 0
        while open_ones and time.monotonic() < deadline:
            for one in open_ones:
                try:
                    one.sendall(b"y")
                except OSError:
                    pass
            check(serve.ask("/health/live").status == 200, "others are served")
            ready, _, _ = select.select(open_ones, [], [], 0)
            served += not ready and len(open_ones) == 300  # all of them were there before and after
            ready, _, _ = select.select(open_ones, [], [], 0.5)  # a byte each half second: what makes them slow
            for one in ready:
                try:
                    data = one.recv(1000)
                except OSError:
                    data = b""
                check(data == b"" or data.startswith(b"HTTP/1.1 408"), f"a slow one gets 408: {data[:50]}")
                lived = time.monotonic() - began[one]
                check(lived >= 15, f"each has 15 s, not {lived:.1f} s")
                open_ones.remove(one)
        check(not open_ones, f"all are cut: {len(open_ones)} are left")
        check(served > 0, "others are served while all the slow ones are there")
        for one in began:
            one.close()
    finish()


def crowd():
    """One client with more silent connections than are allowed: health checks and known callers are served all the same."""
    count = int(sys.argv[2])
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, count + 200), hard))
    with Serve() as serve:
        key = serve.key("read")["key"]
        serve.keys_known()
        early = socket.create_connection((serve.at.hostname, serve.at.port), timeout=30)
        asked = f"GET /info HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\n\r\n".encode()
        early.sendall(asked)
        check(early.recv(4096).startswith(b"HTTP/1.1 200"), "a caller with a key is served")
        silent = [socket.create_connection((serve.at.hostname, serve.at.port), timeout=30) for _ in range(count)]

        def status(path, key=None):
            try:
                return serve.ask(path, key=key).status
            except OSError as error:
                return repr(error)
        lives = [status("/health/live") for _ in range(3)]
        check(lives == [200] * 3, f"health checks are answered: {lives}")
        check(status("/info", key) == 200, "and so is a caller with a key")
        early.sendall(asked)
        check(early.recv(4096).startswith(b"HTTP/1.1 200"), "who was known before keeps the connection")
        poll = select.poll()
        for one in silent:
            poll.register(one, select.POLLIN)
        check(until(lambda: len(poll.poll(1000)) == count), "the silent ones are closed, long before 75 s")
        memory = int(re.search(r"VmRSS:\s+(\d+)", open(f"/proc/{serve.process.pid}/status").read())[1]) / 1024
        check(memory < 150, f"a crowd costs {memory:.0f} MB")
        for one in silent:
            one.close()
        print(f"{count} silent connections: health {lives}, {memory:.0f} MB")
    finish()


def frame(pieces):
    """A zstd frame of plain pieces and of runs (byte, length), made by hand: four bytes for each 128 KB of a run."""
    blocks = []
    for piece in pieces:
        if isinstance(piece, bytes):
            blocks += [(0, len(piece[at:at + 131072]), piece[at:at + 131072]) for at in range(0, len(piece), 131072)]
        else:
            byte, length = piece
            blocks += [(1, min(131072, length - at), bytes([byte])) for at in range(0, length, 131072)]
    out = b"\x28\xb5\x2f\xfd\x00\x50"
    for at, (kind, size, content) in enumerate(blocks):
        out += (int(at + 1 == len(blocks)) | kind << 1 | size << 3).to_bytes(3, "little") + content
    return out


def bombs():
    """Uploads that expand, and more uploads and conversions than the disk limit allows."""
    trace = open(sys.argv[2], "rb").read()
    bomb = frame([trace, (0, 256 << 20)])
    with Serve("--expand-limit", "64MiB", "--sample-limit", "10", "--disk-limit", "16MiB") as serve:
        key = serve.key("trace")["key"]
        serve.keys_known()
        answer = serve.ask("/recordings", "POST", key=key, body=bomb)
        check(answer.status == 413 and "expanded bytes" in answer.text, f"a bomb of {len(bomb)} bytes: {answer.status} {answer.text[:300]}")
        check(serve.ask("/recordings", key=key).json() == [], "it is not kept")
        kept = serve.ask("/recordings", "POST", key=key, body=trace).json()
        at = f"/recordings/{kept['id']}"
        for path in (f"{at}?format=speedscope", f"/flame?recording={kept['id']}", f"{at}/flame.html"):
            answer = serve.ask(path, key=key)
            check(answer.status == 413 and '"samples' in answer.text.replace("\\", ""), f"{path}: {answer.status} {answer.text[:300]}")
        check(serve.ask(f"{at}?format=ndjson", key=key).status == 200, "what needs no samples in memory is converted")
        # Who leaves does not keep the server busy.
        slow = frame([trace, (0, 8 << 30)])
        with Serve("--expand-limit", "1TB", "--read-cpu", "1h") as patient:
            key2 = patient.key("trace")["key"]
            patient.keys_known()
            one = socket.create_connection((patient.at.hostname, patient.at.port), timeout=30)
            one.sendall(f"POST /recordings HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key2}\r\n"
                        f"Content-Length: {len(slow)}\r\n\r\n".encode() + slow)
            whole = lambda: sum(file.stat().st_size for file in patient.folder.glob("recordings/scratch.*/*.upload")) == len(slow)
            check(until(whole), "a trace that takes long is there")
            one.close()
            check(until(lambda: not list(patient.folder.glob("recordings/scratch.*/*.upload"))), "reading it ends with its client")
        # Two that are not whole yet, and one more.
        under_way = []
        for _ in range(2):
            one = socket.create_connection((serve.at.hostname, serve.at.port), timeout=30)
            one.sendall(f"POST /recordings HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\n"
                        f"Transfer-Encoding: chunked\r\n\r\n600000\r\n".encode() + bytes(0x600000))
            under_way.append(one)
        scratch = lambda: sum(file.stat().st_size for file in serve.folder.glob("recordings/scratch.*/*.upload"))
        check(until(lambda: scratch() == 2 * 0x600000), f"two uploads are under way: {scratch()}")
        answer = serve.ask("/recordings", "POST", key=key, body=bytes(0x480000))
        # Content-Length tells it beforehand: 413; else 507 when the limit is reached.
        check(answer.status in (413, 507), f"a third has no room: {answer.status} {answer.text[:300]}")
        try:
            under_way[0].sendall(b"\r\n600000\r\n" + bytes(0x600000))
        except OSError:
            pass
        told = under_way[0].recv(4096)
        check(told.startswith(b"HTTP/1.1 507") and b"disk" in told, f"uploads under way count: {told[:400]}")
        # Killed: what it left goes with the next start.
        serve.kill()
        check(scratch() > 0, "a killed serve leaves its upload")
        for name in ("a.dmp", "b.upload", "c.part"):
            (serve.folder / "recordings" / name).write_text("left by an earlier version")
        with Serve(folder=serve.folder) as after:
            check(after.ask("/health/live").status == 200, "the next one starts")
            left = [file.name for file in serve.folder.glob("recordings/*") if not file.name.endswith((".json", ".nettrace"))]
            check(left == [], f"and removes what was left: {left}")
        for one in under_way:
            one.close()
    finish()


def begin(serve, key, path):
    """A request whose answer is a stream; its head is there when this returns."""
    one = socket.create_connection((serve.at.hostname, serve.at.port), timeout=30)
    one.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\n\r\n".encode())
    return one, one.recv(4096)


def limits():
    pid = sys.argv[2]
    trace = f"/trace?pid={pid}&durationSeconds=60&profile=gc-collect"
    with Serve() as serve:
        key, other = serve.key("trace", name="one")["key"], serve.key("trace", name="two")["key"]
        serve.keys_known()
        running = [begin(serve, key, trace) for _ in range(8)]
        check(all(head.startswith(b"HTTP/1.1 200") for _, head in running), f"eight recordings at a time: {[h[:60] for _, h in running]}")
        full = serve.ask(trace, key=key, whole=False)
        check(full.status == 429 and full.headers["Retry-After"] and "recordings" in full.text, f"the ninth is refused: {full.status} {full.text}")
        check(serve.ask("/sessions", key=key).status == 200, "to look is possible meanwhile")
        another, head = begin(serve, other, trace)
        check(head.startswith(b"HTTP/1.1 200"), "another caller has places of its own")
        for one, _ in running:
            one.close()

        def begins():
            again, head = begin(serve, key, trace)
            again.close()
            return head.startswith(b"HTTP/1.1 200")
        check(until(begins), "who leaves gives the place back")
        another.close()
        started = [serve.ask("/sessions", "POST", key=key, body=f'{{"pid": {pid}, "profile": "gc-collect"}}') for _ in range(17)]
        check([one.status for one in started] == [201] * 16 + [429], f"sixteen sessions of a caller: {[one.status for one in started]}")
        check(started[-1].headers["Retry-After"] and "sessions" in started[-1].text, "the limit is named")
        for one in started[:-1]:
            serve.ask(one.headers["Location"], "DELETE", key=key)
        uses = serve.ask("/audit", key=serve_admin(serve)).json()["uses"]
        check(any(use["status"] == 429 and use["caller"] == "one" for use in uses), "the refusal is written down")
        check(any(use["status"] == 200 and use.get("process", "").endswith(f"({pid})") for use in uses), f"and which process it was about: {uses[-3:]}")
    finish()


def serve_admin(serve):
    key = serve.key("admin")["key"]
    serve.keys_known()
    return key


def halves():
    """Clients that close their side: a plain answer comes whole, a stream ends, its place is free again."""
    pid = sys.argv[2]
    with Serve() as serve:
        key = serve.key("trace", "read")["key"]
        serve.keys_known()
        with socket.create_connection((serve.at.hostname, serve.at.port), timeout=10) as one:
            one.sendall(f"GET /processes HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\n\r\n".encode())
            one.shutdown(socket.SHUT_WR)
            answer = b""
            while piece := one.recv(65536):
                answer += piece
            check(answer.startswith(b"HTTP/1.1 200") and answer.rstrip().endswith(b"]"), f"a plain answer comes whole: {answer[-80:]}")
        for _ in range(12):  # more than may be under way: each must give its place back
            one, head = begin(serve, key, f"/trace?pid={pid}&durationSeconds=-1&profile=gc-collect")
            check(head.startswith(b"HTTP/1.1 200"), f"a stream begins: {head[:80]}")
            one.shutdown(socket.SHUT_WR)
            try:
                while one.recv(65536):
                    pass
            except ConnectionError:
                pass
            except TimeoutError:  # the recording itself has no end
                check(False, "and ends when its client leaves")
            one.close()
    finish()


{"limits": limits, "halves": halves, "keys": keys, "browser": browser, "manners": manners, "foreign": foreign, "exposure": exposure, "slow": slow, "crowd": crowd,
 "bombs": bombs, "allow": allow}[sys.argv[1]]()

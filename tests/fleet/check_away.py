#!/usr/bin/env python3
"""A server that is away, a spool that is too small, tokens, TLS, and what is refused beyond loopback.

    check_away.py FOLDER
"""
import json
import os
import pathlib
import subprocess
import sys

from fleet_kit import BIN, Server, check, relay, source, until


def read_file(path, text):
    path.write_text(text)
    path.chmod(0o600)
    return str(path)


def small_spool(folder):
    """What a full spool drops is counted, by the relay and by the server."""
    folder.mkdir()
    sender = relay(f"grpc://unix:{folder}/grpc.sock", "--spool", str(folder / "spool"), "--spool-limit", "64KB", "--linger", "100s",
                   stdin=subprocess.PIPE, stderr=subprocess.DEVNULL)
    writer = source("web-1", "shop", 200, 100, 10, "wait", stdin=subprocess.PIPE, stdout=sender.stdin)
    sender.stdin.close()
    sender.stdin = None
    for _ in range(199):
        print(file=writer.stdin, flush=True)
    size = lambda: sum(one.stat().st_size for one in (folder / "spool").glob("segment-*"))
    until(lambda: size() > 50_000, "the spool fills up")
    server = Server(folder)
    until(lambda: (server.host() or {}).get("storedRequests", 0) > 0, "what waited is delivered")
    print(file=writer.stdin, flush=True)
    _, told = writer.communicate(timeout=60)
    said, _ = sender.communicate(timeout=120)
    state, host = json.loads(said), server.host()
    check(state["dropped"] > 0 and state["lostRequests"] == 100 * state["dropped"], f"the relay counts what it dropped: {state}")
    check(host["writtenRequests"] == json.loads(told)["requests"] == 20_000, f"the server knows of all: {host}")
    check(host["lostRequests"] == state["lostRequests"], f"both count the same loss: {host} {state}")
    check(sender.returncode == 2, "a loss is an exit code of 2")
    server.end()


def tokens(folder):
    folder.mkdir()
    made = {}
    for name, scope in (("web-1", "ingest"), ("ana", "read")):
        made[name] = subprocess.run([BIN / "clrscope-fleet", "token", "--token-file", folder / "tokens", "--name", name, "--scope", scope],
                                    check=True, capture_output=True, text=True).stdout.strip()
    check(made["web-1"] not in (folder / "tokens").read_text(), "the file holds digests only")
    server = Server(folder, "--token-file", str(folder / "tokens"), "--audit", str(folder / "audit"))
    to = f"grpc://{server.listen}"

    def send(token, *more):
        sender = relay(to, "--token-file", read_file(folder / "token", token), *more, stdin=subprocess.PIPE, stderr=subprocess.PIPE)
        writer = source("web-1", "shop", 3, 10, 4, stdout=sender.stdin)
        sender.stdin.close()
        writer.wait()
        sender.stdin = None
        said, errors = sender.communicate(timeout=60)
        return sender.returncode, json.loads(said), errors

    spool = ("--spool", str(folder / "spool"), "--linger", "1s")
    for wrong in ("nonsense", made["ana"]):
        code, state, errors = send(wrong, *spool)
        check(code == 0 and state["delivered"] == 0 and state["waitingBytes"] > 0, f"with a wrong token batches wait: {state}")
        check("token" in errors, f"the message names the token: {errors}")
    code, state, errors = send(made["web-1"], "--spool", str(folder / "spool"), "--linger", "60s")
    check(code == 0 and state["delivered"] == 9 and state["waitingBytes"] == 0, f"the right token delivers what waited too: {state} {errors}")
    for token, status in ((None, 401), ("nonsense", 401), (made["web-1"], 403)):
        check(server.get("/fleet/hosts", token) == status, f"REST answers {status}")
    check(len(server.get("/fleet/hosts", made["ana"])["hosts"]) == 3, "a reader sees three sources")
    audit = [json.loads(line) for line in (folder / "audit").read_text().splitlines()]
    check({(line["who"], line["outcome"]) for line in audit} >= {("web-1", "allowed"), ("ana", "refused"), ("", "refused"), ("ana", "allowed")},
          f"the audit log has all of them: {audit}")
    server.end()


def tls(folder):
    folder.mkdir()
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
                    "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", folder / "key.pem", "-out",
                    folder / "cert.pem"], check=True, capture_output=True)
    server = Server(folder, "--tls-cert", str(folder / "cert.pem"), "--tls-key", str(folder / "key.pem"), listen="127.0.0.1:0")
    port = server.address["grpc"].rpartition(":")[2]
    for more, delivered in (((), 0), (("--ca", str(folder / "cert.pem")), 2)):
        sender = relay(f"grpcs://localhost:{port}", *more, "--linger", "2s" if delivered == 0 else "60s", stdin=subprocess.PIPE,
                       stderr=subprocess.DEVNULL)
        writer = source("web-1", "shop", 2, 10, 4, stdout=sender.stdin)
        sender.stdin.close()
        writer.wait()
        sender.stdin = None
        said, _ = sender.communicate(timeout=90)
        check(json.loads(said)["delivered"] == delivered, f"a certificate is checked: {said}")
        check(sender.returncode == (0 if delivered else 2), "what is lost is told by the exit code")
    server.end()


def refusals(folder):
    folder.mkdir()

    def refused(*words):
        done = subprocess.run([BIN / "clrscope-fleet", *words], capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
        return done.returncode, done.stderr

    store = ("serve", "--store", f"sqlite:{folder}/a.db")
    for words, text in (((*store, "--listen", "0.0.0.0:0"), "requires TLS"), ((*store, "--http", "0.0.0.0:0"), "requires TLS"),
                        (store, "--token-file is required"), ((*store, "--no-auth", "--listen", "0.0.0.0:0"), "requires TLS"),
                        (("serve",), "--store is required"), (("serve", "--store", "oracle:x", "--no-auth"), "unknown kind of store"),
                        ((*store, "--retention", "0"), "greater than zero"), (("relay", "--to", "grpc://fleet.example:1"), "only with TLS"),
                        (("relay", "--to", "http://127.0.0.1:1"), "grpc://"), (("relay", "--too", "x"), "did you mean --to?"),
                        (("token", "--token-file", f"{folder}/t", "--name", "a", "--scope", "write"), "unknown scope")):
        code, said = refused(*words)
        check(code == 3 and text in said, f"{words}: {code} {said}")
    open_file = folder / "open"
    open_file.write_text("")
    open_file.chmod(0o644)
    code, said = refused(*store, "--token-file", str(open_file))
    check(code == 1 and "owner alone" in said, f"a token file that others may read: {said}")


def damaged_input(folder):
    """Frames among bytes that are none."""
    folder.mkdir()
    server = Server(folder)
    frames = subprocess.run([BIN / "fleet_source", "web-1", "shop", "3", "10", "4"], check=True, capture_output=True).stdout
    middle = frames.index(b"CLRF", 4)
    garbage = os.urandom(100_000)
    sender = subprocess.run([BIN / "clrscope-fleet", "relay", "--to", f"grpc://{server.listen}", "--json"],
                            input=garbage + frames[:middle - 5] + frames[middle:], capture_output=True, timeout=90)
    state = json.loads(sender.stdout)
    check(state["delivered"] == 2 and sender.returncode == 2, f"whole frames are delivered, damage is told: {state}")
    check(b"damaged" in sender.stderr, f"the message says so: {sender.stderr}")
    host = server.host()
    check(host["storedRequests"] == 20 and host["lostRequests"] == 10, f"the server counts the damaged frame as lost: {host}")
    server.end()


def main():
    folder = pathlib.Path(sys.argv[1])
    for test in (refusals, damaged_input, small_spool, tokens, tls):
        test(folder / test.__name__)
        print(f"{test.__name__}: ok")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Central configuration: changed by REST, staged by percent of the hosts, rolled back, kept by hosts that cannot reach the server.

    check_configuration.py FOLDER

Hosts are relays whose input says which process they are, as clrscope does.
"""
import json
import os
import pathlib
import struct
import subprocess
import sys
import threading
import urllib.error
import urllib.request
import zlib

from fleet_kit import BIN, Server, check, relay, until

HOSTS = 12


def frame(kind, payload):
    head = struct.pack("<BBHI", 1, kind, 0, len(payload))
    return b"CLRF" + head + struct.pack("<I", zlib.crc32(payload, zlib.crc32(head))) + payload


class Host:
    """Takes every version at once, and says so."""

    def __init__(self, server, folder, name, service="shop", trouble=""):
        self.name, self.service, self.trouble = name, service, trouble
        self.seen, self.applied = [], 0
        self.process = relay(f"grpc://{server.address['grpc']}", "--token-file", str(folder / "ingest"), "--spool", str(folder / f"spool-{name}"), "--linger", "0s",
                             stdin=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.tell()
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def tell(self):
        state = {"host": self.name, "service": self.service, "instance": self.name.encode().hex().ljust(16, "0"), "configuration": self.applied, "trouble": self.trouble}
        self.process.stdin.buffer.write(frame(3, json.dumps(state).encode()))
        self.process.stdin.buffer.flush()

    def read(self):
        for line in self.process.stdout:
            told = json.loads(line).get("configuration")
            if told is None:
                return  # the counts: it ends
            if told["version"] != self.applied and not self.trouble:
                self.applied = told["version"]
                self.tell()
            self.seen.append(told)

    def version(self):
        return self.seen[-1]["version"] if self.seen else None

    def end(self):
        self.process.stdin.close()
        self.process.wait(30)
        self.reader.join(30)


def token(folder, name, scope):
    words = [BIN / "clrscope-fleet", "token", "--token-file", folder / "tokens", "--name", name, "--scope", scope]
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout.strip()


def change(server, word, body, **headers):
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    request = urllib.request.Request(server.address["http"] + "/fleet/configurations", data=data,
                                     headers={"Authorization": f"Bearer {word}", "Content-Type": "application/json", **headers})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode(errors="replace")


def check_refusals(server, words):
    good = {"service": "shop", "basedOn": 0, "include": ["Shop"]}
    check(change(server, words["read"], good)[0] == 403, "a token of scope read may not change")
    check(change(server, words["ingest"], good)[0] == 403, "nor one of scope ingest")
    check(change(server, "clrf_wrong", good)[0] == 401, "nor a wrong one")
    for wrong in (b"", b"{", b"[]", {}, {**good, "include": []}, {**good, "percent": 101}, {**good, "sample": "much"}, {**good, "budgetPercent": 99},
                  {**good, "include": ["a" * 501]}, {**good, "service": "s" * 300}):
        check(change(server, words["admin"], wrong)[0] == 400, f"refused: {wrong}")
    check(change(server, words["admin"], b"[" * 200_000)[0] == 413, "a body that is too large")
    check(change(server, words["admin"], {**good, "rollBackTo": 7})[0] == 404, "there is no version 7")
    check(server.get("/fleet/configurations", words["read"])["services"] == [], "nothing was changed")


def versions_of(hosts):
    return {host.name: host.version() for host in hosts}


def main():
    folder = pathlib.Path(sys.argv[1])
    words = {scope: token(folder, scope, scope) for scope in ("ingest", "read", "admin")}
    (folder / "ingest").write_text(words["ingest"])
    options = ("--token-file", str(folder / "tokens"), "--audit", str(folder / "audit"))
    server = Server(folder, *options, listen="127.0.0.1:0")
    check_refusals(server, words)
    hosts = [Host(server, folder, f"web-{i}") for i in range(HOSTS)]
    stubborn = Host(server, folder, "stubborn", trouble="it cannot")
    other = Host(server, folder, "pay-1", service="pay")
    until(lambda: all(host.version() == 0 for host in [*hosts, other]), "hosts have their own settings")

    # Some of the hosts first: the same ones whatever happens, and none of another service.
    status, made = change(server, words["admin"], {"service": "shop", "basedOn": 0, "include": ["Shop", "Stock"], "sample": 0.25, "percent": 50, "comment": "try it"})
    check((status, made["version"], made["who"]) == (200, 1, "admin"), f"a version is made: {status} {made}")
    check(change(server, words["admin"], {"service": "shop", "basedOn": 0, "include": ["Mine"]})[0] == 409, "a change based on an old version")
    status, made = change(server, words["admin"], {"service": "shop", "basedOn": 1, "include": ["Shop"], "percent": 0})
    check(status == 200 and made["version"] == 2, "a version for nobody")
    counted = until(lambda: (lambda found: found if found and found[0]["versions"][1]["processes"] > 0 else None)(
        server.get("/fleet/configurations", words["read"])["services"]), "the server knows who has it")
    first = until(lambda: (lambda now: now if 1 in now.values() else None)(versions_of(hosts)), "some hosts have it")
    check(counted[0]["versions"][1]["comment"] == "try it", f"the history: {counted}")

    # Then all.
    check(change(server, words["admin"], {"service": "shop", "basedOn": 2, "include": ["Shop", "Stock"], "exclude": ["Shop.Secret"], "budgetPercent": 2})[0] == 200, "all")
    until(lambda: all(host.version() == 3 for host in hosts), "all hosts have it")
    staged = {host.name for host in hosts if any(told["version"] == 1 for told in host.seen)}
    check(0 < len(staged) < HOSTS and {name for name, version in first.items() if version == 1} <= staged, f"half of the hosts were first: {staged}")
    check(not any(told["version"] == 2 for host in hosts for told in host.seen), "0 % are none")
    last = hosts[0].seen[-1]
    check(last["include"] == ["Shop", "Stock"] and last["exclude"] == ["Shop.Secret"] and last["budgetPercent"] == 2 and "sample" not in last, f"settings: {last}")
    check(other.version() == 0, "another service keeps its own")

    # The server is away: a host that starts anew has what it had; then it comes back and rolls back.
    server.kill()
    hosts[0].end()
    hosts[0] = Host(server, folder, "web-0")
    until(lambda: hosts[0].version() == 3, "a host without the server begins with what it had")
    strange = Host(server, folder, "web-1-strange")
    until(lambda: strange.version() == 0, "one that never had any begins with its own")
    server.listen = server.address["grpc"]
    server.start()
    check(change(server, words["admin"], {"service": "shop", "basedOn": 3, "rollBackTo": 1})[0] == 200, "one click back")
    until(lambda: all(host.version() == 4 for host in [*hosts, strange]), "all hosts go back")
    check(hosts[0].seen[-1]["sample"] == 0.25 and hosts[0].seen[-1]["include"] == ["Shop", "Stock"], f"to the settings of version 1: {hosts[0].seen[-1]}")
    history = server.get("/fleet/configurations", words["read"], service="shop")["services"][0]["versions"]
    check([one["version"] for one in history] == [4, 3, 2, 1] and history[0]["comment"] == "back to version 1", f"nothing is overwritten: {history}")
    for host in [*hosts, stubborn, strange, other]:
        host.end()
    lines = [json.loads(line)["what"] for line in (folder / "audit").read_text().splitlines()]
    for version in (1, 2, 3, 4):
        check(sum(f"configuration of shop: version {version}" in line for line in lines) == 1, f"version {version} is in the audit log")
    server.end()
    print("configuration: ok")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""A gRPC client of another implementation (@grpc/grpc-js) against the server, by the published proto.

    check_client.py FOLDER
"""
import json
import pathlib
import subprocess
import sys

from fleet_kit import BIN, Server, check, relay, source, start


def main():
    folder, here = pathlib.Path(sys.argv[1]), pathlib.Path(__file__).parent
    tokens = {}
    for name, scope in (("hosts", "ingest"), ("readers", "read")):
        tokens[scope] = subprocess.run([BIN / "clrscope-fleet", "token", "--token-file", folder / "tokens", "--name", name, "--scope", scope],
                                       check=True, capture_output=True, text=True).stdout.strip()
    server = Server(folder, "--token-file", str(folder / "tokens"), listen="127.0.0.1:0")
    (folder / "token").write_text(tokens["ingest"])
    sender = relay(f"grpc://{server.address['grpc']}", "--token-file", str(folder / "token"), "--linger", "60s", stdin=subprocess.PIPE)
    writer = source("web-1", "shop", 5, 10, 4, stdout=sender.stdin)
    sender.stdin.close()
    sender.stdin = None
    writer.wait()
    sender.communicate(timeout=90)
    check(sender.returncode == 0, "the relay delivers")
    subprocess.run(["node", here / "client.mjs", server.address["grpc"], tokens["ingest"], tokens["read"], server.address["http"]], check=True, timeout=100)
    server.end()
    stranger(folder, here)


def stranger(folder, here):
    """A gRPC server that does not know our service, as one of another version: batches wait, and the relay says why."""
    other = start("node", here / "stranger.mjs", stdout=subprocess.PIPE)
    sender = relay(f"grpc://127.0.0.1:{other.stdout.readline().strip()}", "--spool", str(folder / "spool"), "--linger", "3s", stdin=subprocess.PIPE,
                   stderr=subprocess.PIPE)
    writer = source("web-1", "shop", 2, 10, 4, stdout=sender.stdin)
    sender.stdin.close()
    sender.stdin = None
    writer.wait()
    said, errors = sender.communicate(timeout=90)
    state = json.loads(said)
    check(state["delivered"] == 0 and state["waitingBytes"] > 0 and state["lostRequests"] == 0, f"batches wait: {state}")
    check("does not know clrscope.fleet.v1" in errors, f"the relay says why: {errors}")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""A gRPC client of another implementation (@grpc/grpc-js) against the server, by the published proto.

    check_client.py FOLDER
"""
import pathlib
import subprocess
import sys

from fleet_kit import BIN, Server, check, relay, source


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
    subprocess.run(["node", here / "client.mjs", server.address["grpc"], tokens["ingest"], tokens["read"]], check=True, timeout=100)
    server.end()


if __name__ == "__main__":
    main()

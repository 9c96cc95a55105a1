#!/usr/bin/env python3
"""An HTTP proxy that breaks connections: some requests never arrive, of others the answer is lost.

    flaky_proxy.py TARGET_PORT SEED ONE_IN

Prints its port. One request in ONE_IN is cut off before it is forwarded, one in ONE_IN after it was.
"""
import random
import socket
import sys
import threading


def read_message(stream):
    """Head and body of one request; None at the end."""
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        line = stream.readline()
        if not line:
            return None
        head += line
    length = 0
    for line in head.split(b"\r\n"):
        if line.lower().startswith(b"content-length:"):
            length = int(line.split(b":")[1])
    return head, stream.read(length)


def serve(client, target, chance, one_in):
    with client, client.makefile("rb") as stream:
        while message := read_message(stream):
            head, body = message
            number = chance.randrange(one_in)
            if number == 0:
                return
            head = b"".join(line + b"\r\n" for line in head.split(b"\r\n")[:-2] if not line.lower().startswith(b"connection:"))
            with socket.create_connection(("127.0.0.1", target)) as server:
                server.sendall(head + b"Connection: close\r\n\r\n" + body)
                answer = b""
                while piece := server.recv(65536):
                    answer += piece
            if number == 1:
                return
            client.sendall(answer)
            return  # the answer says that the connection ends


def main():
    target, seed, one_in = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    chance = random.Random(seed)
    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)
    while True:
        client, _ = listener.accept()
        threading.Thread(target=serve, args=(client, target, chance, one_in), daemon=True).start()


if __name__ == "__main__":
    main()

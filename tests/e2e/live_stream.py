"""Follows /live as browsers do, and says as JSON what came.

    live_stream.py resume URL PID     the numbers of a flood, cut off and resumed several times: each once, in order
    live_stream.py many URL PID N     N viewers at once, one of them slow: what each got, and how many sessions there were
"""

import json
import socket
import sys
import threading
import time
import urllib.request
from urllib.parse import urlsplit


def events(stream):
    """(id, event, data) of a stream of server-sent events."""
    fields = {}
    for raw in stream:
        line = raw.decode().rstrip("\n")
        if not line:
            if "data" in fields:
                yield fields.get("id"), fields.get("event"), json.loads(fields["data"])
            fields = {}
        elif not line.startswith(":"):
            name, _, value = line.partition(": ")
            fields[name] = value


def opened(url, last=None):
    request = urllib.request.Request(url, headers={"Accept": "text/event-stream"})
    if last:
        request.add_header("Last-Event-ID", last)
    return urllib.request.urlopen(request, timeout=60)


def status(base):
    with urllib.request.urlopen(base + "/live/status", timeout=30) as answer:
        return json.load(answer)


def resume(base, pid):
    url = f"{base}/live?pid={pid}&topics=events&providers=Clrscope-Samples-Flood"
    numbers, last, cuts, missed = {}, None, 0, 0
    deadline = time.time() + 90
    while time.time() < deadline:
        with opened(url, last) as stream:
            got = 0
            for number, event, data in events(stream):
                if event == "missed":
                    missed += data["items"]
                    continue
                if event == "end" or "payload" not in data:
                    missed += data.get("leftOut", 0) + data.get("dropped", 0)
                    if event == "end":
                        deadline = 0
                        break
                    continue
                last = number
                payload = data["payload"]
                numbers.setdefault(payload["thread"], []).append(payload["sequence"])
                got += 1
                if got == 150 and cuts < 8:
                    break  # as a network does
                if sum(map(len, numbers.values())) >= 2000:
                    deadline = 0
                    break
        cuts += 1
    whole = all(seen == list(range(seen[0], seen[0] + len(seen))) for seen in numbers.values())
    print(json.dumps({"cuts": cuts, "missed": missed, "whole": whole, "count": sum(map(len, numbers.values()))}))


def many(base, pid, count):
    got, lock, stop = [0] * count, threading.Lock(), threading.Event()
    parts = urlsplit(base)
    request = f"GET /live?pid={pid}&topics=counters,gc HTTP/1.1\r\nHost: {parts.netloc}\r\nAccept: text/event-stream\r\n\r\n"
    sockets = []
    for _ in range(count):
        one = socket.create_connection((parts.hostname, parts.port), timeout=60)
        one.sendall(request.encode())
        sockets.append(one)

    def read(i):
        while not stop.is_set():
            try:
                data = sockets[i].recv(65536)
            except OSError:
                return
            if not data:
                return
            with lock:
                got[i] += data.count(b"event: counters")

    # The last one never reads.
    threads = [threading.Thread(target=read, args=(i,), daemon=True) for i in range(count - 1)]
    for thread in threads:
        thread.start()
    deadline = time.time() + 60
    while time.time() < deadline and min(got[:-1]) < 3:
        time.sleep(0.1)
    # Sessions settle into one a moment after the last change.
    while time.time() < deadline:
        now = next(one for one in status(base)["processes"] if one["pid"] == pid)
        if now["sessions"] == 1:
            break
        time.sleep(0.2)
    followers = max(feed["followers"] for feed in now["feeds"])
    # While all of them follow, others are answered.
    with urllib.request.urlopen(f"{base}/health/live", timeout=60) as answer:
        healthy = answer.status == 200
    stop.set()
    for one in sockets:
        one.close()
    while time.time() < deadline + 30:
        later = next(one for one in status(base)["processes"] if one["pid"] == pid)
        if max(feed["followers"] for feed in later["feeds"]) == 0:
            break
        time.sleep(0.2)
    print(json.dumps({"viewers": count, "least": min(got[:-1]), "sessions": now["sessions"], "followers": followers,
                      "healthy": healthy, "after": max(feed["followers"] for feed in later["feeds"]), "lost": now["lost"]}))


if __name__ == "__main__":
    verb, base_url, target, *rest = sys.argv[1:]
    if verb == "resume":
        resume(base_url, int(target))
    else:
        many(base_url, int(target), int(rest[0]))

"""A .gcdump of five million objects: writing and reading it, and dotnet-gcdump's report of the same file."""
import json
import subprocess

from kit import Row


def run(kit):
    objects = 100_000 if kit.quick else 5_000_000
    scale = 5_000_000 / objects
    file = kit.tmp / "made.gcdump"
    program = kit.folder / "heap_live"
    made = kit.weigh(program, "make", objects, file)
    if made.code != 0:
        raise RuntimeError(made.err.strip()[-300:])
    read = kit.repeat(1 if kit.quick else 3, program, "read", file)
    seen = json.loads(read.out)
    if seen["objects"] != objects:
        raise RuntimeError(f"{seen['objects']} objects read, {objects} written")
    rows = [Row("write 5 M objects", "s", json.loads(made.out)["wroteMs"] / 1000 * scale, 2),
            Row("read 5 M objects", "s", seen["gotMs"] / 1000 * scale, 2)]
    if not kit.quick:  # of few objects the program itself is most
        rows.append(Row("read 5 M objects: peak memory per object", "B", read.rss_mb * 2**20 / objects, 60))
    try:
        tool = kit.peer("dotnet-gcdump")
    except subprocess.CalledProcessError:  # tools/peer has said why
        print("gcdump: without dotnet-gcdump beside it")
        return rows
    peer = kit.weigh(tool, "report", file)
    if peer.code != 0:
        raise RuntimeError(peer.err.strip()[-300:])
    rows.append(Row("read and list 5 M objects, whole command", "s", min(read.seconds, read.cpu_seconds) * scale, None,
                    min(peer.seconds, peer.cpu_seconds) * scale, "dotnet-gcdump"))
    return rows

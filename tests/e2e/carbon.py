#!/usr/bin/env python3
"""A carbon-cache of a case's own, and what it wrote.

    carbon.py prepare FOLDER                          writes its configuration; prints {"address": "127.x.y.z"}
    carbon.py run FOLDER                              becomes carbon-cache
    carbon.py find FOLDER PATTERN VALUE               waits until a series that matches the glob holds the value; prints them
    carbon.py ends FOLDER PATTERN END …               waits until there is a series that matches for each of the endings
    carbon.py compare FOLDER PATTERN NDJSON NAME [--killed TIME]
                                                      waits until the series holds the values of that name in the NDJSON file:
                                                      each in its second, and none between. --killed: who wrote both was killed
                                                      after the line of that time: one of the two may lack what came then

carbon cannot tell which port it got, so it has its own loopback address instead: two never meet.
"""
import argparse
import datetime
import fnmatch
import json
import os
import pathlib
import sys
import time

PATIENCE = 90


def prepare(folder):
    pid = os.getpid()
    address = f"127.{100 + (pid >> 16) % 100}.{pid >> 8 & 255}.{pid & 255}"
    (folder / "conf").mkdir(parents=True)
    (folder / "log").mkdir()
    (folder / "conf/carbon.conf").write_text(f"""[cache]
STORAGE_DIR = {folder}
CONF_DIR = {folder}/conf
LOG_DIR = {folder}/log
LOCAL_DATA_DIR = {folder}/data
PID_DIR = {folder}
USER =
LINE_RECEIVER_INTERFACE = {address}
LINE_RECEIVER_PORT = 2003
ENABLE_UDP_LISTENER = True
UDP_RECEIVER_INTERFACE = {address}
UDP_RECEIVER_PORT = 2003
PICKLE_RECEIVER_INTERFACE = {address}
PICKLE_RECEIVER_PORT = 2004
CACHE_QUERY_INTERFACE = {address}
CACHE_QUERY_PORT = 7002
MAX_CREATES_PER_MINUTE = inf
MAX_UPDATES_PER_SECOND = 5000
LOG_UPDATES = False
LOG_CREATES = False
LOG_CACHE_HITS = False
ENABLE_TAGS = False
CARBON_METRIC_INTERVAL = 0
""")
    (folder / "conf/storage-schemas.conf").write_text("[all]\npattern = .*\nretentions = 1s:30m\n")
    (folder / "conf/storage-aggregation.conf").write_text("")
    print(json.dumps({"address": address}))


def run(folder):
    for left in folder.glob("carbon-cache-*.pid"):  # of one that was killed
        left.unlink()
    os.execvp("carbon-cache", ["carbon-cache", f"--config={folder}/conf/carbon.conf", "--nodaemon", "start"])


def series(folder, pattern):
    """Path to {second: value} of all whisper files that match."""
    sys.path.append("/usr/lib/python3/dist-packages")  # where Debian put it, whichever python3 this is
    import whisper
    found = {}
    data = folder / "data"
    for file in data.rglob("*.wsp"):
        path = ".".join(file.relative_to(data).with_suffix("").parts)
        if not fnmatch.fnmatchcase(path, pattern):
            continue
        try:
            (start, _, step), values = whisper.fetch(str(file), int(time.time()) - 1790)
        except (OSError, whisper.WhisperException):
            continue  # just being made
        found[path] = {start + i * step: value for i, value in enumerate(values) if value is not None}
    return found


def wait(check):
    """Until it returns nothing; what it returned last otherwise."""
    end = time.monotonic() + PATIENCE
    while (trouble := check()) and time.monotonic() < end:
        time.sleep(0.3)
    if trouble:
        sys.exit(trouble)


def find(folder, pattern, value):
    def check():
        for path, points in series(folder, pattern).items():
            if value in points.values():
                print(json.dumps({"path": path, "points": len(points), "value": value}))
                return None
        return f"no {pattern} with {value}: {series(folder, pattern)}"
    wait(check)


def ends(folder, pattern, endings):
    def check():
        found = [path for path, points in series(folder, pattern).items() if points]
        missing = [one for one in endings if not any(path.endswith(one) for path in found)]
        return f"no series ends with {missing}; there are {found}" if missing else None
    wait(check)


def seconds_of(time_text):
    return datetime.datetime.fromisoformat(time_text.replace("Z", "+00:00")).timestamp()


def compare(folder, pattern, file, name, killed):
    def check():
        rows = map(json.loads, open(file))
        expected = {int(seconds_of(row["time"])): row["value"] for row in rows if row["name"] == name}
        last = int(seconds_of(killed)) if killed else None
        following = min((second for second in expected if last is not None and second > last), default=0)

        def wanted(second):
            return last is None or not last <= second < following
        found = series(folder, pattern)
        if len(found) != 1 or not expected:
            return f"{len(found)} series match {pattern}, {len(expected)} values of {name}"
        got = next(iter(found.values()))
        missing = {t: v for t, v in expected.items() if got.get(t) != v and wanted(t)}
        more = {t: v for t, v in got.items() if t not in expected and t < max(expected) and wanted(t)}
        if missing or more:
            return f"missing {missing}, more {more}; of {len(expected)}"
        print(json.dumps({"same": len(expected), "from": min(expected), "to": max(expected)}))
        return None
    wait(check)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["prepare", "run", "find", "ends", "compare"])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("words", nargs="*")
    parser.add_argument("--killed", metavar="TIME")
    options = parser.parse_args()
    if options.what == "prepare":
        prepare(options.folder)
    elif options.what == "run":
        run(options.folder)
    elif options.what == "find":
        find(options.folder, options.words[0], float(options.words[1]))
    elif options.what == "ends":
        ends(options.folder, options.words[0], options.words[1:])
    else:
        compare(options.folder, *options.words, options.killed)


if __name__ == "__main__":
    main()

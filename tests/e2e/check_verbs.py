#!/usr/bin/env python3
"""Whether what every verb prints with --json is what `clrscope VERB --json-schema` says. Unknown members are errors.

    check_verbs.py SICK WEB     pids of the samples `sick` and `web`

A verb of `clrscope --help` that CALLS does not have fails, and so does one of its answers that no call gives.
"""
import concurrent.futures
import contextlib
import copy
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading

import jsonschema
from serve_kit import check, finish

CLRSCOPE = os.environ.get("CLRSCOPE") or shutil.which("clrscope")
REPORTS = ("overview events topn cpu waits threads syscalls gc jit exceptions contention threadpool thread-starts allocations database requests http dns "
           "tasks processes").split()

# Verb → (title of the answer in its schema without "clrscope" and "--json", arguments). {sick}, {web}: pids; {tmp}: a folder.
CALLS = [
    ("version", "version"),
    ("list-profiles", "list-profiles"),
    ("ps", "ps"),
    ("check", "check"),
    ("check", "check -p {sick}"),
    ("stacks", "stacks -p {sick}"),
    ("stacks --async", "stacks -p {sick} --async"),
    ("stacks --requests", "stacks -p {sick} --requests"),
    ("doctor", "doctor -p {sick} --duration 2s"),
    ("doctor --all", "doctor --all --duration 1s"),
    ("doctor --list", "doctor --list"),
    ("collect", "collect -p {sick} --duration 2s -o {tmp}/a.nettrace"),
    *[("report", f"report {{tmp}}/a.nettrace {one}") for one in REPORTS],
    ("convert", "convert {tmp}/a.nettrace --format speedscope -o {tmp}/a.json"),
    ("flame", "flame {tmp}/a.nettrace -o {tmp}/a.html"),
    ("heap", "heap -p {web} --strings -o {tmp}/web.gcdump"),
    ("heap", "heap {tmp}/web.gcdump"),
    ("heap --type", "heap {tmp}/web.gcdump --type String"),
    ("heap --diff", "heap -p {web} --diff {tmp}/web.gcdump"),
    ("dump", "dump -p {web} --type mini -o {tmp}/web.dmp"),
    ("counters list", "counters list -p {sick}"),
    ("counters collect", "counters collect -p {sick} --duration 2s -o {tmp}/counters.csv"),
    ("forward", "forward -p {sick} --counters System.Runtime --to ndjson:{tmp}/f.ndjson --duration 2s"),
    ("attach", "attach -p {web}"),
    ("agent status", "agent status -p {web}"),
    ("agent exceptions", "agent exceptions -p {web} --duration 200ms"),
    ("agent contention", "agent contention -p {web} --duration 200ms"),
    ("agent allocations", "agent allocations -p {web} --duration 200ms"),
    ("agent survivors", "agent survivors -p {web} --duration 200ms"),
    ("agent runtime", "agent runtime -p {web} --duration 200ms"),
    ("agent list", "agent list"),
    ("agent stacks", "agent stacks -p {web}"),
    ("agent wall", "agent wall -p {web} --duration 300ms"),
    ("agent heap", "agent heap -p {web}"),
    ("agent objects", "agent objects --transitions -- {program} alloc --count 1"),
    ("detach", "detach -p {web}"),
    ("agent methods", "agent methods -p {web} --include Samples --duration 200ms"),
    ("requests", "requests -p {web} --include Samples --sample 1 --duration 1s"),
    ("agent env", "agent env -o {tmp}/agent.so"),
    ("key create", "key create --folder {tmp}/state --name test"),
    ("key list", "key list --folder {tmp}/state"),
    ("key revoke", "key revoke {key} --folder {tmp}/state"),
    ("fleet token", "fleet token --token-file {tmp}/tokens --name web-7 --scope ingest"),
    ("fleet tenants", "fleet tenants --server {fleet}"),
    ("fleet migrate", "fleet migrate --store sqlite:{tmp}/migrated.db"),
    ("fleet check", "fleet check --store sqlite:{tmp}/migrated.db"),
    ("fleet replay", "fleet replay --frames {tmp}/frames --to grpc://{ingest} --hosts 3 --duration 100ms"),
    ("enable", "enable -p {web}"),
    ("disable", "disable -p {web}"),
    # These go on until they are stopped: their first lines count.
    ("doctor --watch", "doctor -p {sick} --watch --interval 1s …"),
    ("counters monitor", "counters monitor -p {sick} …"),
    ("events", "events -p {sick} --clrevents exception …"),
    ("top", "top -p {sick} …"),
    ("fleet serve", "fleet serve --store sqlite:{tmp}/fleet.db --no-auth --listen 127.0.0.1:0 --http 127.0.0.1:0 …"),
    ("serve", "serve --urls unix:{tmp}/socket --metric-urls= --folder {tmp}/state …"),
]


def closed(schema):
    """A copy in which objects have no other members than those described."""
    if isinstance(schema, list):
        return [closed(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    made = {name: closed(value) for name, value in schema.items()}
    if isinstance(made.get("properties"), dict) and "type" in made:
        made.setdefault("additionalProperties", False)
    return made


def schemas_of(verb):
    """Title → schema, of each answer of the verb."""
    whole = json.loads(subprocess.run([CLRSCOPE, verb, "--json-schema"], capture_output=True, check=True).stdout)
    jsonschema.Draft202012Validator.check_schema(whole)
    answers = whole["anyOf"] if "title" not in whole else [{name: value for name, value in whole.items() if name != "$defs"}]
    made = {}
    for answer in answers:
        one = closed(copy.deepcopy(answer))
        one["$defs"] = closed(whole["$defs"])
        made[re.fullmatch("clrscope (.*) --json", answer["title"])[1]] = one
    return made


def first_lines(arguments):
    """Of a verb that does not end: until the first line is there, then it is stopped as by Ctrl+C."""
    with tempfile.TemporaryFile("w+") as errors:
        started = subprocess.Popen([CLRSCOPE, *arguments, "--json"], stdout=subprocess.PIPE, stderr=errors, text=True)
        lines = [started.stdout.readline()]
        started.send_signal(signal.SIGINT)
        watchdog = threading.Timer(60, started.kill)
        watchdog.start()
        rest = started.stdout.read()  # not communicate(), which loses what was read beyond the first line
        started.wait()
        watchdog.cancel()
        errors.seek(0)
        check(lines[0], f"{' '.join(arguments)} prints a line: {errors.read()[-500:]}")
    return [line for line in lines + rest.splitlines() if line.strip()]


def answers_of(command, names):
    """The JSON values that a command prints."""
    arguments = command.format(**names).split()
    if arguments[-1] == "…":
        return [json.loads(line) for line in first_lines(arguments[:-1])]
    at = arguments.index("--") if "--" in arguments else len(arguments)
    arguments.insert(at, "--json")
    done = subprocess.run([CLRSCOPE, *arguments], capture_output=True, text=True, check=False, timeout=180)
    check(done.returncode == 0, f"{command}: exit code {done.returncode}: {done.stderr[-500:]}")
    if arguments[-1] != "--json":  # a command that has said something too
        return [json.loads(done.stdout.splitlines()[-1])]
    try:
        return [json.loads(done.stdout)]
    except json.JSONDecodeError:
        return [json.loads(line) for line in done.stdout.splitlines() if line.strip()]


@contextlib.contextmanager
def fleet_server(folder):
    """A server for the verbs that ask one: its addresses."""
    words = ["fleet", "serve", "--store", f"sqlite:{folder}/asked.db", "--no-auth", "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0", "--json"]
    started = subprocess.Popen([CLRSCOPE, *words], stdout=subprocess.PIPE, text=True)
    try:
        yield json.loads(started.stdout.readline())
    finally:
        started.terminate()
        started.communicate(timeout=60)


def chain_of(command):
    """The process that a call is about, "all" for none or every one; a call that reads a file is in the chain of the call that wrote it."""
    return "web" if "{web}" in command or "web.gcdump" in command else "sick" if "{sick}" in command or "a.nettrace" in command else "all"


def ask(calls, schemas, names):
    """Makes the calls one after the other; gives the number of answers."""
    count = 0
    for title, command in calls:
        for value in answers_of(command, names):
            count += 1
            if title == "key create":
                names["key"] = value["id"]
            for error in list(jsonschema.Draft202012Validator(schemas[title]).iter_errors(value))[:3]:
                check(False, f"{command}: {'/'.join(map(str, error.absolute_path))}: {error.message[:300]}")
    return count


def main():
    sick, web = sys.argv[1:]
    told = subprocess.run([CLRSCOPE, "--help"], capture_output=True, check=True, text=True).stdout
    verbs = re.findall(r"^  ([a-z-]+) +[A-Z]", told, re.M)
    check(len(verbs) > 15, f"--help lists the verbs: {verbs}")
    schemas = {}
    for verb in verbs:
        schemas.update(schemas_of(verb))
    check(set(schemas) == {title for title, _ in CALLS}, f"every answer is called here: {set(schemas) ^ {title for title, _ in CALLS}}")
    with tempfile.TemporaryDirectory() as tmp, fleet_server(tmp) as fleet:
        with open(f"{tmp}/frames", "wb") as frames:
            source = pathlib.Path(CLRSCOPE).parent / "fleet_source"
            subprocess.run([source, "h", "shop", "2", "5", "3"], stdout=frames, stderr=subprocess.DEVNULL, check=True)
        names = {"sick": sick, "web": web, "tmp": tmp, "fleet": fleet["http"], "ingest": fleet["grpc"], "key": "", "program": os.readlink(f"/proc/{web}/exe")}
        chains = [[one for one in CALLS if chain_of(one[1]) == name] for name in ("all", "sick", "web")]
        count = ask(chains[0], schemas, names)
        with concurrent.futures.ThreadPoolExecutor() as pool:  # two processes, which know nothing of each other
            count += sum(pool.map(lambda chain: ask(chain, schemas, names), chains[1:]))
    print(f"{count} answers of {len(verbs)} verbs")
    finish()


main()

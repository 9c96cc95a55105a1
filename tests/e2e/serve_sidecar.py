#!/usr/bin/env python3
"""A controller as a sidecar has it: own pid namespace, read-only root, a user of its own, no capability, and one folder
that it shares with the applications. They connect to its port.

    serve_sidecar.py SAMPLES       folder of the sample program
"""
import os
import pathlib
import signal
import subprocess
import sys

from processes import copy_for_user
from serve_kit import Serve, check, finish, until

SIDECAR, APP = 65534, 65532


def end_inside(process, number):
    """unshare itself takes no signals: its child is the program."""
    if process.poll() is None:
        for child in pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split():
            os.kill(int(child), number)
        process.wait(20)


class Sidecar(Serve):
    def __init__(self, shared, *options):
        # The folder stays writable in a root that is not.
        script = (f'mount --make-rprivate / && mount --bind {shared} {shared} && mount -o remount,bind,ro / && '
                  f'mount -o remount,bind,rw {shared} && '
                  f'exec setpriv --reuid {SIDECAR} --regid {SIDECAR} --clear-groups --no-new-privs --bounding-set=-all '
                  '--inh-caps=-all "$@"')
        super().__init__("--diagnostic-port", f"{shared}/port,listen,all", *options, folder=f"{shared}/state",
                         env={"TMPDIR": str(shared), "HOME": "/nonexistent"},
                         before=("unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "bash", "-c", script, "sidecar"))

    def key(self, *scopes, **more):
        """Made by the sidecar's own user: nobody else may change its state folder, not even root."""
        refused = subprocess.run([self.bin, "key", "create", "--folder", str(self.folder), "--scopes", "read"],
                                 capture_output=True, text=True)
        check(refused.returncode == 1 and f"belongs to user {SIDECAR}" in refused.stderr, f"root is refused: {refused.stderr}")
        return super().key(*scopes, user=SIDECAR, **more)

    def end(self):
        end_inside(self.process, signal.SIGTERM)
        return 0


def app(samples, shared, name, suspend):
    """The sample under a name of its own; it sees the port's folder, not the controller."""
    home = pathlib.Path(os.environ["TMPDIR"]) / f"app-{name}"
    home.mkdir()
    os.chown(home, APP, APP)
    out = open(home / "out", "wb")
    environment = {**os.environ, "TMPDIR": str(home), "HOME": str(home),
                   "DOTNET_DiagnosticPorts": f"{shared}/port,{'suspend' if suspend else 'nosuspend'}"}
    process = subprocess.Popen(["unshare", "--pid", "--fork", "--kill-child", "--mount-proc", "setpriv", "--reuid", str(APP), "--regid", str(APP), "--clear-groups", f"{samples}/samples", "cpu",
                                "--seconds", "100"], stdout=out, stderr=subprocess.STDOUT, env=environment)
    return process, home / "out"


def comes_true(truth, what):
    value = until(truth)
    check(value, what)
    return value


def main():
    top = pathlib.Path(os.environ["TMPDIR"])
    samples = copy_for_user(pathlib.Path(sys.argv[1]), top / "samples")
    shared = top / "shared"
    shared.mkdir()
    os.chown(shared, SIDECAR, SIDECAR)
    shared.chmod(0o755)
    for folder in [top, *top.parents]:
        if folder != pathlib.Path("/") and not folder.stat().st_mode & 0o001:
            folder.chmod(folder.stat().st_mode | 0o011)
    serve = Sidecar(shared)
    status = pathlib.Path(f"/proc/{serve.process.pid}/task/{serve.process.pid}/children").read_text().split()
    facts = pathlib.Path(f"/proc/{status[0]}/status").read_text()
    check("CapEff:\t0000000000000000" in facts, "no capability")
    check(f"Uid:\t{SIDECAR}" in facts, "a user of its own")
    key = serve.key("admin")["key"]
    serve.keys_known()
    ready = serve.ask("/health/ready")
    check(ready.status == 200, f"ready: {ready.text}")
    check(serve.ask("/processes", key=key).json() == [], "nobody yet")
    one, said_one = app(samples, shared, "one", suspend=True)
    two, said_two = app(samples, shared, "two", suspend=False)
    try:
        comes_true(lambda: "ready" in said_one.read_text(), "an application that waited at its start was let go on")
        comes_true(lambda: "ready" in said_two.read_text(), "one that did not wait runs too")
        listed = lambda: serve.ask("/processes", key=key).json()
        found = comes_true(lambda: len(now := listed()) == 2 and now, "both are listed") or []
        check(len({one["uid"] for one in found}) == 2, "each by an id of its own")
        check(len({one["pid"] for one in found}) == 2 and 1 in [one["pid"] for one in found],
              f"and by a number of its own, though both are 1: {found}")
        check(all(one["name"] == "samples" and one["reachable"] for one in found), f"with name, reachable: {found}")
        uid = found[0]["uid"] if found else "none"
        told = serve.ask(f"/check?uid={uid}", key=key).json()
        print(serve.ask(f"/check?uid={uid}", key=key, headers={"Accept": "text/plain"}).text)
        works = {row["id"]: row["works"] for row in told["sources"]}
        check(works["diagnostic-port"] == "yes" and works["events"] == "yes", f"events work: {works}")
        check(works["cpu-process"] == "no" and any("namespace" in row.get("hint", "") for row in told["sources"]),
              "and what does not work is listed, with the remedy")
        paths = serve.ask("/openapi.json").json()["paths"]
        if "/trace" in paths:
            trace = serve.ask(f"/trace?uid={uid}&durationSeconds=2", key=key, timeout=60)
            check(trace.status == 200 and trace.body.startswith(b"Nettrace"), f"a trace: {trace.status} {trace.body[:100]}")
            pathlib.Path("trace.nettrace").write_bytes(trace.body)
        if "/counters" in paths:
            comes_true(lambda: (a := serve.ask(f"/counters?uid={uid}", key=key)).status == 200 and "cpu" in a.text,
                       "counters of a process that is known by its port")
        if "/stacks" in paths:
            stacks = serve.ask(f"/stacks?uid={uid}", key=key, headers={"Accept": "text/plain"}, timeout=60)
            check(stacks.status == 200 and "Burn" in stacks.text, f"stacks: {stacks.status} {stacks.text[:200]}")
        told = serve.ask(f"/doctor?uid={uid}&durationSeconds=2", key=key, timeout=60)
        outcome = {one["id"]: one for one in told.json().get("examined", [])} if told.status == 200 else {}
        check(outcome.get("CS1501", {}).get("outcome") == "nothing" and outcome.get("CS1601", {}).get("outcome") == "nothing",
              f"what events tell is examined: {told.status} {told.text[:500]}")
        check("another pid namespace" in outcome.get("CS1001", {}).get("reason", "") and outcome["CS1303"]["outcome"] == "notRun",
              f"and the rest is not, with the reason: {outcome.get('CS1001')} {outcome.get('CS1303')}")
        end_inside(two, signal.SIGKILL)
        comes_true(lambda: len(listed()) == 1, "one that ended is listed no more")
        serve.end()
        check(one.poll() is None, "an application survives the end of its sidecar")
        serve = Sidecar(shared)
        again = comes_true(lambda: serve.ask("/processes", key=key).json(), "and connects to the next one") or []
        check([p["uid"] for p in again] == [p["uid"] for p in found if p["uid"] in [q["uid"] for q in again]] and again,
              "where it has the same id; keys are kept")
    finally:
        for process in (one, two):
            end_inside(process, signal.SIGKILL)
        serve.end()
    finish()


main()

"""Hostile processes: started as another user, in a folder of their own, and looked at afterwards."""
import json
import os
import pathlib
import re
import secrets
import shutil
import signal
import socket
import subprocess
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
PYTHON = "/usr/bin/python3"  # one that every user may run
NOBODY = 65534


def contracts():
    """The names that the reader of contracts asks a runtime for, from its source."""
    source = "".join(path.read_text() for path in (ROOT / "src/inspect/contract").glob("*.cpp"))
    types = {}
    for kind, name in re.findall(r'\bfield\(\s*"(\w+)",\s*"(\w+)"', source):
        types.setdefault(kind, []).append(name)
    for name in re.findall(r'\bsize\(\s*"(\w+)"', source):
        types.setdefault(name, []).append("!")
    names = re.findall(r'\b(?:variable|number|address|value)\(\s*"(\w+)"', source)
    return {"types": types, "globals": sorted(set(names)), "contracts": dict(re.findall(r'require\("(\w+)", (\d+)\)', source))}


class Trap:
    """A socket that only root may reach: whoever is led to it has been deceived."""

    def __init__(self, folder):
        folder.mkdir(mode=0o700)
        self.path = folder / "s"
        self.visitors = 0
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(self.path))
        self.listener.listen(64)
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            connection, _ = self.listener.accept()
            with connection:
                if connection.recv(1):  # who only looks whether it is alive says nothing
                    self.visitors += 1


class Ground:
    """The folder of a run: copies of the fake, a file and a socket of root's."""

    def __init__(self, folder):
        self.folder = folder
        folder.chmod(0o755)
        self.word = f"ROOT-ONLY-{secrets.token_hex(12)}"
        self.secret = folder / "secret"
        self.secret.write_text(self.word + "\n")
        self.secret.chmod(0o600)
        self.trap = Trap(folder / "trap")
        self.lib = folder / "lib"
        shutil.copytree(ROOT / "tests/fakes", self.lib, ignore=lambda _, names: [n for n in names if not n.startswith("hostile_") or not n.endswith(".py")])
        (self.lib / "contracts.json").write_text(json.dumps(contracts()).replace('"1"', "1").replace('"2"', "2"))
        self.host = folder / "dotnet"
        shutil.copy(os.path.realpath(PYTHON), self.host)
        for path in (self.lib, self.host, *self.lib.iterdir()):
            path.chmod(0o755)
        self.run = secrets.token_hex(2)


class Target:
    def __init__(self, ground, attack, uid, number):
        self.ground, self.attack, self.uid = ground, attack, uid
        self.name = f"h{ground.run}-{number}"
        self.folder = ground.folder / self.name
        self.folder.mkdir(mode=0o755)
        script = self.folder / f"{self.name}.dll"
        shutil.copy(ground.lib / "hostile_runtime.py", script)
        self.tmp = self.folder / "t"
        self.tmp.mkdir(mode=0o700)
        if os.geteuid() == 0:
            for path in (self.folder, script, self.tmp):
                os.chown(path, uid, uid)
        words = [str(ground.host), "-B", str(script), *attack.options, *attack.words]
        if os.geteuid() == 0 and uid != 0:
            words = ["setpriv", "--reuid", str(uid), "--regid", str(uid), "--clear-groups", *words]
        if attack.shell:
            words = ["unshare", "--mount", "--uts", "bash", "-c", f'set -e; {attack.shell}; exec "$@"', "bash", *words]
        self.log = open(self.folder / "log", "wb+")
        self.process = subprocess.Popen(
            words, stdout=subprocess.PIPE, stderr=self.log, stdin=subprocess.DEVNULL, cwd=self.folder, start_new_session=True,
            env={"TMPDIR": str(self.tmp), "PATH": os.environ["PATH"], "PYTHONPATH": str(ground.lib), "HOSTILE_CONTRACTS": str(ground.lib / "contracts.json")})
        self.pid = self.process.pid
        if self.process.stdout.readline() != b"ready\n":
            self.log.seek(0)
            raise RuntimeError(f"the fixture did not start for {attack.name}: {self.log.read().decode(errors='replace')[-500:]}")
        self.drain = threading.Thread(target=self.process.stdout.read, daemon=True)
        self.drain.start()
        if attack.cover:
            self.cover(attack.cover)
        if attack.state == "stopped":
            os.kill(self.pid, signal.SIGSTOP)
        if attack.state:
            self.until(lambda: self.state() in "Tt")
        self.files = self.listing()

    def cover(self, what):
        path = self.tmp / "libcoreclr.so"
        source = what
        if what == "fifo":
            source = self.folder / "fifo"
            os.mkfifo(source, 0o666)
        subprocess.run(["nsenter", "-t", str(self.pid), "-m", "mount", "--bind", str(source), str(path)], check=True)

    @staticmethod
    def until(truth, seconds=20):
        deadline = time.monotonic() + seconds
        while not truth() and time.monotonic() < deadline:
            time.sleep(0.02)

    def status(self, key):
        try:
            text = pathlib.Path(f"/proc/{self.pid}/status").read_text(errors="replace")
        except OSError:
            return ""
        found = re.search(rf"^{key}:\s*(.*)$", text, re.M)
        return found[1] if found else ""

    def state(self):
        return self.status("State")[:1] or "?"

    def listing(self):
        return sorted(str(path.relative_to(self.folder)) for path in self.folder.rglob("*") if path.name != "fifo")

    def left(self):
        return [name for name in self.listing() if name not in self.files]

    def harm(self):
        """What was done to it; empty when nothing."""
        if self.attack.fresh:
            return ""
        if self.process.poll() is not None:
            return f"the target ended with {self.process.returncode}"
        wanted = {"stopped": "T", "traced": "t"}.get(self.attack.state, "RSD")
        self.until(lambda: self.state() in wanted, 5)
        if self.state() not in wanted:
            return f"the target is left in state {self.state()}"
        if not self.attack.state and self.status("TracerPid") != "0":
            return "the target is still traced"
        if self.attack.keeps:
            return ""
        # A server whose client has left may still be on its way out.
        deadline = time.monotonic() + 30
        while (left := self.left()) and time.monotonic() < deadline:
            time.sleep(0.02)
        return f"files are left: {', '.join(left)}" if left else ""

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
        try:
            os.killpg(self.pid, signal.SIGKILL)
        except OSError:
            pass
        self.process.wait()
        pathlib.Path(f"/tmp/perf-{self.pid}.map").unlink(missing_ok=True)
        self.log.close()

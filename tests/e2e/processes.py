"""Processes that a case starts: in their own group, output into files, ended by pid whatever happens."""
import os
import shutil
import signal
import subprocess
import time

MARK = "CLRSCOPE_E2E_CASE"  # in the environment of everything a case starts: how strays are found
POLL = 0.02  # seconds


class Interrupted(Exception):
    """The user ended the run."""


class Started:
    """One running or ended command."""

    def __init__(self, name, arguments, environment, folder, cwd, stdin=subprocess.DEVNULL):
        self.name, self.arguments = name, arguments
        self.stdout_path, self.stderr_path = folder / f"{name}.stdout", folder / f"{name}.stderr"
        self.began, self.seconds = time.monotonic(), None
        with open(self.stdout_path, "wb") as out, open(self.stderr_path, "wb") as err:
            self.process = subprocess.Popen(arguments, env=environment, cwd=cwd, stdin=stdin, stdout=out, stderr=err,
                                            start_new_session=True)
        self.pid = self.process.pid
        self.answer = None  # http_step.Answer of an HTTP request

    def stdout(self):
        return self.stdout_path.read_text(errors="replace")

    def stderr(self):
        return self.stderr_path.read_text(errors="replace")

    def exit_code(self):
        """The exit code as a shell shows it (128 + signal), or None while it runs."""
        code = self.process.poll()
        if code is None:
            return None
        if self.seconds is None:
            self.seconds = time.monotonic() - self.began
        return code if code >= 0 else 128 - code

    def send(self, line):
        """One line to its stdin."""
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()

    def signal(self, name):
        self.process.send_signal(getattr(signal, "SIG" + name.removeprefix("SIG")))

    def forget(self):
        """An attempt that is repeated: ends it and removes its output."""
        self.end()
        self.stdout_path.unlink()
        self.stderr_path.unlink()

    def end(self):
        """Kills the group. Once its leader is reaped the id may belong to others: end_strays() finds the rest."""
        if self.process.poll() is None:
            os.killpg(self.pid, signal.SIGKILL)
            self.process.wait()
        if self.process.stdin:
            self.process.stdin.close()


def wait_until(happened, deadline, stop):
    """Polls `happened` until it returns something true; False when the deadline passed."""
    while True:
        if stop.is_set():
            raise Interrupted
        if result := happened():
            return result
        if time.monotonic() >= deadline:
            return False
        time.sleep(POLL)


def find_marked(mark):
    """Pids of the living processes that carry a case's mark."""
    wanted = f"{MARK}={mark}".encode()
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{entry}/environ", "rb") as file:  # empty once it is a zombie
                if wanted in file.read().split(b"\0"):
                    yield int(entry)
        except OSError:
            pass


def end_strays(mark, patience=5):
    """Kills what a case started and what left its group, and sees them gone."""
    deadline = time.monotonic() + patience
    while (strays := list(find_marked(mark))) and time.monotonic() < deadline:
        for pid in strays:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        time.sleep(POLL)


def reachable_by(uid, path):
    """Whether that user may run `path`."""
    return subprocess.run([*as_user(uid), "test", "-x", str(path)], stderr=subprocess.DEVNULL, check=False).returncode == 0


def as_user(uid):
    return ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", "--"] if uid else []


def copy_for_user(source, target):
    """A copy that other users may read: the original may lie in a private home."""
    if not target.exists():
        shutil.copytree(source, target, symlinks=True)
        for path in (target, *target.rglob("*")):  # what its owner may read and run, all may
            mode = path.stat().st_mode
            path.chmod(mode | (mode & 0o500) >> 3 | (mode & 0o500) >> 6)
    return target

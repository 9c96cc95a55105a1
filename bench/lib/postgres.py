"""A PostgreSQL server of one's own: its data in a temporary folder, its only door a unix socket there."""
import glob
import os
import pathlib
import shutil
import subprocess
import tempfile
import time


def program(name):
    """Where Debian puts it, or on the path; None: it is not installed."""
    found = sorted(glob.glob(f"/usr/lib/postgresql/*/bin/{name}"))
    return found[-1] if found else shutil.which(name)


class Postgres:
    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="clrscope-pg-"))
        # The server refuses to be root's.
        self.user = ["setpriv", "--reuid", "65534", "--clear-groups"] if os.getuid() == 0 else []
        if self.user:
            os.chown(self.folder, 65534, -1)
        self.data = str(self.folder / "data")
        self.process = None
        self.run("initdb", "-D", self.data, "-U", "shop", "--auth", "trust", "--no-sync")
        self.process = subprocess.Popen([*self.user, program("postgres"), "-D", self.data, "-k", str(self.folder), "-c", "listen_addresses=",
                                         "-c", "fsync=off"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 30
        while subprocess.run([program("pg_isready"), "-q", "-h", str(self.folder), "-U", "shop"]).returncode != 0:
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.stop()
                raise RuntimeError("PostgreSQL did not start")
            time.sleep(0.1)
        self.connection = f"Host={self.folder};Username=shop;Database=shop"

    def run(self, name, *words):
        done = subprocess.run([*self.user, program(name), *words], capture_output=True, text=True, cwd="/")
        if done.returncode != 0:
            raise RuntimeError(f"{name} ended with {done.returncode}: {done.stderr.strip()[-300:]}")

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

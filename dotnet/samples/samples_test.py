"""The samples of the C# package do what they say."""
import collections
import functools
import json
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ARTIFACTS = HERE.parent.parent / "build" / "dotnet"


@functools.cache
def build(name):
    subprocess.run(["dotnet", "build", str(HERE / name / f"{name}.csproj"), "--configuration", "Release", "--artifacts-path", str(ARTIFACTS), "--nologo",
                    "--verbosity", "quiet", "--disable-build-servers"], check=True, stdout=subprocess.DEVNULL)
    return ARTIFACTS / "bin" / name / "release" / name


class Carbon:
    """Reads what carbon's plaintext port would."""

    def __init__(self):
        self.server = socket.create_server(("127.0.0.1", 0))
        self.port = self.server.getsockname()[1]
        self.lines = []
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                client, _ = self.server.accept()
            except OSError:
                return
            threading.Thread(target=self.read, args=(client,), daemon=True).start()

    def read(self, client):
        with client.makefile() as lines:
            for line in lines:
                self.lines.append(line.rstrip("\n"))

    def sums(self):
        sums = collections.Counter()
        for line in list(self.lines):
            path, value, _ = line.split(" ")
            sums[path] += float(value)
        return sums


class GraphiteInTenLines(unittest.TestCase):
    def start(self, *address):
        app = subprocess.Popen([str(build("GraphiteInTenLines")), *address], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(app.wait)
        self.addCleanup(app.kill)
        return app

    @unittest.skipUnless(shutil.which("carbon-cache"), "carbon-cache is not installed")
    def test_graphite_itself_holds_the_numbers(self):
        with tempfile.TemporaryDirectory() as folder:
            carbon = [sys.executable, "-B", str(HERE.parent.parent / "tests/e2e/carbon.py")]
            store = f"{folder}/carbon"
            address = json.loads(subprocess.run([*carbon, "prepare", store], check=True, stdout=subprocess.PIPE).stdout)["address"]
            cache = subprocess.Popen([*carbon, "run", store], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                app = self.start(address, "2003")
                for pattern in ("shop.web1.GC_Start", "shop.web1.Exception_Start", "shop.web1.dotnet.gc.collections.gc_heap_generation.gen2"):
                    subprocess.run([*carbon, "ends", store, pattern + ".*", ".rate"], check=True, stdout=subprocess.DEVNULL)
                self.assertRegex(app.communicate("", timeout=60)[0], r"sent \d+ lines, dropped 0")
            finally:
                cache.terminate()
                cache.wait()

    def test_sends_events_and_counters(self):
        carbon = Carbon()
        self.addCleanup(carbon.server.close)
        app = self.start("127.0.0.1", str(carbon.port))
        wanted = ["shop.web1.GC_Start.count", "shop.web1.Exception_Start.count", "shop.web1.dotnet.gc.collections.gc_heap_generation.gen2.rate",
                  "shop.web1.dotnet.exceptions.error_type.InvalidOperationException.rate"]
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and not all(carbon.sums()[path] > 0 for path in wanted):
            time.sleep(0.05)
        out = app.communicate("", timeout=60)[0]
        for path in wanted:
            self.assertGreater(carbon.sums()[path], 0, f"{path} among {sorted(carbon.sums())}")
        for line in carbon.lines:
            self.assertRegex(line, r"^[\w.-]+ -?[\d.E+-]+ \d{10}$")
        said = re.search(r"sent (\d+) lines, dropped 0", out)
        self.assertTrue(said, out)
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline and len(carbon.lines) < int(said[1]):
            time.sleep(0.05)
        self.assertEqual(int(said[1]), len(carbon.lines))

    def test_is_ten_lines(self):
        """From the first line of code to the end of the session's start; comments and the app itself do not count."""
        text = (HERE / "GraphiteInTenLines" / "Program.cs").read_text()
        code = [line for line in text[:text.index("// The app itself")].splitlines() if line.strip() and not line.startswith("//")]
        self.assertLessEqual(len(code), 10, "\n".join(code))


if __name__ == "__main__":
    unittest.main()

"""Inside and outside agree: a session of the C# package and `clrscope collect` on the same process name and read events alike."""
import collections
import json
import pathlib
import signal
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
CLRSCOPE = ROOT / "build/release/bin/clrscope"
RUNTIME = "Microsoft-Windows-DotNETRuntime"
NUMBERS = "Clrscope-Tests-Numbers"
PROVIDERS = f"{RUNTIME}:gc+gchandle+exception+contention+threading+jit+type:5,{NUMBERS}"


def program(framework):
    return ROOT / f"build/dotnet/bin/Clrscope.Tests/release_{framework}_linux-x64/Clrscope.Tests"


def same(inside, outside):
    """A value as the package's text and as JSON has it."""
    if isinstance(outside, bool):
        return inside == str(outside)
    if isinstance(outside, (int, float)):
        try:
            return float(inside) == float(outside)
        except ValueError:
            return False
    return inside == outside


def between(events):
    """The runtime's events of the thread that threw "begin", up to "end"; and all of the EventSource."""
    tid, started, own, others = None, False, [], []
    for event in events:
        message = event["payload"].get("ExceptionMessage")
        if event["provider"] == NUMBERS:
            others.append(event)
        elif event["provider"] != RUNTIME:
            continue  # rundown
        elif message == "begin":
            tid, started = event["osId"], True
        elif started and event["osId"] == tid:
            own.append(event)
            if message == "end":
                started = False
    return own, others


class InsideAndOutside(unittest.TestCase):
    def events(self, framework):
        with tempfile.TemporaryDirectory() as folder:
            app = subprocess.Popen([str(program(framework)), "--tell"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            self.addCleanup(app.wait)
            self.addCleanup(app.kill)
            pid = app.stdout.readline().split()[1]
            trace = f"{folder}/trace.nettrace"
            recorder = subprocess.Popen([str(CLRSCOPE), "collect", "-p", pid, "--providers", PROVIDERS, "-o", trace, "--json"], stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)
            self.addCleanup(recorder.wait)
            self.addCleanup(recorder.kill)
            for line in recorder.stderr:  # it says when it records
                if "Recording" in line:
                    break
            app.stdin.write("go\n")
            app.stdin.flush()
            lines = []
            while not lines or not lines[-1].startswith("dropped "):
                lines.append(app.stdout.readline())
                self.assertTrue(lines[-1], "it ended early")
            recorder.send_signal(signal.SIGINT)
            said, errors = recorder.communicate(timeout=120)
            app.communicate("\n", timeout=120)
            self.assertEqual(0, recorder.returncode, errors)
            self.assertEqual(0, json.loads(said)["lost"])
            self.assertEqual("dropped 0 failures 0", lines.pop().strip())
            outside = subprocess.run([str(CLRSCOPE), "convert", trace, "--format", "ndjson", "-o", "-"], check=True, capture_output=True, text=True).stdout
            return [json.loads(line) for line in lines], [json.loads(line) for line in outside.splitlines()]

    def agree(self, framework):
        if not CLRSCOPE.exists() or not program(framework).exists():
            self.skipTest(f"{CLRSCOPE} or {program(framework)} is not built")
        inside, outside = self.events(framework)
        for mine, other in zip(between(inside), between(sorted(outside, key=lambda event: event["atMs"]))):
            self.assertGreaterEqual(len(mine), 7)
            queues = collections.defaultdict(collections.deque)
            for event in other:
                queues[event["name"], event["id"]].append(event)
            for event in mine:
                queue = queues[event["name"], event["id"]]
                self.assertTrue(queue, f"only inside: {event}")
                there = queue.popleft()
                self.assertEqual(event["osId"], there["osId"])
                wrong = {name: (value, there["payload"].get(name)) for name, value in event["payload"].items() if not same(value, there["payload"].get(name))}
                self.assertFalse(wrong, f"{event['name']}: inside, outside")
            self.assertFalse({name for name, queue in queues.items() if queue}, "only outside")

    def test_agree_on_net8(self):
        self.agree("net8.0")

    def test_agree_on_net9(self):
        self.agree("net9.0")

    def test_agree_on_net10(self):
        self.agree("net10.0")


if __name__ == "__main__":
    unittest.main()

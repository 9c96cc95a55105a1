"""What benchmarks share: running a command and weighing it, starting samples, finding peers."""
import collections
import dataclasses
import json
import os
import pathlib
import shutil
import signal
import statistics
import subprocess
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


@dataclasses.dataclass
class Row:
    """One number: ours, the budget, the peer's. Smaller is better by default."""

    what: str
    unit: str
    ours: float
    budget: float = None
    peer: float = None
    peer_name: str = ""
    larger_is_better: bool = False

    def met(self):
        if self.budget is None:
            return None
        return self.ours >= self.budget if self.larger_is_better else self.ours <= self.budget

    def ratio(self):
        if not self.peer or not self.ours:
            return None
        return self.ours / self.peer if self.larger_is_better else self.peer / self.ours

    def line(self, judged=True):
        text = f"{self.what:58}{self.ours:>12,.2f} {self.unit:6}"
        if self.budget is not None:
            text += f" budget {self.budget:,g}" + (f": {'met' if self.met() else 'NOT MET'}" if judged else "")
        if self.peer is not None:
            text += f"   {self.peer_name} {self.peer:,.2f}"
            if self.ratio():
                text += f" ({self.ratio():.1f} x)"
        return text


@dataclasses.dataclass
class Weight:
    seconds: float
    cpu_seconds: float
    rss_mb: float
    code: int
    out: str
    err: str


class Kit:
    def __init__(self, folder, quick, long=False):
        self.clrscope = str(pathlib.Path(folder) / "clrscope")
        self.folder = pathlib.Path(folder)
        self.quick = quick
        self.long = long
        self.tmp = pathlib.Path(tempfile.mkdtemp(prefix="clrscope-bench-"))
        self.started = []
        # Diagnostic sockets of the samples go here, away from everybody else's.
        self.env = dict(os.environ, TMPDIR=str(self.tmp), DOTNET_NOLOGO="1")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.started:
            if process.poll() is None:
                process.kill()
                process.wait()
        shutil.rmtree(self.tmp, ignore_errors=True)

    def tool(self, *words):
        return subprocess.run([str(ROOT / "tools" / words[0]), *words[1:]], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()

    def peer(self, name):
        return self.tool("peer", name)

    def oracle(self, *words):
        answer = subprocess.run([self.tool("publish_oracle"), *words], check=True, stdout=subprocess.PIPE, text=True)
        return json.loads(answer.stdout)

    def build_dotnet(self, project):
        """The program of a C# project below bench/, built."""
        artifacts = ROOT / "build" / "dotnet"
        subprocess.run(["dotnet", "build", str(ROOT / "bench" / project), "--configuration", "Release", "--artifacts-path",
                        str(artifacts), "--nologo", "--verbosity", "quiet", "--disable-build-servers"], check=True, stdout=subprocess.DEVNULL)
        name = pathlib.Path(project).stem
        return artifacts / "bin" / name / "release" / name

    def dotnet_bench(self):
        return self.build_dotnet("dotnet/Clrscope.Bench.csproj")

    def worker(self, *words):
        """bench/dotnet, one thread of which does the same over and over, warm."""
        return Worker(self, *words)

    def shop(self, connection):
        """bench/shop, whose requests ask a database; as sample()."""
        return self.start(self.build_dotnet("shop/Shop.csproj"), connection)

    def sample(self, *words, target="net10.0"):
        """Starts a sample and waits until its symptom is there; returns (process, its ready line)."""
        return self.start(pathlib.Path(self.tool("publish_samples")) / target / "samples", *words)

    def start(self, program, *words):
        process = subprocess.Popen([str(program), *words], stdout=subprocess.PIPE, text=True, env=self.env)
        self.started.append(process)
        return process, json.loads(process.stdout.readline())

    def end_sample(self, process):
        """Asks it to end; its last line of truth, if it has one."""
        process.send_signal(signal.SIGTERM)
        out = process.communicate(timeout=30)[0].strip().splitlines()
        return json.loads(out[-1]) if out and out[-1].startswith("{") else None

    def weigh(self, *command, stdin=None):
        """Runs a command to its end: wall time, CPU of it and its children, peak memory."""
        # GNU time forks from a small process: the peak that wait4 gives here would begin with Python's own memory.
        report = self.tmp / "time"
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            start = time.monotonic()
            process = subprocess.run(["/usr/bin/time", "-q", "-o", str(report), "-f", "%e %U %S %M", *map(str, command)], stdout=out,
                                     stderr=err, stdin=stdin or subprocess.DEVNULL, env=self.env)
            seconds = time.monotonic() - start
            out.seek(0), err.seek(0)
            _, user, system, kib = map(float, report.read_text().split())
            return Weight(seconds, user + system, kib / 1024, process.returncode, out.read().decode(), err.read().decode())

    def repeat(self, times, *command):
        """The run of median wall time."""
        runs = [self.weigh(*command) for _ in range(1 if self.quick else times)]
        for run in runs:
            if run.code != 0:
                raise RuntimeError(f"{' '.join(map(str, command))} ended with {run.code}: {run.err.strip()[-300:]}")
        return sorted(runs, key=lambda run: run.seconds)[len(runs) // 2]


def median(values):
    return statistics.median(values)


class Worker:
    """How much of its work a program of bench/dotnet does in a second of wall time and in a second of its own CPU time."""

    def __init__(self, kit, *words):
        self.process = subprocess.Popen([str(kit.dotnet_bench()), *words], stdout=subprocess.PIPE, text=True, env=kit.env)
        kit.started.append(self.process)
        self.told = collections.deque(maxlen=1)
        threading.Thread(target=self.listen, daemon=True).start()
        time.sleep(1 if kit.quick else 5)  # until its code is compiled for speed

    def listen(self):
        for line in self.process.stdout:
            self.told.append((int(line), time.monotonic(), time.clock_gettime_ns((~self.process.pid << 3) | 2) / 1e9))

    def rates(self, seconds):
        first = self.told[0]
        time.sleep(seconds)
        last = self.told[0]
        work = last[0] - first[0]
        return work / (last[1] - first[1]), work / (last[2] - first[2])

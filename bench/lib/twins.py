"""Two processes of one program under the same load at the same time: what is done to one of them shows in its CPU time per request beside its twin's.

What else the machine does, and how fast it is just then, changes both alike, so that their ratio varies far less than the requests per second of one process.
"""
import dataclasses
import math
import re
import statistics
import subprocess
import time


def cpu_seconds(pid):
    return time.clock_gettime_ns((~pid << 3) | 2) / 1e9


@dataclasses.dataclass
class Load:
    """What one process did in a while."""

    requests: int
    cpu: float

    def per_request(self):
        return self.cpu / max(self.requests, 1)


class Twins:
    def __init__(self, started, path, connections=8):
        """started: two results of kit.sample or kit.shop."""
        self.processes = [process for process, _ in started]
        self.pids = [ready["pid"] for _, ready in started]
        self.urls = [ready["truth"]["address"].rstrip("/") + path for _, ready in started]
        self.connections = connections

    def load(self, seconds):
        """Both under load for so long."""
        before = [cpu_seconds(pid) for pid in self.pids]
        clients = [subprocess.Popen(["wrk", "-t1", f"-c{self.connections}", f"-d{seconds}s", url], stdout=subprocess.PIPE, text=True) for url in self.urls]
        told = [client.communicate(timeout=seconds + 60)[0] for client in clients]
        spent = [cpu_seconds(pid) - at for pid, at in zip(self.pids, before)]
        for client in clients:
            if client.returncode != 0:
                raise RuntimeError(f"wrk ended with {client.returncode}")
        return [Load(int(re.search(r"(\d+) requests in", text)[1]), cpu) for text, cpu in zip(told, spent)]

    def ratio(self, loads, treated):
        """The logarithm of the CPU time per request of one by that of its twin."""
        return math.log(loads[treated].per_request() / loads[1 - treated].per_request())


@dataclasses.dataclass
class Estimate:
    """Percent, with the standard error of the mean."""

    values: list

    @property
    def mean(self):
        return statistics.mean(self.values)

    @property
    def error(self):
        return statistics.stdev(self.values) / len(self.values) ** 0.5 if len(self.values) > 1 else float("nan")

    def __str__(self):
        return f"{self.mean:+.1f} % (standard error {self.error:.1f}, {len(self.values)} rounds from {min(self.values):+.1f} to {max(self.values):+.1f})"


def percent(difference):
    """A difference of logarithms, as percent more."""
    return 100 * (math.exp(difference) - 1)

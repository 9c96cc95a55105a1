"""What a recorder costs a program, found by sampling it: the share of its CPU time in the runtime's code that writes events, and in the kernel's sampling timer.

Two equal processes under the same load differ by several percent from one moment to the next on a shared machine, so that a cost of one percent takes hours to
see. The share of samples in certain functions is known to a tenth of a percent within seconds. The runtime's functions have no names without its symbols; those
that write events are found as the ones that no sample hits while nobody records. Whoever samples opens a session for method names itself: what the runtime does to
tell names at the begin and end of a recording is therefore not in this share.
"""
import collections
import dataclasses
import os
import re
import shutil
import subprocess
import sys

from twins import cpu_seconds

RATE = 1999


@dataclasses.dataclass
class Share:
    """Percent of the program's CPU time, with the standard error."""

    percent: float
    error: float

    def __str__(self):
        return f"{self.percent:.2f} % (standard error {self.error:.2f})"


def load(url, seconds, connections=16):
    """`url`: one, or several words: a script of wrk, too."""
    words = [url] if isinstance(url, str) else url
    return subprocess.Popen(["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", *words], stdout=subprocess.DEVNULL)


def stacks(kit, pid, url, seconds, recorder=None):
    """Stack → samples of a process under load; `recorder` is a command that records it at the same time."""
    out = kit.tmp / f"direct-{pid}.nettrace"
    client = load(url, seconds + 3)
    other = subprocess.Popen(recorder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=kit.env) if recorder else None
    observe = [kit.clrscope, "collect", "-p", str(pid), "--profile", "cpu-sampling", "--rate", str(RATE), "--duration", f"{seconds}s", "-o", str(out)]
    subprocess.run(observe, check=True, capture_output=True, env=kit.env)
    if other and other.wait(timeout=120) not in (0, 10):
        raise RuntimeError(f"{recorder[0]} ended with {other.returncode}")
    client.wait(timeout=60)
    text = subprocess.run([kit.clrscope, "convert", str(out), "--format", "collapsed", "-o", "-"], check=True, capture_output=True, text=True).stdout
    out.unlink()
    found = collections.Counter()
    for line in text.splitlines():
        stack, weight = line.rsplit(" ", 1)
        found[frozenset(stack.split(";"))] += float(weight)
    return found


def of_runtime(frames):
    return {frame for frame in frames if frame.startswith("libcoreclr.so!")}


def share_of(samples, belongs, seconds):
    """The share of the samples whose frames belong to what is looked for."""
    share = sum(weight for frames, weight in samples.items() if belongs(frames)) / sum(samples.values())
    count = RATE * seconds  # at least one CPU is busy
    return Share(100 * share, 100 * (share * (1 - share) / count) ** 0.5)


class EventCode:
    """The runtime's functions that are hit while somebody records a program, and otherwise never."""

    def __init__(self, kit, pid, url, seconds):
        self.kit, self.pid, self.url = kit, pid, url
        self.usual = of_runtime(frozenset().union(*stacks(kit, pid, url, 2 * seconds)))
        self.plain = stacks(kit, pid, url, seconds)

    def share(self, seconds, recorder):
        """Of the program's samples while `recorder` runs. What samples of another plain run have in these functions are functions that are merely rare: it is
        taken off."""
        during = stacks(self.kit, self.pid, self.url, seconds, recorder)
        writes_events = of_runtime(frozenset().union(*during)) - self.usual

        there, by_chance = (share_of(samples, writes_events.intersection, seconds) for samples in (during, self.plain))
        return Share(there.percent - by_chance.percent, (there.error ** 2 + by_chance.error ** 2) ** 0.5)


def sampling_timer(pid, seconds):
    """(nanoseconds, count) of the kernel's sampling timer on a process, by BPF on the timer's two ends; None where that is not possible."""
    if os.getuid() != 0 or not shutil.which("bpftrace"):
        return None
    program = ('tracepoint:timer:hrtimer_expire_entry /args->function == kaddr("perf_swevent_hrtimer") && pid == %d/ { @s[tid] = nsecs; } '
               'tracepoint:timer:hrtimer_expire_exit /@s[tid]/ { @ns = sum(nsecs - @s[tid]); @n = count(); delete(@s[tid]); } '
               'interval:s:%d { exit(); }') % (pid, seconds)
    mounted = "[ -d /sys/kernel/tracing/events ] || mount -t tracefs none /sys/kernel/tracing; exec bpftrace -e \"$0\""
    done = subprocess.run(["unshare", "--mount", "sh", "-c", mounted, program], capture_output=True, text=True)
    spent, count = re.search(r"@ns: (\d+)", done.stdout), re.search(r"@n: (\d+)", done.stdout)
    if not spent or not count:
        print(f"bench/run: bpftrace did not tell the kernel's time: {done.stderr.strip()[-200:]}", file=sys.stderr)
        return None
    return int(spent[1]), int(count[1])


def timer_share(kit, pid, url, seconds, recorder):
    """Percent of the program's CPU time in the kernel's sampling timer while `recorder` runs; None where that is not possible."""
    client = load(url, seconds + 3)
    recording = subprocess.Popen(recorder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=kit.env)
    before = cpu_seconds(pid)
    timer = sampling_timer(pid, max(1, seconds - 2))
    spent = cpu_seconds(pid) - before
    recording.wait(timeout=120)
    client.wait(timeout=60)
    return 100 * timer[0] / 1e9 / spent if timer else None

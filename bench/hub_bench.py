"""The hub: what an event costs, what many processes and sinks weigh, what the app pays, how soon a value or an event is there."""
import datetime
import json
import subprocess
import time

from kit import Row


def numbers(out):
    return {name: float(value) for name, value, _ in (line.split() for line in out.splitlines())}


def cpu_seconds(pid):
    return time.clock_gettime_ns((~pid << 3) | 2) / 1e9  # the process's own clock: threads that ended count too


def weight_of_many(kit, processes, sinks, seconds):
    samples = [kit.sample("meters", "--seconds", "300")[0] for _ in range(processes)]
    words = [word for i in range(sinks) for word in ("--to", f"ndjson:{kit.tmp}/many{i}.ndjson")]
    targets = [word for sample in samples for word in ("-p", str(sample.pid))]
    run = kit.weigh(kit.clrscope, "forward", *targets, "--counters", "Clrscope.Samples,System.Runtime", *words, "--duration", f"{seconds}s")
    for sample in samples:
        kit.end_sample(sample)
    if run.code != 0:
        raise RuntimeError(run.err.strip()[-300:])
    return run.rss_mb


def watched(kit, pid, **pipes):
    return subprocess.Popen([str(kit.clrscope), "counters", "monitor", "-p", str(pid), "--json"], stderr=subprocess.DEVNULL, env=kit.env, **pipes)


def cost_of_counters(kit, seconds, warm_up):
    """Share of one CPU that the target spends more while its default counters are read: in the first minute, in which the runtime
    compiles what it runs there twice, and then."""
    sample, _ = kit.sample("idle", "--seconds", "300")

    def spent(time_span):
        before = cpu_seconds(sample.pid)
        time.sleep(time_span)
        return 100 * (cpu_seconds(sample.pid) - before) / time_span

    alone = spent(seconds)
    watch = watched(kit, sample.pid, stdout=subprocess.DEVNULL)
    begin, then = spent(warm_up) - alone, spent(seconds) - alone
    watch.terminate()
    watch.wait(30)
    kit.end_sample(sample)
    return begin, then


def first_value(kit):
    sample, _ = kit.sample("idle", "--seconds", "300")
    time.sleep(3)  # a younger one is left alone until it is two seconds old
    start = time.monotonic()
    watch = watched(kit, sample.pid, stdout=subprocess.PIPE, text=True)
    line = watch.stdout.readline()
    seconds = time.monotonic() - start
    watch.terminate()
    watch.communicate()
    kit.end_sample(sample)
    if not line:
        raise RuntimeError("counters monitor printed no value")
    return seconds


def event_to_line(kit, rate, seconds):
    """Milliseconds from an event to its line of JSON: the 99th of a hundred."""
    sample, _ = kit.sample("flood", "--rate", str(rate), "--seconds", "300")
    tail = subprocess.Popen([str(kit.clrscope), "events", "-p", str(sample.pid), "--providers", "Clrscope-Samples-Flood", "--json",
                             "--duration", f"{seconds}s"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=kit.env)
    delays = []
    for count, line in enumerate(tail.stdout):
        if count % 1000:
            continue
        now = time.time()
        when = datetime.datetime.fromisoformat(json.loads(line)["time"].replace("Z", "+00:00")).timestamp()
        delays.append(1000 * (now - when))
    tail.wait(30)
    kit.end_sample(sample)
    if not delays:
        raise RuntimeError("no event came")
    delays.sort()
    return delays[int(len(delays) * 0.99)]


def run(kit):
    bench = kit.weigh(kit.folder / "hub_bench", 200_000 if kit.quick else 4_000_000)
    if bench.code != 0:
        raise RuntimeError(bench.err.strip())
    ours = numbers(bench.out)
    processes, rate = (3, 10_000) if kit.quick else (10, 100_000)
    begin, then = cost_of_counters(kit, 3 if kit.quick else 30, 5 if kit.quick else 70)
    return [
        Row("hub: events decoded and dispatched to two listeners", "M/s", ours["rate"], 1, None, "", True),
        Row("hub: an event that nobody wants", "ns", ours["unwanted"], 50),
        Row(f"hub: memory, {processes} processes x 3 sinks", "MB", weight_of_many(kit, processes, 3, 3 if kit.quick else 20), 30),
        Row("hub: what default counters cost an idle app at first", "% CPU", begin),
        Row("hub: what default counters cost an idle app then", "% CPU", then, None if kit.quick else 0.1),  # quick: still compiling
        Row("hub: first counter value", "s", first_value(kit), 1.2, 5.2, "dotnet-counters (as published, not run here)"),
        Row(f"hub: event to line of JSON at {rate:,} events/s, p99", "ms", event_to_line(kit, rate, 3 if kit.quick else 20), 200),
    ]

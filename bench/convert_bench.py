"""Reporting and converting a million samples: time and memory of the whole command, and dotnet-trace's beside it."""
import json

from kit import Row

THREADS, SAMPLES = 300, 1_000_000


def record(kit, file):
    """About a million samples: threads under deep stacks, until there are enough."""
    seconds = 2 if kit.quick else 25
    process, ready = kit.sample("threads", str(THREADS), "--depth", "40", "--seconds", "100")
    taken = kit.weigh(kit.clrscope, "collect", "-p", ready["pid"], "--profile", "dotnet-common,dotnet-sampled-thread-time", "--duration",
                      f"{seconds}s", "-o", file)
    kit.end_sample(process)
    if taken.code != 0:
        raise RuntimeError(taken.err.strip()[-300:])


def time_of(weight):
    """Wall time, or CPU time on a machine that others use too; start included."""
    return min(weight.seconds, weight.cpu_seconds)


def run(kit):
    trace = kit.tmp / "samples.nettrace"
    record(kit, trace)
    samples = None
    rows = []
    for name in ("speedscope", "chromium", "collapsed", "ndjson", "nettrace"):
        ours = kit.repeat(5, kit.clrscope, "convert", trace, "--format", name, "-o", kit.tmp / "ours", "--json")
        if samples is None:
            samples = json.loads(ours.out)["samples"]
            peer = kit.weigh(kit.peer("dotnet-trace"), "convert", trace, "--format", "Speedscope", "-o", kit.tmp / "peer")
            if peer.code != 0:
                raise RuntimeError(peer.err.strip()[-300:])
        scale = SAMPLES / samples  # the sampler's rate differs from machine to machine
        with_peer = name == "speedscope"
        budgeted = name in ("speedscope", "chromium", "collapsed")
        rows.append(Row(f"{name} of 1 M samples (from {samples:,})", "s", time_of(ours) * scale, 0.3 if budgeted else None,
                        time_of(peer) * scale if with_peer else None, "dotnet-trace" if with_peer else ""))
        rows.append(Row(f"{name} of 1 M samples: peak memory", "MB", ours.rss_mb * scale if budgeted else ours.rss_mb,
                        64 if budgeted else None, peer.rss_mb * scale if with_peer else None, "dotnet-trace" if with_peer else ""))
    ours = kit.repeat(5, kit.clrscope, "report", trace, "topn", "--json")
    peer = kit.weigh(kit.peer("dotnet-trace"), "report", trace, "topN", "-n", "10")
    if peer.code != 0:
        raise RuntimeError(peer.err.strip()[-300:])
    return rows + [
        Row(f"report topn of 1 M samples (from {samples:,})", "s", time_of(ours) * scale, 0.3, time_of(peer) * scale, "dotnet-trace"),
        Row("report topn of 1 M samples: peak memory", "MB", ours.rss_mb, 64, peer.rss_mb * scale, "dotnet-trace"),
    ]

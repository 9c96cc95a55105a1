"""What recording costs the recorder at a flood of events, against dotnet-trace; and whether anything was lost."""

from kit import Row

PROVIDER = "Clrscope-Samples-Flood"
RATE = 700_000

def record(kit, command, path):
    """Both record the same rate for the same time; (weight, events, lost as TraceEvent counts them)."""
    sample, ready = kit.sample("flood", "--rate", str(RATE), "--threads", "1")
    weight = kit.weigh(*[word.format(pid=ready["pid"], out=path) for word in command])
    kit.end_sample(sample)
    if weight.code != 0:
        raise RuntimeError(f"{command[0]} ended with {weight.code}: {weight.err.strip()[-300:]}")
    summary = kit.oracle("summary", str(path))
    path.unlink()
    return weight, summary["events"], summary["lost"]

def run(kit):
    seconds = 1 if kit.quick else 4
    ours, our_events, our_lost = record(
        kit, [kit.clrscope, "collect", "-p", "{pid}", "--duration", f"{seconds}s", "--providers", f"{PROVIDER}:0xFFFFFFFFFFFFFFFF:5",
              "--rundown", "false", "-o", "{out}"], kit.tmp / "ours.nettrace")
    peer, peer_events, peer_lost = record(
        kit, [kit.peer("dotnet-trace"), "collect", "-p", "{pid}", "--duration", f"00:00:{seconds:02}", "--providers",
              f"{PROVIDER}:0xFFFFFFFFFFFFFFFF:5", "--rundown:false", "-o", "{out}"], kit.tmp / "peer.nettrace")
    per_million = lambda weight, events: weight.cpu_seconds / max(events, 1) * 1e6
    return [
        Row("collect under a flood, events a second recorded", "k/s", our_events / seconds / 1000, None, peer_events / seconds / 1000,
            "dotnet-trace", larger_is_better=True),
        Row("collect under a flood, events lost", "", our_lost, 0, peer_lost, "dotnet-trace"),
        Row("collect under a flood, CPU per million events", "s", per_million(ours, our_events), per_million(peer, peer_events) / 2,
            per_million(peer, peer_events), "dotnet-trace"),
        Row("collect under a flood, peak memory", "MB", ours.rss_mb, 15, peer.rss_mb, "dotnet-trace"),
    ]


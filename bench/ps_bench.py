"""How long it takes to list the .NET processes, against dotnet-trace ps."""
from kit import Row


def run(kit):
    for _ in range(1 if kit.quick else 5):
        kit.sample("idle")
    dotnet_trace = kit.peer("dotnet-trace")
    ours = kit.repeat(31, kit.clrscope, "ps")
    peer = kit.repeat(11, dotnet_trace, "ps")
    return [
        Row("ps, wall", "ms", ours.seconds * 1000, 10, peer.seconds * 1000, "dotnet-trace"),
        Row("ps, peak memory", "MB", ours.rss_mb, 20, peer.rss_mb, "dotnet-trace"),
    ]

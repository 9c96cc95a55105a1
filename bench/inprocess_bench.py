"""What listening inside the app costs for each event, against a plain EventListener: BenchmarkDotNet, .NET 10.

--quick is over before the code is compiled for speed: its numbers mean nothing.
"""
import json
import subprocess

from kit import Row


def run(kit):
    program = kit.dotnet_bench()
    answer = subprocess.run([str(program), *(["--quick"] if kit.quick else [])], capture_output=True, text=True, env=kit.env)
    if answer.returncode != 0:
        raise RuntimeError("\n".join(answer.stderr.splitlines()[-20:]))
    of = {one["name"]: one for one in map(json.loads, answer.stdout.splitlines())}

    def row(what, name, peer=None, peer_name="", budget=None, field="ns"):
        return Row(what, "ns" if field == "ns" else "bytes", of[name][field], budget, of[peer][field] if peer else None, peer_name)

    no_more = of["Listener"]["bytes"] + 1  # what is made once is divided by the number of events
    return [
        row("event written, nobody listens", "Off", budget=5),
        row("one session, both fields by name", "Session", "ListenerByName", "EventListener by name"),
        row("  against one that knows the payload's order", "Session", "Listener", "EventListener"),
        row("  allocated", "Session", "Listener", "EventListener", budget=no_more, field="bytes"),
        row("one session with three conditions", "SessionWhere", "ListenerByName", "EventListener by name"),
        row("an event of another type than asked for", "SessionUnwanted", "Listener", "EventListener"),
        row("an event whose field does not pass", "SessionFiltered", "Listener", "EventListener"),
        row("one session with a queue", "SessionQueued", "ListenerByName", "EventListener by name"),
        row("  allocated", "SessionQueued", "Listener", "EventListener", budget=no_more, field="bytes"),
        row("four sessions", "FourSessions", "FourListenersByName", "four by name"),
        row("counter of a meter, two tags", "MeterSession", "MeterListenerAlone", "MeterListener that adds up"),
        row("  nobody listens", "MeterOff", budget=5),
        row("histogram of a meter, two tags", "HistogramSession"),
    ]

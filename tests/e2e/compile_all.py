#!/usr/bin/env python3
"""Compiles every method of the class library with probes in it, assembly by assembly, and once more without.

    compile_all.py CLRSCOPE SAMPLES [ASSEMBLY…]     SAMPLES: the folder of the sample program; without names: all assemblies of its runtime

`samples compile --assembly` compiles methods without calling them and counts those that the JIT compiler refuses. Prints one line of JSON.
"""
import json
import pathlib
import subprocess
import sys

GROUP = 8  # assemblies at a time: an agent can measure 16,384 methods in the life of a process
CORE = "System.Private.CoreLib"  # more than that: by namespace
PARTS = [["System.Collections", "System.Text", "System.IO"], ["System.Threading", "System.Buffers"], ["System.Reflection", "System.Resources"],
         ["System.Globalization", "System.Diagnostics", "System.Security"], ["System.Runtime", "Internal", "Interop"], ["System.Numerics", "Microsoft"]]


def framework(samples):
    """Names of the assemblies of the runtime: beside the program, or where dotnet keeps it."""
    if (samples / f"{CORE}.dll").exists():
        return samples
    config = json.loads((samples / "samples.runtimeconfig.json").read_text())["runtimeOptions"]
    version = next(one["version"] for one in config.get("frameworks", [config.get("framework")]) if one["name"] == "Microsoft.NETCore.App")
    shared = next(line for line in subprocess.run(["dotnet", "--list-runtimes"], capture_output=True, check=True, text=True).stdout.splitlines()
                  if line.startswith(f"Microsoft.NETCore.App {version.split('.')[0]}."))
    return pathlib.Path(shared.split("[")[1].rstrip("]")) / shared.split()[1]


def run(clrscope, samples, names, includes):
    """What the sample says at its end, and what clrscope says; nothing: without probes."""
    started = subprocess.Popen([samples / "samples", "compile", "--assembly", ",".join(names), "--wait-line"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert json.loads(started.stdout.readline())["ready"]
        measuring = None
        if includes:
            how = [clrscope, "agent", "methods", "-p", str(started.pid), "--accessors", "--method-budget", "0", "--duration", "1000s", "--json"]
            for include in includes:
                how += ["--include", include]
            measuring = subprocess.Popen(how, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
            while True:
                status = subprocess.run([clrscope, "agent", "status", "-p", str(started.pid), "--json"], capture_output=True, text=True).stdout
                if status and json.loads(status) and json.loads(status)[0]["sources"] == ["methods"]:
                    break
                assert measuring.poll() is None, "agent methods ended"
        out, _ = started.communicate("\n", timeout=600)
        done = json.loads(out.splitlines()[-1])["truth"]
        return done, json.loads(measuring.communicate(timeout=120)[0]) if measuring else None
    finally:
        started.kill()
        started.wait()


def main():
    clrscope, samples = sys.argv[1], pathlib.Path(sys.argv[2])
    names = sys.argv[3:] or sorted(one.stem for one in framework(samples).glob("System*.dll") if one.stem != CORE and "Native" not in one.stem)
    jobs = [(names[at:at + GROUP], ["System.*", "Microsoft.*"]) for at in range(0, len(names), GROUP)]
    if not sys.argv[3:]:
        jobs += [([CORE], part) for part in PARTS]
    total = {"methods": 0, "compiled": 0, "invalid": 0, "differ": 0, "refusedByRuntime": 0, "tooMany": 0}
    for assemblies, includes in jobs:
        plain, _ = run(clrscope, samples, assemblies, [])
        probed, seen = run(clrscope, samples, assemblies, includes)
        total["methods"] += probed["prepared"]
        total["compiled"] += probed["compiled"]
        total["invalid"] += probed["invalid"]
        total["differ"] += probed["prepared"] != plain["prepared"]
        for one in seen["notMeasured"]:
            total["refusedByRuntime"] += one["reason"] == "refusedByRuntime"
            total["tooMany"] += one["reason"] == "tooManyMethods"
        if probed["invalid"] or probed["prepared"] != plain["prepared"]:
            print(assemblies, includes, plain, probed, file=sys.stderr)
    print(json.dumps(total))


main()

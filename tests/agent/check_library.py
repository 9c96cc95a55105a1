#!/usr/bin/env python3
"""Checks that the agent's library loads everywhere: what it needs and exports, and that it runs under glibc and musl.

    check_library.py LIBRARY

The rule: no needed library, no symbol version, two exports, only pthread_create and pthread_detach from outside, TLS by
descriptor (initial-exec TLS is refused by musl), never unloaded. musl is tried where musl-gcc is installed.
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
LARGEST = 256 << 10


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def complaints_about(library):
    dynamic = output("readelf", "-dW", library)
    if "(NEEDED)" in dynamic:
        yield "it needs another library"
    if "VERNEED" in dynamic or "VERDEF" in dynamic:
        yield "it has symbol versions"
    if "NODELETE" not in dynamic:
        yield "it may be unloaded while its threads run (-z nodelete)"
    if "STATIC_TLS" in dynamic:
        yield "it has initial-exec TLS"
    if "INIT_ARRAY" in dynamic or "(INIT)" in dynamic:
        yield "it has static initialisers: nobody calls them without a C library's start files"
    relocations = set(re.findall(r"R_X86_64_\w+", output("readelf", "-rW", library)))
    if extra := relocations - {"R_X86_64_RELATIVE", "R_X86_64_JUMP_SLOT", "R_X86_64_GLOB_DAT", "R_X86_64_64", "R_X86_64_TLSDESC"}:
        yield f"unexpected relocations: {', '.join(sorted(extra))}"
    undefined, defined = set(), set()
    for line in output("readelf", "-W", "--dyn-syms", library).splitlines():
        fields = line.split()
        if len(fields) == 8 and fields[0] != "Num:":
            (undefined if fields[6] == "UND" else defined).add(fields[7])
    if undefined != {"pthread_create", "pthread_detach"}:
        yield f"it takes from outside: {', '.join(sorted(undefined))}"
    if defined != {"DllGetClassObject", "DllCanUnloadNow"}:
        yield f"it exports: {', '.join(sorted(defined))}"
    if pathlib.Path(library).stat().st_size > LARGEST:
        yield f"it is larger than {LARGEST} bytes"


def complaint_of_host(compiler, library):
    with tempfile.TemporaryDirectory() as folder:
        host = f"{folder}/host"
        subprocess.run([compiler, "-O1", "-w", "-o", host, str(HERE / "load_host.c"), "-pthread", "-ldl"], check=True)
        ran = subprocess.run([host, library, folder], capture_output=True, text=True, timeout=60)
        return None if ran.stdout == "ok\n" else f"in a process built with {compiler}: {ran.stdout}{ran.stderr} (exit code {ran.returncode})"


def main(library):
    found = list(complaints_about(library))
    compilers = [c for c in ("gcc", "musl-gcc") if shutil.which(c)]
    found += filter(None, (complaint_of_host(c, library) for c in compilers))
    for complaint in found:
        print(f"{library}: {complaint}")
    print(f"checked with {', '.join(compilers)}: {len(found)} complaints")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))

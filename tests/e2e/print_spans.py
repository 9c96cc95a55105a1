#!/usr/bin/env python3
"""Prints each span of the shop in `clrscope requests --json` from stdin, one per line: path of the request, callers and method, outcome."""
import json
import sys

for request in json.load(sys.stdin)["requests"]:
    names = {0: request["path"] + " "}
    for span in request["spans"]:
        before = names[span["parent"]]
        names[span["id"]] = before + ("" if span["parent"] == 0 else " > ") + span["method"].removeprefix("Samples.Shop.")
        print(names[span["id"]], span["outcome"])

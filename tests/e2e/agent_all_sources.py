#!/usr/bin/env python3
"""Switches all sources of the agent below FOLDER on and takes snapshots until its process ends. Prints `listening` as JSON,
then how many snapshots there were.

    agent_all_sources.py FOLDER
"""
import json
import pathlib
import sys

from agent_client import ALL_SOURCES, DONE, OPEN, SNAPSHOT, SWITCH, Agent

(path,) = pathlib.Path(sys.argv[1]).glob("clrscope-agent-*/control")
snapshots = 0
with Agent(path) as agent:
    assert agent.ask(OPEN)[0] == DONE and agent.ask(SWITCH, ALL_SOURCES)[0] == DONE
    print(json.dumps({"listening": True}), flush=True)
    try:
        while agent.ask(SNAPSHOT)[0] == DONE:
            snapshots += 1
    except OSError:
        pass  # the process has ended
print(json.dumps({"snapshots": snapshots}))

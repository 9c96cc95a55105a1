"""Fills a ClickHouse store with requests of one route inside the engine, through the tables and views that batches go through."""
import time

SAMPLES, SPANS = 20, 4  # of a request
PATHS = 20_000  # call paths of the route
EPOCH = (1 << 63) + 12345
ROUTE = "GET /orders/{id}"


def fill(node, samples, hours=24, group=50_000):
    """`samples` CPU samples of the service "filled" over the last hours; returns the seconds that it took."""
    db = "clrscope"
    # Each call path is called by one of the lower numbers: a tree, about nine calls deep.
    node.query(f"INSERT INTO {db}.path SELECT intHash64(number + 1), if(number = 0, toUInt64(0), intHash64(intDiv(number - 1, 3) + 1)), "
               f"concat('Filled.Class', toString(number % 300), '.Method', toString(number)) FROM system.numbers LIMIT {PATHS}")
    requests = samples // SAMPLES
    end = int(time.time()) * 10**9
    step = hours * 3600 * 10**9 // requests
    begin = end - step * requests
    # The product of two numbers: some paths are hot, most are cold.
    path = f"intHash64(1 + (intHash32(number * 64 + i) % 142) * (intHash32(number * 64 + i + 32) % 141) % {PATHS})"
    arrays = {
        "span_path": f"arrayMap(i -> {path}, range({SPANS}))",
        "span_self": f"arrayMap(i -> toUInt64(10000 + intHash32(number + i) % 100000), range({SPANS}))",
        "span_parent": f"arrayMap(i -> toUInt32(i), range({SPANS}))",
        "sample_path": f"arrayMap(i -> {path}, range({SAMPLES}))",
        "sample_weight": f"arrayMap(i -> toUInt64(10000000 + intHash32(number + i) % 100000), range({SAMPLES}))",
        "sample_time": f"arrayMap(i -> toUInt64(i * 10000000), range({SAMPLES}))",
        "sample_span": f"arrayMap(i -> toUInt32(i % {SPANS}), range({SAMPLES}))",
        "sample_thread": f"arrayMap(i -> toUInt32(100 + number % 8), range({SAMPLES}))",
    }
    for name in ("span_begin", "span_duration", "span_queued"):
        arrays[name] = f"arrayMap(i -> toUInt64(i * 1000), range({SPANS}))"
    for name in ("span_thread", "span_kind", "span_steps"):
        arrays[name] = f"arrayMap(i -> toUInt32(0), range({SPANS}))"
    columns = ["service", "bucket", "begin", "batch", "epoch", "seq", "host", "version", "trace", "method", "route", "status", "flags", "duration",
               "running", "spans", "samples", *arrays]
    began = time.monotonic()
    for seq, first in enumerate(range(0, requests, group), 1):
        count = min(group, requests - first)
        at = f"({begin} + number * {step})"
        node.query(f"INSERT INTO {db}.request ({', '.join(columns)}) SELECT 'filled', toUInt32(intDiv({at}, 10000000000)), toInt64({at}), "
                   f"intDiv(number, 500), toUInt64({EPOCH}), toUInt32({seq}), concat('web-', toString(number % 100)), '1.0', "
                   f"toFixedString(substring(concat(hex(intHash64(number)), '0000000000000000'), 1, 16), 16), 'GET', '/orders/{{id}}', toUInt16(200), "
                   f"toUInt8(1), toUInt64(1000000 + intHash32(number) % 90000000), toUInt64(900000), toUInt32({SPANS}), toUInt32({SAMPLES}), "
                   f"{', '.join(arrays.values())} FROM (SELECT number + {first} AS number FROM system.numbers LIMIT {count})", limit=600)
        # What the ledger gets from a fleet server when a group is complete.
        node.query(f"INSERT INTO {db}.ledger_commit (epoch, seq, day) VALUES ({EPOCH}, {seq}, {int(time.time()) // 86400})")
    return time.monotonic() - began

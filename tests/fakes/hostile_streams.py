"""What a hostile runtime sends in a session: endless bytes, of the kinds in KINDS. Format: docs/formats/nettrace.md."""
import os
import struct

ESCAPES = "evil\x1b[2J\x1b]0;owned\x07\x08\r\n99999 fake\x9b2J\u202e"
TRACE = struct.pack("<8h", 2026, 1, 4, 1, 0, 0, 0, 0) + struct.pack("<qqiiii", 10**12, 10**9, 8, 1, 2, 10**6)
LONGEST = 0x7FFFFFFFFFFFFFFF


def utf16z(value):
    return value.encode("utf-16-le") + b"\0\0"


def varuint(value):
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out + bytes([value]))


class Writer:
    """Objects of version 4, each padded by its place in the stream."""

    def __init__(self):
        self.offset = 0

    def out(self, data):
        self.offset += len(data)
        return data

    def begin(self):
        return self.out(b"Nettrace" + struct.pack("<I", 20) + b"!FastSerialization.1" + self.head("Trace", 4) + TRACE + b"\x06")

    @staticmethod
    def head(name, version):
        return b"\x05\x05\x01" + struct.pack("<iii", version, 0 if version == 2 else version, len(name)) + name.encode() + b"\x06"

    def block(self, name, content, claim=None):
        head = self.head(name, 2) + struct.pack("<I", len(content) if claim is None else claim)
        padding = -(self.offset + len(head)) % 4
        return self.out(head + bytes(padding) + content + b"\x06")


def row(kind, payload, ticks=1, thread=1, step=0):
    return (bytes([0x80 | 1 | 2 | 4]) + varuint(kind) + varuint(step) + varuint(thread) + varuint(0) + varuint(thread) + varuint(ticks) +
            varuint(len(payload)) + payload)


def rows_block(rows, first=10**12):
    return struct.pack("<hhqq", 20, 1, first, first + 10**9) + b"".join(rows)


def field(code, name, members=()):
    inner = struct.pack("<i", len(members)) + b"".join(members) if code == 1 else b""
    return struct.pack("<i", code) + inner + utf16z(name)


def metadata(number, provider, event_id, name, fields=()):
    payload = (struct.pack("<i", number) + utf16z(provider) + struct.pack("<i", event_id) + utf16z(name) + struct.pack("<qiii", 0, 1, 4, len(fields)) +
               b"".join(fields))
    return row(0, payload, ticks=0)


COUNTER = [field(18, "Name"), field(18, "DisplayName"), field(14, "Mean"), field(14, "StandardDeviation"), field(9, "Count"), field(14, "Min"),
           field(14, "Max"), field(13, "IntervalSec"), field(18, "Series"), field(18, "CounterType"), field(18, "Metadata"), field(18, "DisplayUnits")]


def counter(name, value):
    return (utf16z(name) + utf16z(name) + struct.pack("<ddidd", value, value, 1, value, value) + struct.pack("<f", 1) + utf16z("Interval=1000") +
            utf16z("Mean") + utf16z(name) + utf16z(name))


def exception(message):
    return utf16z(message) + utf16z(message) + struct.pack("<QIHH", 1, 0x80131500, 0, 9)


def names(writer):
    """Types whose names, and events whose texts, command a terminal."""
    yield writer.block("MetadataBlock", rows_block([
        metadata(1, ESCAPES, 7, ESCAPES, [field(18, ESCAPES), field(9, "n")]),
        metadata(2, "System.Runtime", 3, "EventCounters", [field(1, "Payload", COUNTER)]),
        metadata(3, "Microsoft-Windows-DotNETRuntime", 80, ""),
        metadata(4, "Microsoft-Extensions-Logging", 2, "FormattedMessage", [field(9, "Level"), field(9, "FactoryID"), field(18, "LoggerName"),
                                                                           field(9, "EventId"), field(18, "EventName"), field(18, "FormattedMessage")]),
    ]))


def events(ticks):
    return writer_rows([(1, utf16z(ESCAPES) + struct.pack("<i", 1)), (2, counter(ESCAPES, 1.0)), (2, counter("cpu-usage", float("nan"))),
                        (2, counter("n" * 30_000, 1e308)), (3, exception(ESCAPES)),
                        (4, struct.pack("<ii", 3, 1) + utf16z(ESCAPES) + struct.pack("<i", 1) + utf16z(ESCAPES) + utf16z(ESCAPES))], ticks)


def writer_rows(pairs, ticks):
    return rows_block([row(kind, payload, ticks=ticks if i == 0 else 1) for i, (kind, payload) in enumerate(pairs)])


def blocks(writer):
    yield from names(writer)
    ticks = 10**12
    while True:
        ticks += 10**6
        yield writer.block("EventBlock", events(ticks))


def types(writer):
    """Each block declares new types, without end."""
    number = 0
    while True:
        rows = []
        for _ in range(200):
            number += 1
            rows.append(metadata(number, f"P{number}", number, f"E{number}", [field(9, "a")] * 20))
        yield writer.block("MetadataBlock", rows_block(rows))


def threads(writer):
    """Each event is of a new thread."""
    yield from names(writer)
    thread = 0
    while True:
        rows = [row(1, utf16z("a") + bytes(4), ticks=10**12 if i == 0 else 1, thread=thread + i + 1) for i in range(500)]
        thread += 500
        yield writer.block("EventBlock", rows_block(rows))


def stacks(writer):
    first = 1
    while True:
        count = 50
        yield writer.block("StackBlock", struct.pack("<ii", first, count) + (struct.pack("<i", 800) + os.urandom(800)) * count)
        first += count


def times(writer):
    yield from names(writer)
    while True:
        for ticks in (0, LONGEST, 1 << 63, (1 << 64) - 1):
            yield writer.block("EventBlock", rows_block([row(1, utf16z("a") + bytes(4), ticks=ticks)], first=0))


def numbers(writer):
    """Rows with types nobody declared, sizes past the block and sequences that leap."""
    yield from names(writer)
    while True:
        yield writer.block("EventBlock", rows_block([row(1, b"", 10**12), row(0xFFFFFFFF, b"x"), row(2, b"\xff" * 7), row(1, b"", step=0xFFFFFFFF)]))
        yield writer.block("EventBlock", rows_block([row(1, b"")])[:-1] + varuint(0x7FFFFFFF))


def huge_block(writer):
    yield writer.block("EventBlock", b"", claim=0xFFFFFFF0)
    while True:
        yield bytes(65536)


def large_block(writer):
    """As large as the reader takes, never whole."""
    yield writer.block("EventBlock", b"", claim=(16 << 20) - 1)
    while True:
        yield bytes(1024)


def garbage(_):
    while True:
        yield os.urandom(65536)


def drip(_):
    for byte in b"Nettrace" + struct.pack("<I", 20) + b"!FastSerialization.1":
        for _ in range(20):
            yield b""
        yield bytes([byte])


def only_magic(_):
    while True:
        yield b"Nettrace"


KINDS = {"garbage": garbage, "drip": drip, "magic": only_magic}
AFTER_HEADER = {"header-garbage": garbage, "blocks": blocks, "types": types, "threads": threads, "stacks": stacks, "times": times, "numbers": numbers,
                "huge-block": huge_block, "large-block": large_block}


def stream(kind):
    if kind in KINDS:
        yield from KINDS[kind](None)
        return
    writer = Writer()
    yield writer.begin()
    yield from AFTER_HEADER[kind](writer)


def trace(kind, size):
    """The beginning of such a session, as a file would hold it."""
    data = b""
    for piece in stream(kind):
        data += piece
        if len(data) >= size:
            break
    return data[:size]

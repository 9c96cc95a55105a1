"""Writes very small V6 traces, each byte on purpose, to hold the oracle against."""

import struct

SYNC = 1_000_000
TICKS_PER_SECOND = 1_000_000_000


def varuint(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def text(value):
    data = value.encode()
    return varuint(len(data)) + data


def short_text(value):
    """A string inside the payload of a Universal event."""
    data = value.encode()
    return struct.pack("<H", len(data)) + data


VARUINT = b"\x15"
INT32 = b"\x09"
STRING = b"\x12"
SHORT_TEXT = b"\x13\x17"  # array of UTF-8 units


class TinyTrace:
    def __init__(self):
        self.out = bytearray(b"Nettrace" + struct.pack("<III", 0, 6, 0))
        start = struct.pack("<8h", 2024, 5, 3, 17, 12, 30, 15, 250)  # 2024-05-17T12:30:15.250Z
        self.block(1, start + struct.pack("<qqii", SYNC, TICKS_PER_SECOND, 8, 1)
                   + text("HardwareThreadCount") + text("4"))

    def block(self, kind, content):
        self.out += struct.pack("<I", len(content) | kind << 24) + content

    def threads(self, *rows):
        """Rows of (index, pid, tid)."""
        content = b""
        for index, pid, tid in rows:
            row = varuint(index) + b"\x02" + varuint(pid) + b"\x03" + varuint(tid)
            content += struct.pack("<H", len(row)) + row
        self.block(6, content)

    def metadata(self, meta, provider, event, name, fields):
        described = b""
        for field, kind in fields:
            row = text(field) + kind
            described += struct.pack("<H", len(row)) + row
        row = varuint(meta) + text(provider) + varuint(event) + text(name)
        row += struct.pack("<H", len(fields)) + described + struct.pack("<H", 0)
        self.block(3, struct.pack("<HH", 0, len(row)) + row)

    def stacks(self, *stacks):
        """Ids count from 1; leaf first."""
        content = struct.pack("<II", 1, len(stacks))
        for stack in stacks:
            content += struct.pack("<I", 8 * len(stack)) + struct.pack(f"<{len(stack)}Q", *stack)
        self.block(5, content)

    def events(self, capture, *rows):
        """One block of uncompressed rows (meta, sequence, thread, time, stack, payload), all from one capture thread."""
        content = struct.pack("<HHQQ", 20, 0, rows[0][3], rows[-1][3])
        for meta, sequence, thread, time, stack, payload in rows:
            # Bit 31: not sorted yet, the reader merges the capture threads.
            row = struct.pack("<IIQQIIQII", meta | 0x80000000, sequence, thread, capture, 0, stack, time, 0, len(payload))
            content += struct.pack("<I", len(row) + len(payload)) + row + payload
        self.block(2, content)

    def sequence_point(self, time, *threads):
        """Threads as (capture thread, its last sequence number)."""
        content = struct.pack("<QII", time, 0, len(threads))
        self.block(4, content + b"".join(varuint(t) + varuint(s) for t, s in threads))

    def finish(self):
        self.block(0, b"")
        return bytes(self.out)

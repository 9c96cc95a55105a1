"""Files that a hostile process maps as its runtime, of the kinds in KINDS."""
import ctypes
import json
import mmap
import os
import struct
import threading
import time

ESCAPES = "10.0.0\x1b[2J\x07\n"
PAGE = 4096
SIZE = 1 << 20
SYMBOL = b"DotNetRuntimeContractDescriptor"
kept = []  # mappings live as long as the process


def gnu_hash(name):
    value = 5381
    for byte in name:
        value = (value * 33 + byte) & 0xFFFFFFFF
    return value


def elf(sections=0):
    """An image of one segment that exports SYMBOL at PAGE, whose tables lie in the first page."""
    dynamic, hashes, symbols, names = 0x200, 0x300, 0x400, 0x500
    head = struct.pack("<4sBBBB8xHHIQQQIHHHHHH", b"\x7fELF", 2, 1, 1, 0, 3, 62, 1, 0, 64, 0x600 if sections else 0, 0, 64, 56, 2, 64, sections, 0)
    load = struct.pack("<IIQQQQQQ", 1, 5, 0, 0, 0, SIZE, SIZE, PAGE)
    pointer = struct.pack("<IIQQQQQQ", 2, 4, dynamic, dynamic, dynamic, 0x100, 0x100, 8)
    image = bytearray(SIZE)
    image[:64 + 112] = head + load + pointer
    image[dynamic:dynamic + 64] = struct.pack("<8Q", 6, symbols, 5, names, 0x6FFFFEF5, hashes, 0, 0)
    image[hashes:hashes + 32] = struct.pack("<IIIIQII", 1, 1, 1, 0, (1 << 64) - 1, 1, gnu_hash(SYMBOL) | 1)
    image[symbols + 24:symbols + 48] = struct.pack("<IBBHQQ", 1, 0x11, 0, 1, PAGE, 40)
    image[names + 1:names + 1 + len(SYMBOL)] = SYMBOL
    image[0x600:0x600 + 64 * 8] = struct.pack("<IIQQQQIIQQ", 1, 2, 0, 0, (1 << 64) - 64, (1 << 63), 0xFFFF, 0xFFFF, 0, 1) * 8
    return image


def map_file(path, content):
    with open(path, "w+b") as file:
        file.write(content)
        file.flush()
        mapping = mmap.mmap(file.fileno(), len(content), mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    kept.append(mapping)
    return mapping


def address_of(mapping):
    view = ctypes.c_char.from_buffer(mapping)
    kept.append(view)
    return ctypes.addressof(view)


def descriptor(mapping, text, claim=None, pointers=1):
    """Puts a table of contracts into the mapped image; its pointers lead back to a page that leads to itself."""
    base = address_of(mapping)
    at = 4 * PAGE
    mapping[at:at + len(text)] = text
    circle = base + 3 * PAGE
    mapping[3 * PAGE:4 * PAGE] = struct.pack("<Q", circle) * (PAGE // 8)
    mapping[2 * PAGE:2 * PAGE + 8] = struct.pack("<Q", circle)
    mapping[PAGE:PAGE + 40] = struct.pack("<8sIIQIIQ", b"DNCCDAC\0", 1, len(text) if claim is None else claim, base + at, pointers, 0, base + 2 * PAGE)


def circle():
    """All the names that a reader asks for, at offsets in a page whose words lead to itself. The names are in $HOSTILE_CONTRACTS."""
    with open(os.environ["HOSTILE_CONTRACTS"]) as file:
        known = json.load(file)
    return json.dumps({"version": 0, "baseline": "empty",
                       "types": {name: {field: 8 * (i % 8) for i, field in enumerate(fields)} for name, fields in known["types"].items()},
                       "globals": {name: [[0], "pointer"] for name in known["globals"]}, "contracts": known["contracts"]}).encode()


def flip(path):
    """The file becomes empty and whole again, all the time."""
    def turn():
        while True:
            os.truncate(path, 0)
            os.truncate(path, SIZE)
            time.sleep(0.001)
    threading.Thread(target=turn, daemon=True).start()


def map_image(kind, folder):
    path = f"{folder}/libcoreclr.so"
    if kind == "garbage":
        map_file(path, os.urandom(SIZE))
    elif kind == "empty":
        map_file(path, elf())
        os.truncate(path, 0)
    elif kind == "flip":
        map_file(path, elf(sections=8))
        flip(path)
    elif kind == "sections":
        map_file(path, elf(sections=0xFFF0))
    elif kind == "sparse":
        map_file(path, elf())
        os.truncate(path, 1 << 40)
    elif kind == "version":
        place = f"{folder}/Microsoft.NETCore.App/{ESCAPES}"
        os.makedirs(place)
        map_file(f"{place}/libcoreclr.so", elf())
    elif kind == "contract-claim":
        descriptor(map_file(path, elf()), b"{}", claim=0xFFFFFFFF, pointers=0xFFFFFFFF)
    elif kind == "contract-deep":
        descriptor(map_file(path, elf()), b'{"types":' + b"[" * 900_000)
    elif kind == "contract-circle":
        descriptor(map_file(path, elf()), circle())

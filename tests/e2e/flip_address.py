"""Flips one bit in the first address of the first stack of a nettrace file of version 6."""
import pathlib
import struct
import sys

HEAD, STACKS, NUMBERS = 20, 5, 12  # before the first block; the kind of block; what precedes the first address

path = pathlib.Path(sys.argv[1])
trace = bytearray(path.read_bytes())
at = HEAD
while True:
    word = struct.unpack_from("<I", trace, at)[0]
    if word >> 24 == STACKS:
        break
    at += 4 + (word & 0xFFFFFF)
trace[at + 4 + NUMBERS + 2] ^= 4
path.write_bytes(trace)

"""The control socket of an agent, without clrscope: see docs/formats/agent.md."""
import socket
import struct

PROTOCOL = 2
OPEN, SWITCH, SNAPSHOT = 2, 3, 4
ALL_SOURCES = 0x517 | (99 << 16)  # CPU samples 99 times a second
DONE = 0


class Agent:
    def __init__(self, path):
        self.peer = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.peer.settimeout(30)
        self.peer.connect(str(path))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.peer.close()

    def ask(self, kind, value=0):
        """Outcome and HRESULT; no outcome: the process has ended."""
        self.peer.send(struct.pack("<IHHII", 0x52414C43, PROTOCOL, kind, 1, value))
        reply, fds, *_ = socket.recv_fds(self.peer, 256, 1)
        for fd in fds:
            socket.close(fd)
        if len(reply) < 44:
            return None, 0
        return struct.unpack_from("<i", reply, 12)[0], struct.unpack_from("<I", reply, 40)[0]

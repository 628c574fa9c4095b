"""Tries to reach addresses by every way, whatever its variables are: escape.py PORT… -- ADDRESS…

Each attempt sends the word `escaped`, which is no HTTP. Prints what each way said; watch from outside what arrives."""

import ctypes
import mmap
import os
import socket
import struct
import sys

split = sys.argv.index("--")
ports, addresses = [int(port) for port in sys.argv[2:split]], sys.argv[split + 1 :]
WORD = sys.argv[1].encode() + b"\n"
libc = ctypes.CDLL(None, use_errno=True)
# Of x86-64 and of the generic table; io_uring has the same numbers everywhere.
numbers = {"x86_64": (41, 42, 44), "aarch64": (198, 203, 206)}.get(os.uname().machine)


def name(address, port):
    """A sockaddr_in or sockaddr_in6, with the family."""
    if ":" in address:
        content = struct.pack("=H", socket.AF_INET6) + struct.pack("!HI", port, 0)
        return socket.AF_INET6, content + socket.inet_pton(socket.AF_INET6, address) + bytes(4)
    return socket.AF_INET, struct.pack("=H", socket.AF_INET) + struct.pack("!H", port) + socket.inet_aton(address) + bytes(8)


def tcp(address, port):
    with socket.create_connection((address, port), 1) as other:
        other.sendall(WORD)
        other.settimeout(0.3)
        return other.recv(100)


def udp(address, port):
    with socket.socket(name(address, port)[0], socket.SOCK_DGRAM) as other:
        other.settimeout(0.3)
        return other.sendto(WORD, (address, port))


def call(*words):
    result = libc.syscall(*[ctypes.c_long(word) if isinstance(word, int) else word for word in words])
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def raw_calls(kind):
    """socket(2), connect(2) and sendto(2) without libc's functions, to pass over a preloaded library."""

    def attempt(address, port):
        family, content = name(address, port)
        number = call(numbers[0], family, kind, 0)
        try:
            # A connection that is not answered must not hold up the others.
            libc.setsockopt(number, socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", 1, 0), 16)
            call(numbers[1], number, content, len(content))
            return call(numbers[2], number, WORD, len(WORD), 0, None, 0)
        finally:
            os.close(number)

    return attempt


def raw_packet(address, port):
    """An IP packet made by hand, which needs a privilege."""
    with socket.socket(name(address, port)[0], socket.SOCK_RAW, socket.IPPROTO_UDP) as other:
        return other.sendto(struct.pack("!HHHH", 9, port, 8 + len(WORD), 0) + WORD, (address, port if ":" not in address else 0))


class Ring:
    """An io_uring with four entries (io_uring_setup(2))."""

    def __init__(self):
        parameters = ctypes.create_string_buffer(120)
        self.file = call(425, 4, parameters)
        words = struct.unpack("30I", parameters.raw)
        self.sent, self.received = words[10:20], words[20:30]
        size = max(self.sent[6] + words[0] * 4, self.received[5] + words[1] * 16)
        self.ring = mmap.mmap(self.file, size, offset=0)
        self.entries = mmap.mmap(self.file, words[0] * 64, offset=0x10000000)

    def submit(self, code, file, offset=0, address=0, length=0):
        """Submits an operation, waits for it, and returns its result."""
        number = lambda at: struct.unpack_from("I", self.ring, at)[0]
        tail = number(self.sent[1])
        slot = tail & number(self.sent[2])
        self.entries[slot * 64 : slot * 64 + 64] = struct.pack("BBHiQQIIQQQQ", code, 0, 0, file, offset, address, length, 0, 7, 0, 0, 0)
        struct.pack_into("I", self.ring, self.sent[6] + slot * 4, slot)
        struct.pack_into("I", self.ring, self.sent[1], tail + 1)
        call(426, self.file, 1, 1, 1, None, 0)
        head = number(self.received[0])
        result = struct.unpack_from("i", self.ring, self.received[5] + (head & number(self.received[2])) * 16 + 8)[0]
        struct.pack_into("I", self.ring, self.received[0], head + 1)
        if result < 0:
            raise OSError(-result, os.strerror(-result))
        return result


def ring(address, port):
    """IORING_OP_SOCKET, IORING_OP_CONNECT and IORING_OP_SEND: system calls that a filter does not see."""
    family, content = name(address, port)
    ring = Ring()
    try:
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
            number = ring.submit(45, family, kind)
            libc.setsockopt(number, socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", 1, 0), 16)
            buffer, word = ctypes.create_string_buffer(content), ctypes.create_string_buffer(WORD)
            try:
                ring.submit(16, number, len(content), ctypes.addressof(buffer))
                ring.submit(26, number, 0, ctypes.addressof(word), len(WORD))
            finally:
                os.close(number)
        return "sent"
    finally:
        os.close(ring.file)


ways = {"tcp": tcp, "udp": udp, "raw packet": raw_packet, "io_uring": ring}
if numbers:
    ways |= {"raw tcp calls": raw_calls(socket.SOCK_STREAM), "raw udp calls": raw_calls(socket.SOCK_DGRAM)}
for way, attempt in ways.items():
    for address in addresses:
        for port in ports:
            try:
                print(way, address, port, attempt(address, port))
            except OSError as error:
                print(way, address, port, error)
print("all tried", flush=True)

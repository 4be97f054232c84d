"""A minimal HTTP/2 client for scripts that measure gRPC ports: frames, and calls without HPACK's tables. Standard library only."""
import socket
import struct

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = 0, 1, 3, 4, 6, 7, 8, 9
END_STREAM, END_HEADERS, ACK = 1, 4, 1


def address(text):
    host, port = text.rsplit(":", 1)
    return host, int(port)


def frame(kind, flags, stream, body=b""):
    return struct.pack(">I", len(body))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + body


def head(method, token=""):
    """Returns fields from HPACK's static table, and literals."""
    def text(t):
        assert len(t) < 127
        return bytes([len(t)]) + t.encode()
    fields = (b"\x83\x86\x04" + text(method) + b"\x01" + text("localhost") + b"\x0f\x10" + text("application/grpc") +
              b"\x00" + text("te") + text("trailers"))
    return fields + (b"\x0f\x08" + text("Bearer " + token) if token else b"")


def message(body=b"", compressed=False):
    return bytes([compressed]) + struct.pack(">I", len(body)) + body


def field(name, value, inserts=False):
    """Returns a literal of HPACK, of up to 16,000 bytes; `inserts` adds it to the dynamic table."""
    def text(t):
        size = len(t) - 127
        return (bytes([len(t)]) if size < 0 else bytes([127, size & 127 | 128, size >> 7])) + t
    return (b"\x40" if inserts else b"\x00") + text(name) + text(value)


def in_frames(stream, body, flags=END_STREAM):
    """Returns DATA frames of the size that servers accept; the last one has the flags."""
    pieces = [body[i:i + 16384] for i in range(0, len(body), 16384)]
    return b"".join(frame(DATA, flags if p is pieces[-1] else 0, stream, p) for p in pieces)


def call(stream, method, token="", body=b""):
    return (frame(HEADERS, END_HEADERS, stream, head(method, token)) +
            frame(DATA, END_STREAM, stream, message(body)))


def reset(stream, method, token=""):
    """Returns a call that is reset at once."""
    return (frame(HEADERS, END_HEADERS, stream, head(method, token)) + frame(DATA, 0, stream, message()) +
            frame(RST_STREAM, 0, stream, b"\0\0\0\x08"))


class Connection:
    """One connection without flow control, for small answers."""

    def __init__(self, where, timeout=10, source=None):
        self.socket = socket.create_connection(where, timeout=timeout, source_address=source)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.sendall(PREFACE + frame(SETTINGS, 0, 0) + frame(WINDOW_UPDATE, 0, 0, struct.pack(">I", 1 << 30)))
        self.stream, self.rest = 1, b""

    def frames(self):
        """Yields (kind, flags, stream, body) of received frames; ends with the connection."""
        while True:
            while len(self.rest) >= 9:
                size = int.from_bytes(self.rest[:3], "big")
                if len(self.rest) < 9 + size:
                    break
                one, self.rest = self.rest[:9 + size], self.rest[9 + size:]
                yield one[3], one[4], int.from_bytes(one[5:9], "big"), one[9:]
            some = self.socket.recv(65536)
            if not some:
                return
            self.rest += some

    def calls(self, method, times, token="", body=b""):
        """Makes `times` calls at once. Returns whether all got an answer, whatever it is."""
        first = self.stream
        self.stream += 2 * times
        self.socket.sendall(b"".join(call(first + 2 * i, method, token, body) for i in range(times)))
        waiting = times
        for kind, flags, stream, _ in self.frames():
            if kind == PING and not flags & ACK:
                self.socket.sendall(frame(PING, ACK, 0, _))
            if stream >= first and (kind == RST_STREAM or (kind == HEADERS and flags & END_STREAM)):
                waiting -= 1
                if waiting == 0:
                    return True
        return False

    def close(self):
        self.socket.close()


def fields(message):
    """Yields (number, value) of a protobuf message's fields; only those of the wire type LEN."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at, value, shift = at + 1, value | (byte & 127) << shift, shift + 7
            if byte < 128:
                return value
    while at < len(message):
        key = varint()
        if key & 7 != 2:
            assert key & 7 == 0, "bits of a fixed size"
            varint()
            continue
        size = varint()
        yield key >> 3, message[at:at + size]
        at += size


def of(message, number):
    return [value for n, value in fields(message) if n == number]


def methods(where):
    """Returns the paths of all methods of a gRPC server, from its reflection service."""
    def ask(number, text):
        c = Connection(where)
        body = bytes([number << 3 | 2, len(text)]) + text
        c.socket.sendall(call(1, "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", body=body))
        answer = b""
        for kind, flags, stream, some in c.frames():
            if kind == DATA:
                answer += some
            if stream == 1 and flags & END_STREAM and kind in (DATA, HEADERS):
                break
        c.close()
        return answer[5:]
    paths = set()
    for services in of(ask(7, b"*"), 6):
        for service in of(services, 1):
            for found in of(ask(4, of(service, 1)[0]), 4):
                for file in of(found, 1):
                    package = of(file, 2)[0].decode()
                    for s in of(file, 6):
                        paths |= {f"/{package}.{of(s, 1)[0].decode()}/{of(m, 1)[0].decode()}" for m in of(s, 2)}
    return sorted(paths)

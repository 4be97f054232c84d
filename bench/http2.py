"""HTTP/2 by hand, for scripts that measure gRPC ports: frames, calls without HPACK's tables. Nothing but the library."""
import socket
import struct

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE = 0, 1, 3, 4, 6, 7, 8
END_STREAM, END_HEADERS, ACK = 1, 4, 1


def address(text):
    host, port = text.rsplit(":", 1)
    return host, int(port)


def frame(kind, flags, stream, body=b""):
    return struct.pack(">I", len(body))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + body


def head(method, token=""):
    """Fields of HPACK's static table, and literals."""
    def text(t):
        assert len(t) < 127
        return bytes([len(t)]) + t.encode()
    fields = (b"\x83\x86\x04" + text(method) + b"\x01" + text("localhost") + b"\x0f\x10" + text("application/grpc") +
              b"\x00" + text("te") + text("trailers"))
    return fields + (b"\x0f\x08" + text("Bearer " + token) if token else b"")


def message(body=b""):
    return b"\0" + struct.pack(">I", len(body)) + body


def call(stream, method, token="", body=b""):
    return (frame(HEADERS, END_HEADERS, stream, head(method, token)) +
            frame(DATA, END_STREAM, stream, message(body)))


def reset(stream, method, token=""):
    """A call that is taken back at once."""
    return (frame(HEADERS, END_HEADERS, stream, head(method, token)) + frame(DATA, 0, stream, message()) +
            frame(RST_STREAM, 0, stream, b"\0\0\0\x08"))


class Connection:
    """One connection, no flow control: for small answers."""

    def __init__(self, where, timeout=10, source=None):
        self.socket = socket.create_connection(where, timeout=timeout, source_address=source)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.sendall(PREFACE + frame(SETTINGS, 0, 0) + frame(WINDOW_UPDATE, 0, 0, struct.pack(">I", 1 << 30)))
        self.stream, self.rest = 1, b""

    def frames(self):
        """(kind, flags, stream, body) as they come; ends with the connection."""
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
        """As many calls at one time; true when all are answered, whatever with."""
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

#!/usr/bin/env python3
"""`systemctl restart` without systemd. The server gets its two ports by LISTEN_FDS, as muster.socket passes them, and
SIGTERM while keys are written. It ends soon with status 0, no client that connects meanwhile is refused, and the
next server has every acknowledged key."""
import collections
import http.client
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time

MUSTER = sys.argv[1]
WRITERS, STOPS, STOP_LIMIT = 8, 3, 5.0
LISTENING_FROM = 3  # the first file descriptor that systemd passes


def listener():
    s = socket.create_server(('127.0.0.1', 0))
    s.set_inheritable(True)
    return s


class Server:
    def __init__(self, folder):
        self.sockets = [listener(), listener()]
        self.grpc, self.http = ['127.0.0.1:%d' % s.getsockname()[1] for s in self.sockets]
        self.log, self.data = os.path.join(folder, 'log'), os.path.join(folder, 'data')

    def start(self):
        def hand_over():
            copies = [os.dup(s.fileno()) for s in self.sockets]
            for i, copy in enumerate(copies):
                os.dup2(copy, LISTENING_FROM + i)

        words = [MUSTER, 'serve', '--data-dir', self.data, '--grpc', self.grpc, '--http', self.http,
                 '--cluster', 'train:worker=1']
        self.process = subprocess.Popen(  # LISTEN_PID is the process's own id
            ['sh', '-c', f'LISTEN_PID=$$ LISTEN_FDS={len(self.sockets)} exec "$@"', 'sh', *words],
            preexec_fn=hand_over, close_fds=False, stderr=open(self.log, 'a'))

    def stop(self):
        """Returns the seconds until the end, and the exit status."""
        began = time.monotonic()
        self.process.terminate()
        status = self.process.wait(60)
        return time.monotonic() - began, status

    def call(self, method, key, body=None):
        connection = http.client.HTTPConnection(self.http, timeout=60)
        connection.request(method, f'/api/v1/clusters/train/kv/{key}', body)
        answer = connection.getresponse()
        answer.read()
        return answer.status


def main():
    with tempfile.TemporaryDirectory() as folder:
        server = Server(folder)
        server.start()
        acknowledged, others, over = [], collections.Counter(), threading.Event()

        def write(writer):
            n = 0
            while not over.is_set():
                n += 1
                try:
                    status = server.call('PUT', f'{writer}/{n}', b'v' * 200)
                    if status in (200, 201):
                        acknowledged.append(f'{writer}/{n}')
                    else:
                        others[status] += 1
                except (OSError, http.client.HTTPException) as error:
                    others[type(error).__name__] += 1

        writers = [threading.Thread(target=write, args=(w,)) for w in range(WRITERS)]
        for w in writers:
            w.start()
        ends = []
        try:
            for _ in range(STOPS):
                enough = len(acknowledged) + 100
                while len(acknowledged) < enough:
                    assert server.process.poll() is None, open(server.log).read()
                    time.sleep(0.01)
                ends.append(server.stop())
                server.start()
        finally:
            over.set()
            for w in writers:
                w.join()
        lost = [key for key in acknowledged if server.call('GET', key) != 200]
        ends.append(server.stop())
        print(f'stops {ends}, {len(acknowledged)} acknowledged, {len(lost)} lost, {dict(others)}')
        assert all(status == 0 and took < STOP_LIMIT for took, status in ends), open(server.log).read()
        assert not lost, lost[:5]
        assert 'ConnectionRefusedError' not in others, others


main()

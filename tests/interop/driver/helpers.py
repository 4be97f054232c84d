"""Programs that run next to servers: etcd, and the proxies between servers and their agents. The programs are from Debian's
packages (scripts/deps)."""
import json
import pathlib
import re
import shutil
import socket
import time

from driver.deadline import CannotRun, Failure, check
from driver.process import Process
from driver.server import LOCAL, free_address

PAGE = pathlib.Path(__file__).parents[3] / 'docs' / 'high-availability.md'
PATH = '/usr/bin:/usr/sbin:/bin:/sbin'


def program(name):
    found = shutil.which(name) or shutil.which(name, path=PATH)
    if not found:
        raise CannotRun(f'{name} is not installed')
    return found


def await_connection(process, address, deadline):
    host, port = address.rsplit(':', 1)
    while True:
        check(process.running(), f'{process.name} ended: {process.status_text()}')
        try:
            socket.create_connection((host, int(port)), timeout=1).close()
            return
        except OSError:
            if deadline.passed():
                raise Failure(f'{process.name} did not listen in time') from None
            time.sleep(0.02)


def etcd(folder, environment, deadline):
    """Starts one member. Returns the process, and the value for --store."""
    clients, peers = free_address(), f'http://{free_address()}'
    argv = [program('etcd'), '--name=m', f'--data-dir={folder / "etcd"}', '--log-level=error',
            f'--listen-client-urls=http://{clients}', f'--advertise-client-urls=http://{clients}',
            f'--listen-peer-urls={peers}', f'--initial-advertise-peer-urls={peers}',
            f'--initial-cluster=m={peers}']
    process = Process('etcd', argv, environment, folder)
    await_connection(process, clients, deadline)
    return process, f'etcd://{clients}/interop'


def proxy(binary, servers, folder, environment, deadline):
    """Returns the process and its address; `servers` are pairs of addresses, gRPC and HTTP."""
    ready = folder / 'proxy.json'
    argv = [binary, 'proxy', '--listen', f'{LOCAL}:0', '--ready-file', ready,
            '--upstream', ','.join(grpc for grpc, _ in servers),
            '--upstream-http', ','.join(http for _, http in servers)]
    process = Process('proxy', argv, environment, folder)
    while not ready.exists():
        check(process.running(), f'the proxy ended: {process.status_text()}')
        if deadline.passed():
            raise Failure('the proxy was not ready in time')
        time.sleep(0.01)
    return process, json.loads(ready.read_text())['listen']


def haproxy(servers, folder, environment, deadline):
    """Starts haproxy with the configuration of docs/high-availability.md and other addresses. Returns the process and its address."""
    blocks = re.findall(r'^```(\w*)\n(.*?)^```', PAGE.read_text(), re.DOTALL | re.MULTILINE)
    lua = next(text for kind, text in blocks if kind == 'lua')
    lines = next(text for kind, text in blocks if 'frontend agents' in text).splitlines()
    listen, hold, config = free_address(), folder / 'hold.lua', folder / 'haproxy.cfg'
    hold.write_text(lua)
    text = '\n'.join(line for line in lines if not line.lstrip().startswith('server '))
    for old, new in (('127.0.0.1:8476', listen), (' port 8477', ''), ('/etc/haproxy/hold.lua', hold)):
        check(old in text, f'{PAGE.name} has no {old}')
        text = text.replace(old, str(new))
    for i, (grpc, http) in enumerate(servers):
        text += f'\n    server s{i} {grpc} check port {http.rsplit(":", 1)[1]}'
    config.write_text(text + '\n')
    process = Process('haproxy', [program('haproxy'), '-db', '-f', config], environment, folder)
    await_connection(process, listen, deadline)
    return process, listen

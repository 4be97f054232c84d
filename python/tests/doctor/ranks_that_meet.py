"""A rank of a program: all ranks meet after each step, until one of them hangs. Run as a script."""
import os
import re
import signal
import socket
import sys
import threading
import time

RANK, SIZE = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
VICTIM, AT = 1, 3


def serve(listener):
    """Releases all ranks when all have arrived. Runs in rank 0, on a thread beside the rank's own work."""
    all = [listener.accept()[0] for _ in range(SIZE)]
    while True:
        for one in all:
            if not one.recv(1):
                return
        for one in all:
            one.sendall(b"g")


def meet(peer):
    peer.sendall(b"h")
    peer.recv(1)


def connected(port):
    if RANK == 0:
        listener = socket.create_server(("127.0.0.1", port))
        threading.Thread(target=serve, args=(listener,), daemon=True).start()
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port))
        except ConnectionRefusedError:
            time.sleep(0.05)


def hang(kind, folder):
    if kind == "sleep":
        time.sleep(1000)
    elif kind == "lock_held_in_c":
        re.match(r"(a+)+$", "a" * 60 + "b")
    elif kind == "fifo":
        path = os.path.join(folder, "fifo")
        os.mkfifo(path)
        open(path).read()
    elif kind == "stopped":
        os.kill(os.getpid(), signal.SIGSTOP)
    elif kind == "left_early":
        threading.Event().wait()


def train(kind, folder, peer):
    step = 0
    while True:
        if RANK == VICTIM and step == AT:
            with open(os.path.join(folder, "hangs"), "w") as file:
                file.write("1")
            hang(kind, folder)
        print("step", step, flush=True)
        meet(peer)
        step += 1


def main():
    kind, folder, port = sys.argv[1], sys.argv[2], int(sys.argv[3])
    if kind == "barrier":
        import muster
        with muster.Agent() as agent:
            for step in range(1000):
                if RANK == VICTIM and step == AT:
                    open(os.path.join(folder, "hangs"), "w").close()
                    time.sleep(1000)
                if RANK == 0:
                    threading.Thread(target=chatter, daemon=True).start()
                agent.barrier("step", 600)
    if kind in ("left_early_for", "came_late_from"):
        leaves(kind, folder)
    train(kind, folder, connected(port))


def leaves(kind, folder):
    """Rank 1 skips a barrier and waits at the next one, before or after the others wait for it."""
    import muster
    with muster.Agent() as agent:
        for _ in range(AT):
            agent.barrier("step", 600)
        waits_first = (RANK == VICTIM) == (kind == "left_early_for")
        if not waits_first:
            time.sleep(0.5)
        if RANK == VICTIM:
            open(os.path.join(folder, "hangs"), "w").close()
        agent.barrier("save" if RANK == VICTIM else "step", 600)


def chatter():
    while True:
        print("still here", flush=True)
        time.sleep(0.2)


if __name__ == "__main__":
    main()

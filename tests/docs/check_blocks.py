"""The commands and programs of a page of docs/ run, in order, as a reader types them, in an empty folder.

  check_blocks.py MUSTER PYTHON PROJECT_FOLDER PAGE

PYTHON has the packages that the Python package depends on. The page uses default ports, so it runs in a network of
its own. A block below `<!-- not run: reason -->` is left out. A block that the sentence above it says to save as a
file is written, and run if the sentence has `python FILE`. Lines of `text` blocks must appear in the output, with
other numbers and identifiers, unless the block has `<!-- output varies -->` above it.
"""
import contextlib
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile

from markdown import blocks_of

MUSTER, PYTHON, PROJECT = (pathlib.Path(word) for word in sys.argv[1:4])
PAGE = sys.argv[4]
SECONDS = 240
SERVER = re.compile(r"^(?P<command>.*\bmuster serve\b.*&)[ \t]*$", re.M)
WORKER = re.compile(r"^.*\bmuster worker\b.*&[ \t]*$", re.M)
READ_ONLY = 'mount --bind /tmp /tmp && mount -o remount,bind,ro / && cd "$PWD" && exec "$0" "$@"'
"""Begins a mount namespace in which only /tmp can be written: pages also have commands for administrators."""
HOSTS = re.compile(r"\b(?:head|host-?[a-zA-Z])\b")
"""The name of this host in pages; the test runs on `head`."""


def with_waiting(commands):
    """Returns the commands, with a wait for each server and worker in the background: a reader types more slowly."""
    def waiting(found):
        port = re.search(r"--http[ =]\S*?:(\d+)", found["command"])
        scheme = "https" if "--tls-cert" in found["command"] else "http"
        url = f"{scheme}://127.0.0.1:{port[1] if port else 8477}/readyz"
        return f"{found['command']}\nuntil curl -skf -o /dev/null {url}; do sleep 0.1; done"
    commands = SERVER.sub(waiting, re.sub(r"\\\n", " ", commands))
    return WORKER.sub(r"\g<0>\nsleep 2", commands)


def script_of(blocks, folder):
    """Returns the page as one script. Programs are written into `folder`."""
    script = []
    for number, block in enumerate(blocks):
        if block.comment.startswith("not run:"):
            continue
        if block.file:
            (folder / f"{number}").write_text(block.text)
            commands = f"cp {folder}/{number} {block.file}" + (f"\npython {block.file}" if block.started else "")
        elif block.language == "sh":
            commands = with_waiting(block.text)
        elif block.language == "python":
            (folder / f"{number}.py").write_text(block.text)
            commands = f"python {folder}/{number}.py"
        else:
            continue
        script.append(f": '{PAGE}:{block.line}'\n{commands}")
    return "\n".join(script)


def environment_of(folder, with_library):
    """Makes an environment with this build's program and the package as it is in the tree. CMake finds the C++ library
    in it, because its `bin` is in PATH.
    """
    subprocess.run([PYTHON, "-m", "venv", "--without-pip", folder], check=True)
    (library,) = folder.glob("lib/python*/site-packages")
    (dependencies,) = PYTHON.parents[1].glob("lib/python*/site-packages")
    (library / "muster.pth").write_text(f"{PROJECT}/python\n{dependencies}\n")
    if with_library:
        subprocess.run(["cmake", "--install", MUSTER.parents[1], "--prefix", folder], check=True, stdout=subprocess.DEVNULL)
    else:
        (folder / "bin/muster").symlink_to(MUSTER)


def run(script, top):
    """Returns the exit status of the script and its output."""
    home = top / "home"
    home.mkdir()
    log = top / "log"
    variables = {"PATH": f"{top}/environment/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": str(home), "USER": "you",
                 "LC_ALL": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1"}
    with log.open("w") as out:
        running = subprocess.Popen(["unshare", "--mount", "sh", "-c", READ_ONLY, "bash", "-euxo", "pipefail", "-c", script],
                                   cwd=home, env=variables, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True)
        try:
            status = running.wait(SECONDS)
        except subprocess.TimeoutExpired:
            status = -1
        with contextlib.suppress(ProcessLookupError):
            os.killpg(running.pid, signal.SIGKILL)
    return status, log.read_text(errors="replace")


def shape(line):
    """Returns a line without what differs between two runs: blanks, numbers, identifiers, names of hosts."""
    line = re.sub(r"\b[0-9a-f]{6,}\b|\b(?=\w*\d)[\w-]*\w", "0", HOSTS.sub("host", line))
    return re.sub(r"[\d.:]+|\s+", " ", line).strip()


def missing_output(blocks, output):
    """Yields the lines of `text` blocks that the output does not have."""
    there = {shape(line) for line in output.splitlines()}
    for block in blocks:
        if block.language == "text" and not block.comment.startswith(("not run:", "output varies")):
            for number, line in enumerate(block.text.splitlines(), 1):
                if shape(line) and "…" not in line and "..." not in line and shape(line) not in there:
                    yield f"{PAGE}:{block.line + number}: not in the output: {line}"


def main():
    blocks = list(blocks_of((PROJECT / "docs" / PAGE).read_text()))
    with tempfile.TemporaryDirectory() as folder:
        top = pathlib.Path(folder)
        (top / "blocks").mkdir()
        script = script_of(blocks, top / "blocks")
        if not script:
            sys.exit(f"{PAGE} has no block that is run")
        environment_of(top / "environment", any("find_package(muster" in b.text for b in blocks))
        status, output = run(script, top)
    if status:
        sys.exit(f"{output}\n{PAGE}: {'took too long' if status < 0 else f'exit status {status}'}")
    missing = list(missing_output(blocks, output))
    if missing:
        sys.exit(output + "\n" + "\n".join(missing))
    print(f"{PAGE}: {script.count(': ' + chr(39) + PAGE)} blocks")


if __name__ == "__main__":
    main()

"""Checks the tarball in a minimal Debian root: its requirements on the system, and that it runs from any folder.

  check_tarball.py PACKAGES_FOLDER ROOTS_FOLDER
"""
import glob
import json
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from elf import glibc_needed
from roots import Root
from servers import Server, environment

PACKAGES, ROOTS = sys.argv[1:]
# All of glibc: its loader, resolver and locales belong to the system.
OF_THE_SYSTEM = {"libc.so.6", "libm.so.6", "libpthread.so.0", "libresolv.so.2", "libdl.so.2", "librt.so.1",
                 "ld-linux-x86-64.so.2", "linux-vdso.so.1"}
GLIBC = (2, 34)

LIBRARY = "lib/muster/libmuster_values.so"


def main():
    (tarball,) = glob.glob(f"{PACKAGES}/muster-*-linux-*.tar.gz")
    name = pathlib.Path(tarball).name.removesuffix(".tar.gz")
    with Root(f"{ROOTS}/bare") as root:
        where = root.path / "srv/some where"
        where.mkdir(parents=True)
        subprocess.run(["tar", "-C", where, "-xzf", tarball], check=True)
        program = f"/srv/some where/{name}/bin/muster"
        needed = set()
        for file in (program, f"/srv/some where/{name}/{LIBRARY}"):
            for line in root.run("ldd", file).stdout.splitlines():
                assert "not found" not in line, line
                needed.add(pathlib.Path(line.split()[0]).name)
        print("of the system:", *sorted(needed))
        assert needed <= OF_THE_SYSTEM, needed - OF_THE_SYSTEM
        newest = glibc_needed([where / name / "bin/muster", where / name / LIBRARY])
        print("glibc", ".".join(map(str, newest)), "or newer")
        assert newest <= GLIBC, newest
        copyright = list((where / name / "share/doc").glob("*.copyright"))
        assert len(copyright) > 10, copyright
        assert "Apache License" in (where / name / "share/doc/LICENSE").read_text()
        with Server(root.words(program), str(root.path / "tmp"), "--data-dir", "/tmp/data",
                    ready_file="/tmp/ready.json", ready_seen=str(root.path / "tmp/ready.json")) as server:
            assert server.get("/livez")[0] == 200
            status, site = server.get("/docs/")
            assert status == 200 and b"Muster" in site, (status, site[:200])
            worker = subprocess.Popen(root.words(program, "worker", "--server", server.grpc),
                                      env=environment(), stderr=subprocess.DEVNULL)
            try:
                done = root.run(program, "submit", "--url", server.url, "--timeout", "60s", "muster.echo", "42")
                assert json.loads(done.stdout) == 42, done.stdout
            finally:
                worker.terminate()
                worker.wait(60)
            assert server.stop() == 0


main()

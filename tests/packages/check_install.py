"""The Debian packages in a clean Debian: installed, used by a user other than root, upgraded, purged.

  check_install.py PACKAGES_FOLDER ROOTS_FOLDER EXTERNAL_PROJECT
"""
import glob
import json
import pathlib
import resource
import shutil
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from roots import Root
from servers import Server, environment

PACKAGES, ROOTS, EXTERNAL = sys.argv[1:]
NAMES = ["muster", "libmuster-dev", "python3-muster"]
INSTALL_SECONDS = 10
SOMEBODY = 65534

CLIENT = """
import sys
import muster
assert muster.__version__ == sys.argv[2], muster.__version__
with muster.ClusterCoordinator(sys.argv[1]) as c:
    parts = [c.schedule(sum, args=(range(i, i + 10),)) for i in range(0, 100, 10)]
    print(c.schedule(lambda all: sum(all), args=(parts,)).fetch(60))
"""


def packages():
    found = [glob.glob(f"{PACKAGES}/{name}_*.deb") for name in NAMES]
    assert all(len(f) == 1 for f in found), found
    return [f[0] for f in found]


def worked_for():
    """Returns the CPU seconds of ended processes, which do not depend on the load of the machine."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def install(root):
    """Installs the packages. Returns elapsed seconds and CPU seconds."""
    shutil.rmtree(root.path / "srv/debs", ignore_errors=True)
    (root.path / "srv/debs").mkdir()
    for deb in packages():
        shutil.copy(deb, root.path / "srv/debs")
    began, worked = time.monotonic(), worked_for()
    root.run("sh", "-c", "dpkg --install /srv/debs/*.deb")
    took = time.monotonic() - began, worked_for() - worked
    shutil.rmtree(root.path / "srv/debs")
    return took


def check_what_is_there(root, version):
    assert root.run("dpkg", "--audit").stdout == ""
    for name in NAMES:
        assert root.run("dpkg", "--verify", name).stdout == "", name
    conffiles = root.run("dpkg-query", "-W", "-f=${Conffiles}", "muster").stdout.split()
    assert conffiles[::2] == ["/etc/muster/muster.toml"], conffiles
    for unit in ("muster.service", "muster.socket", "muster-worker.service"):
        assert (root.path / "lib/systemd/system" / unit).is_file(), unit
    assert root.run("muster", "version", "--client").stdout.startswith(f"muster {version} ")
    binary = root.path / "usr/bin/muster"
    symbols = subprocess.run(["readelf", "-S", binary], capture_output=True, text=True, check=True)
    assert ".symtab" not in symbols.stdout and ".debug_info" not in symbols.stdout


def worker(root, *words):
    return subprocess.Popen(root.words(*words, user=SOMEBODY), env=environment(),
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def check_use(root, version):
    """Uses the packaged configuration file, as systemd's unit does, but with other ports."""
    (root.path / "tmp/somebody").mkdir(mode=0o777)
    (root.path / "tmp/somebody").chmod(0o777)
    program = root.words("muster", user=SOMEBODY)
    folder = root.path / "tmp/somebody"
    with Server(program, str(folder), "--config", "/etc/muster/muster.toml",
                "--data-dir", "/tmp/somebody/data", ready_file="/tmp/somebody/ready.json",
                ready_seen=str(folder / "ready.json")) as server:
        assert server.get("/livez")[0] == 200
        assert b"<html" in server.get("/")[1].lower()
        workers = [worker(root, "muster", "worker", "--server", server.grpc),
                   worker(root, "python3", "-m", "muster", "worker", "--server", server.grpc,
                          "--processes", "1")]
        try:
            done = root.run("muster", "submit", "--url", server.url, "--timeout", "60s",
                            "muster.echo", '{"hello": "world"}', user=SOMEBODY)
            assert json.loads(done.stdout) == {"hello": "world"}, done.stdout
            (folder / "client.py").write_text(CLIENT)
            done = root.run("python3", "/tmp/somebody/client.py", server.grpc, version, user=SOMEBODY)
            assert done.stdout.strip() == str(sum(range(100))), done.stdout
            check_build(root, server)
            tasks = json.loads(root.run("muster", "tasks", "--url", server.url, "--output", "json").stdout)
            versions = {t["version"].split()[0] for t in tasks if t["state"] == "CONNECTED"}
            assert versions == {version}, tasks
        finally:
            for w in workers:
                w.terminate()
            for w in workers:
                w.wait(60)
        assert server.stop() == 0, open(server.log).read()
    shutil.rmtree(folder)


def check_build(root, server):
    """Builds and runs a program that uses only the files installed by libmuster-dev."""
    shutil.copytree(EXTERNAL, root.path / "tmp/external")
    began = time.monotonic()
    root.run("cmake", "-S", "/tmp/external", "-B", "/tmp/external/build", "-G", "Ninja")
    root.run("cmake", "--build", "/tmp/external/build", "--target", "external_worker", "external_resolver")
    print(f"a worker built against libmuster-dev in {time.monotonic() - began:.1f} s")
    root.run("/tmp/external/build/external_worker", server.grpc, timeout=60)
    shutil.rmtree(root.path / "tmp/external")


def check_upgrade(root):
    """Changes of the administrator are kept, and the package does not ask."""
    file = root.path / "etc/muster/muster.toml"
    file.write_text(file.read_text() + '# mine\n')
    install(root)
    assert file.read_text().endswith("# mine\n")


def main():
    version = pathlib.Path(packages()[0]).name.split("_")[1].rpartition("-")[0]
    with Root(f"{ROOTS}/full") as root:
        before = root.files()
        took = install(root)
        print("installed in {:.1f} s with {:.1f} s of work".format(*took))
        assert took[1] <= INSTALL_SECONDS, took
        check_what_is_there(root, version)
        check_use(root, version)
        check_upgrade(root)
        # As the unit's StateDirectory= does.
        (root.path / "var/lib/private/muster/data").mkdir(parents=True)
        (root.path / "var/lib/muster").symlink_to("private/muster")
        root.run("dpkg", "--purge", *NAMES)
        left = root.files() - before - {"var/lib/private", "var/lib/dpkg/status-old", "var/lib/dpkg/diversions-old",
                                        "var/log/dpkg.log", "var/log/alternatives.log"}
        left = {f for f in left if not f.startswith(("root/.cache", "var/cache"))}
        assert not left, sorted(left)
        assert not before - root.files(), sorted(before - root.files())
        print("purged, nothing is left")


main()

"""Checks the OCI image: its layout is complete and consistent, and it runs as in production: without root, and with a read-only root
file system.

  check_image.py IMAGE_TAR CONTAINERFILE
"""
import gzip
import hashlib
import io
import json
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from servers import Server, environment

IMAGE, CONTAINERFILE = sys.argv[1:]


class Layout:
    """Reads the layout, and checks every hash and size."""

    def __init__(self, path):
        self._tar = tarfile.open(path)
        assert json.loads(self.file("oci-layout")) == {"imageLayoutVersion": "1.0.0"}
        (manifest,) = json.loads(self.file("index.json"))["manifests"]
        self.name = manifest["annotations"]["org.opencontainers.image.ref.name"]
        self.manifest = json.loads(self.blob(manifest))
        self.config = json.loads(self.blob(self.manifest["config"]))
        self.layers = [gzip.decompress(self.blob(one)) for one in self.manifest["layers"]]
        assert self.config["rootfs"]["diff_ids"] == [
            "sha256:" + hashlib.sha256(one).hexdigest() for one in self.layers]
        assert self.config["architecture"] in ("amd64", "arm64") and self.config["os"] == "linux"
        named = {manifest["digest"], self.manifest["config"]["digest"],
                 *(one["digest"] for one in self.manifest["layers"])}
        there = {f"sha256:{pathlib.Path(n).name}" for n in self._tar.getnames() if n.startswith("blobs/sha256/")}
        assert named == there, named ^ there

    def file(self, name):
        return self._tar.extractfile(name).read()

    def blob(self, named):
        algorithm, _, digest = named["digest"].partition(":")
        data = self.file(f"blobs/{algorithm}/{digest}")
        assert hashlib.new(algorithm, data).hexdigest() == digest and len(data) == named["size"]
        return data

    def unpack(self, folder):
        for layer in self.layers:
            with tarfile.open(fileobj=io.BytesIO(layer)) as tar:
                tar.extractall(folder, numeric_owner=True)


def main():
    layout = Layout(IMAGE)
    config = layout.config["config"]
    text = pathlib.Path(CONTAINERFILE).read_text()
    user, group = map(int, config["User"].split(":"))
    assert user > 0 and group > 0 and f"\nUSER {config['User']}\n" in text
    assert f"\nENTRYPOINT {json.dumps(config['Entrypoint'])}\n" in text, config
    assert f"\nCMD {json.dumps(config['Cmd'])}\n" in text, config
    assert set(config["ExposedPorts"]) == {"8476/tcp", "8477/tcp"}
    with tempfile.TemporaryDirectory(dir=os.path.dirname(os.path.realpath(IMAGE))) as folder:
        root, out = os.path.join(folder, "root"), os.path.join(folder, "out")
        os.makedirs(root)
        layout.unpack(root)
        os.makedirs(out, mode=0o700)
        os.chown(out, user, group)
        assert os.stat(root + "/var/lib/muster").st_uid == user
        # Writable paths are the volume and /tmp, as in the manifests.
        inside = ["bwrap", "--ro-bind", root, "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp",
                  "--bind", out, config["WorkingDir"], "--chdir", config["WorkingDir"], "--unshare-user",
                  "--uid", str(user), "--gid", str(group), "--unshare-pid", "--unshare-ipc", "--die-with-parent",
                  "--cap-drop", "ALL", "--clearenv"]
        for setting in config["Env"]:
            inside += ["--setenv", *setting.split("=", 1)]
        # bwrap maps the caller's user, so the user outside is not root either.
        inside = ["setpriv", f"--reuid={user}", f"--regid={group}", "--clear-groups", *inside]
        os.chmod(folder, 0o755)
        written = subprocess.run([*inside, "sh", "-c", "id -u; touch /etc/x /usr/x || echo refused"],
                                 capture_output=True, text=True, env=environment())
        assert written.stdout.split() == [str(user), "refused"], written
        version = subprocess.run([*inside, *config["Entrypoint"], "version", "--client"], capture_output=True,
                                 text=True, env=environment())
        assert version.stdout.startswith(f"muster {layout.name} "), version
        volume = config["WorkingDir"]
        with Server([*inside, *config["Entrypoint"]], folder, "--data-dir", volume + "/data",
                    ready_file=volume + "/ready.json", ready_seen=out + "/ready.json") as server:
            assert config["Cmd"] == ["serve"]
            assert server.get("/livez")[0] == 200
            worker = subprocess.Popen([*inside, *config["Entrypoint"], "worker", "--server", server.grpc],
                                      env=environment(), stderr=subprocess.DEVNULL)
            try:
                done = subprocess.run([*inside, *config["Entrypoint"], "submit", "--url", server.url, "--timeout",
                                       "60s", "muster.echo", '"from the image"'], capture_output=True, text=True,
                                      env=environment(), timeout=100)
                assert json.loads(done.stdout) == "from the image", done
            finally:
                worker.kill()
                worker.wait(60)
            os.kill(child_of(server.process.pid), 15)  # like a runtime: signals the program, not bwrap
            assert server.process.wait(30) == 0
        print("ran as", user, "with a root that cannot be written;", os.stat(IMAGE).st_size >> 20, "MiB,",
              len(layout.layers), "layers")


def child_of(pid):
    """Returns the last process in the chain of only children that bwrap creates."""
    while True:
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            children = file.read().split()
        if not children:
            return pid
        pid = int(children[-1])


main()

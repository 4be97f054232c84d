"""Copies of Debian roots that end with the process: an overlay above an unchanged root. The test runs in a mount namespace of its own
(see CMakeLists.txt), so nothing is left mounted in any case."""
import os
import pathlib
import shutil
import subprocess
import tempfile

from servers import environment


class Root:
    """Needs root, and a mount namespace."""

    def __init__(self, lower):
        self._lower = os.path.realpath(lower)

    def __enter__(self):
        self._folder = pathlib.Path(tempfile.mkdtemp(prefix="root-", dir=os.path.dirname(self._lower)))
        for name in ("upper", "work", "root"):
            (self._folder / name).mkdir()
        self.path = self._folder / "root"
        options = f"lowerdir={self._lower},upperdir={self._folder}/upper,workdir={self._folder}/work"
        above = subprocess.run(["mount", "-t", "overlay", "overlay", "-o", options, self.path],
                               stderr=subprocess.DEVNULL)
        if above.returncode:  # a copy, if the file system does not support overlays
            subprocess.run(["cp", "-a", self._lower + "/.", self.path], check=True)
            subprocess.run(["mount", "--bind", self.path, self.path], check=True)
        subprocess.run(["mount", "-t", "proc", "proc", self.path / "proc"], check=True)
        subprocess.run(["mount", "--rbind", "/dev", self.path / "dev"], check=True)
        return self

    def __exit__(self, *_):
        for name in ("dev", "proc", ""):
            subprocess.run(["umount", "--lazy", self.path / name], check=True)
        shutil.rmtree(self._folder)

    def words(self, *command, user=0):
        return ["chroot", f"--userspec={user}:{user}", str(self.path), *command]

    def run(self, *command, user=0, check=True, timeout=300):
        done = subprocess.run(self.words(*command, user=user), capture_output=True, text=True,
                              timeout=timeout, env={**environment(), "HOME": "/root"})
        if check and done.returncode:
            raise AssertionError(f"{command}: status {done.returncode}\n{done.stdout}\n{done.stderr}")
        return done

    def files(self):
        """Returns every existing path, except /proc, /dev and files that dpkg and its triggers write about themselves."""
        out = set()
        for folder, names, files in os.walk(self.path):
            at = os.path.relpath(folder, self.path)
            if at == ".":
                names[:] = [n for n in names if n not in ("proc", "dev", "sys", "run", "tmp")]
            out.update(os.path.normpath(os.path.join(at, n)) for n in names + files)
        return out

"""The parts under test and the programs they are compared with."""
import pathlib
import subprocess
import threading

from values import CaseError


class Skipped(Exception):
    """The case cannot run here; the text says why."""


class Kit:
    """Where the parts under test are; each is made the first time a case needs it."""

    def __init__(self, root, bin_folder, samples=None, oracle=None):
        self.root, self.bin = root, bin_folder
        self._found = {k: v for k, v in {"samples": samples, "oracle": oracle}.items() if v}
        self._lock = threading.Lock()

    def _publish(self, key, *command):
        with self._lock:
            if key not in self._found:
                done = subprocess.run([str(self.root / "tools" / command[0]), *command[1:]], stdin=subprocess.DEVNULL,
                                      capture_output=True, text=True, check=False)
                if done.returncode == 4 and command[0] == "peer":
                    raise Skipped(f"tools/peer {key}: {done.stderr.strip().splitlines()[-1]}")
                if done.returncode != 0:
                    raise CaseError(f"tools/{' '.join(command)} failed with {done.returncode}:\n{done.stderr[-2000:]}")
                self._found[key] = done.stdout.strip().splitlines()[-1]
            return self._found[key]

    def samples(self, target):
        return pathlib.Path(self._publish("samples", "publish_samples")) / target

    def oracle(self):
        return self._publish("oracle", "publish_oracle")

    def peer(self, name):
        return self._publish(name, "peer", name)

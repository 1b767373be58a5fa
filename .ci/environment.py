"""Makes .venv hold what a lock file says: `python .ci/environment.py core|test`. Quick when there is nothing to do.

Only the standard library: nothing is installed yet when this runs.
A virtual environment that is half made, broken or made by another Python is made anew.
"""

import compileall
import hashlib
import os
import shutil
import subprocess
import sys
from contextlib import contextmanager

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
VENV = os.path.join(ROOT, ".venv")
PYTHON = os.path.join(VENV, "Scripts", "python.exe") if os.name == "nt" else os.path.join(VENV, "bin", "python")
INSTALLING = os.path.join(VENV, ".installing")
KINDS = ("core", "test")
THIS = f"{sys.version_info[0]}.{sys.version_info[1]}"


def main(kind):
    if sys.version_info < (3, 11):  # noqa: UP036 - an older Python must get a message
        stop(f"gpu-opt needs Python 3.11 or newer; this is {THIS}. `make PYTHON=...` names another.")
    os.chdir(ROOT)
    with one_at_a_time():
        # The locked packages of `test` contain those of `core`.
        if any(is_done(other) for other in KINDS[KINDS.index(kind) :]):
            return
        if os.path.exists(INSTALLING) or not is_sound():
            create()
        install(kind)


def stop(message):
    sys.exit(message)


def say(message):
    print(message, flush=True)


def run(*command):
    return subprocess.run(command, stdin=subprocess.DEVNULL, close_fds=False).returncode


@contextmanager
def one_at_a_time():
    """Two makes that install into the same folder wait for each other, and for what a killed one left running."""
    with open(__file__, "rb") as lock:
        try:
            import fcntl
        except ImportError:  # Windows
            yield
            return
        fcntl.flock(lock, fcntl.LOCK_EX)
        os.set_inheritable(lock.fileno(), True)
        yield


def fingerprint(kind):
    digest = hashlib.sha256()
    for path in (f"requirements/{kind}.txt", "pyproject.toml"):
        with open(path, "rb") as file:
            digest.update(file.read())
    return digest.hexdigest()


def stamp(kind):
    return os.path.join(VENV, f".installed-{kind}")


def is_done(kind):
    if os.path.exists(INSTALLING) or not os.path.exists(PYTHON) or not os.path.exists(stamp(kind)):
        return False
    with open(stamp(kind)) as file:
        return file.read() == fingerprint(kind) and is_sound()


def is_sound():
    code = "import sys, pip; sys.exit(sys.version_info < (3, 11))"
    try:
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "stdin": subprocess.DEVNULL}
        return subprocess.run([PYTHON, "-c", code], **quiet).returncode == 0
    except OSError:
        return False


def create():
    say(f"Making .venv with Python {THIS}")
    if not can_make_environments():
        fetch_venv_module()
    if run(sys.executable, "-m", "venv", "--clear", VENV) != 0 or not is_sound():
        shutil.rmtree(VENV, ignore_errors=True)
        stop(f"A virtual environment could not be made in {VENV}. Is the disk full or the folder read-only?")


def can_make_environments():
    code = "import venv, ensurepip; ensurepip.version()"
    return subprocess.run([sys.executable, "-c", code], stderr=subprocess.DEVNULL).returncode == 0


def fetch_venv_module():
    """Debian and Ubuntu keep the venv module's other half in a package of its own."""
    package = f"python{THIS}-venv"
    by_hand = f"This Python can't make virtual environments: `sudo apt-get install {package}`, then run make again."
    if not hasattr(os, "geteuid") or os.geteuid() != 0 or shutil.which("apt-get") is None:
        stop(by_hand)
    say(f"Installing {package} with apt-get")
    os.environ["DEBIAN_FRONTEND"] = "noninteractive"
    apt = ("apt-get", "install", "-y", "-qq", "--no-install-recommends", package)
    if run(*apt) != 0 and (run("apt-get", "update", "-qq") != 0 or run(*apt) != 0):
        stop(by_hand)


def install(kind):
    say(f"Installing requirements/{kind}.txt into .venv (a minute or two, once)")
    with open(INSTALLING, "w"):
        pass
    pip = (PYTHON, "-m", "pip", "--disable-pip-version-check", "--no-input", "install", "-qq")
    failed = (
        run(*pip, "--require-hashes", "-r", f"requirements/{kind}.txt") != 0
        or run(*pip, "--no-build-isolation", "--no-deps", "-e", ".") != 0
    )
    os.remove(INSTALLING)  # stays only where this was killed
    if failed:
        stop("The packages could not be installed; see above. Run make again once the network or the disk is back.")
    for folder in ("optimizer", "providers", "pricing_cache"):
        compileall.compile_dir(folder, quiet=2)  # so that the first start is a fast one
    with open(stamp(kind), "w") as file:
        file.write(fingerprint(kind))


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1] not in KINDS:
        sys.exit("usage: environment.py core|test")
    main(sys.argv[1])

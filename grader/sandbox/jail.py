"""The jail: the command line that builds it with bubblewrap, and what this machine lacks for it.

Inside there is a read-only view of Python, torch and the system's libraries, and of this kit the
few files that run there. There is no network, no /proc, no folder of anybody's, no other process.
"""

from __future__ import annotations

import ast
import functools
import importlib.metadata
import importlib.util
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grader.sandbox import lockdown, pids, syscalls
from grader.sandbox.lockdown import SCRATCH

ROOT = Path(__file__).resolve().parents[2]
KIT = "/kit"
# What is here besides those, wherever the kit is installed.
KIT_FOLDERS = ("grader", "solutions", "exercises", "tests")
NEEDED = ("torch", "numpy", "einops", "jaxtyping", "matplotlib", "IPython")
LIBRARIES = (
    *("/usr/lib", "/usr/lib64", "/usr/local/lib", "/lib", "/lib64"),
    *("/etc/ld.so.cache", "/etc/alternatives"),
)
DEVICES = ("/dev/null", "/dev/zero", "/dev/urandom")
SYSCTL = Path("/proc/sys")
HUGE_PAGES = "/sys/kernel/mm/transparent_hugepage"
# Without these torch takes slow kernels, and malloc no huge pages.
HARDWARE = (
    "/proc/cpuinfo",
    "/proc/meminfo",
    "/sys/devices/system/cpu",
    HUGE_PAGES,
)
_ZYGOTE = "grader.sandbox.zygote"
NOBODY = "65534"
OLDEST_KERNEL = (5, 8)  # the first in which a pidfd leads back to a process's own pid namespace
TRIAL_SECONDS = 20


@dataclass(frozen=True)
class Problem:
    """Something that the jail lacks on this machine, and what fixes it."""

    what: str
    fix: str


def command(descriptors: Sequence[int], program: str) -> list[str]:
    """Return the command line of a fork server in a jail, which is to inherit `descriptors`."""
    return bubblewrap([*interpreter(), _main(descriptors, KIT, program)], program)


def plain_command(descriptors: Sequence[int], program: str) -> list[str]:
    """Return the command line of a fork server without a jail."""
    return [*interpreter(), _main(descriptors, str(ROOT), program)]


def interpreter() -> list[str]:
    """Python without the user's settings, packages and `.pth` files.

    Not the one of a virtual environment: that looks for its settings in folders of the user's.
    """
    base = getattr(sys, "_base_executable", None) or sys.executable
    return [os.path.realpath(base), "-B", "-P", "-s", "-S", "-c"]


def _main(descriptors: Sequence[int], kit: str, program: str) -> str:
    return (
        # What is imported stays; to search it for garbage meanwhile takes a tenth of the time.
        f"import gc, sys; gc.disable(); sys.path += {_sites()!r}; sys.path.insert(0, {kit!r}); "
        "from grader.sandbox import zygote; del sys.path[0]; "
        f"zygote.main({program!r}, {list(descriptors)})"
    )


@functools.cache
def kit_files(program: str) -> tuple[str, ...]:
    """Return the kit's own files that the fork server and its children import, and no others."""
    files: dict[str, None] = {}
    waiting = [_ZYGOTE, program]
    while waiting:
        name = waiting.pop()
        file = _kit_file(name)
        if file is None or file in files:
            continue
        files[file] = None
        waiting.append(name.rpartition(".")[0])
        for node in ast.parse((ROOT / file).read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ImportFrom) and node.module:
                waiting += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return tuple(sorted(files))


def _kit_file(name: str) -> str | None:
    path = name.replace(".", "/")
    files = (f"{path}.py", f"{path}/__init__.py") if name.partition(".")[0] == "grader" else ()
    return next((file for file in files if (ROOT / file).is_file()), None)


def environment() -> dict[str, str]:
    """Return the environment of a fork server: nothing of the user's but where libraries are."""
    # A fork hangs when its parent ever ran an OpenMP region with two threads.
    threads = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    # With all of Python's memory in huge pages, where the kernel gives them, a fork takes a third.
    pages = {"PYTHONMALLOC": "malloc", "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}
    libraries = os.environ.get("LD_LIBRARY_PATH")
    inherited = {"LD_LIBRARY_PATH": libraries} if libraries else {}
    return {**inherited, "LANG": "C.UTF-8", **threads, **pages}


def bubblewrap(command: list[str], program: str) -> list[str]:
    """Return the command line that runs `command`, a fork server of that program, in the jail."""
    namespaces = ("user", "pid", "net", "ipc", "uts", "cgroup-try")
    line = [
        shutil.which("bwrap") or "bwrap",
        *(f"--unshare-{namespace}" for namespace in namespaces),
    ]
    line += ["--uid", NOBODY, "--gid", NOBODY, "--hostname", "jail"]
    line += ["--die-with-parent", "--new-session"]
    # To give each child namespaces of its own. The child drops them.
    line += ["--cap-add", "CAP_SYS_ADMIN", "--cap-add", "CAP_SETPCAP"]
    for path in readable():
        line += ["--ro-bind", path, path]
    for path in _covered():
        line += ["--tmpfs", path]
    for file in kit_files(program):
        line += ["--ro-bind", str(ROOT / file), f"{KIT}/{file}"]
    # One by one: with --dev, bubblewrap would nest a second user namespace, in which this
    # process could no longer make pid namespaces.
    for device in DEVICES:
        line += ["--dev-bind", device, device]
    for path in HARDWARE:
        line += ["--ro-bind-try", path, path]
    # Libraries keep settings and caches in it that are made anew in each jail; children have a
    # folder of their own in its place.
    line += ["--tmpfs", SCRATCH, "--chdir", SCRATCH, "--remount-ro", "/"]
    return [*line, "--", *command]


def enclosed(program: str, megabytes: int) -> list[str]:
    """Return the command line that runs a Python program of the kit's in a jail of its own.

    All of the kit can be read in it, and nothing else of the user's; there is no network and no
    other process, and what is written is gone with it.
    """
    line = [shutil.which("bwrap") or "bwrap", "--unshare-all", "--die-with-parent", "--new-session"]
    line += ["--cap-drop", "ALL", "--hostname", "jail"]
    for path in readable():
        line += ["--ro-bind", path, path]
    for name in (*KIT_FOLDERS, "pyproject.toml"):
        if (ROOT / name).exists():
            line += ["--ro-bind", str(ROOT / name), f"{KIT}/{name}"]
    for device in DEVICES:
        line += ["--dev-bind", device, device]
    for path in HARDWARE:
        line += ["--ro-bind-try", path, path]
    line += ["--tmpfs", SCRATCH, "--chdir", SCRATCH, "--setenv", "HOME", SCRATCH]
    limited = (
        "import resource; "
        f"resource.setrlimit(resource.RLIMIT_AS, ({megabytes << 20}, {megabytes << 20})); "
        f"import sys; sys.path += {_sites()!r}; sys.path.insert(0, {KIT!r}); {program}"
    )
    return [*line, "--remount-ro", "/", "--", *interpreter(), limited]


def readable() -> list[str]:
    """Return the files and folders that can be read in the jail: those that Python needs.

    No path is inside another.
    """
    paths = [*LIBRARIES, *os.environ.get("LD_LIBRARY_PATH", "").split(":"), *_sites()]
    paths += [f"{sys.base_prefix}/lib", f"{sys.base_prefix}/lib64", interpreter()[0]]
    folders: list[str] = []
    for path in sorted(path for path in paths if os.path.isabs(path) and os.path.exists(path)):
        if not any(Path(path).is_relative_to(outer) for outer in folders):
            folders.append(path)
    return folders


def layers() -> dict[str, Any]:
    """Return what the fork server has to know to lock its children in. See `lockdown.Layers`.

    Raises `ImportError` or `RuntimeError` where pyseccomp or libseccomp is missing.
    """
    return {
        "filter": syscalls.compile_filter(platform.machine()).hex(),
        "readable": [*readable(), *DEVICES, *filter(os.path.exists, HARDWARE)],
    }


def _sites() -> list[str]:
    """Return the folders of installed packages, in the order in which Python looks into them."""
    specs = (importlib.util.find_spec(name) for name in NEEDED)
    homes = {str(Path(spec.origin).parents[1]) for spec in specs if spec and spec.origin}
    packages = ("site-packages", "dist-packages")
    return [path for path in sys.path if path in homes or os.path.basename(path) in packages]


def _covered() -> Iterator[str]:
    """Return where the kit itself would be visible among the readable folders."""
    for root in (str(ROOT), *_sites()):
        for name in KIT_FOLDERS:
            path = os.path.join(root, name)
            visible = any(Path(path).is_relative_to(outer) for outer in readable())
            if visible and os.path.isdir(path):
                yield path


def missing() -> list[Problem]:
    """Return what prevents the jail on this machine; empty if it works, which is tried."""
    if sys.platform != "linux":
        problem = f"The jail needs Linux; this is {platform.system()}."
        return [Problem(problem, "Grade on Linux or in a Linux container, or without a jail.")]
    problems = [*_unsuitable(), *_not_installed()]
    if problems:
        return problems
    refusal = _trial()
    return [_refused(refusal)] if refusal else []


def why_unavailable() -> str:
    """Say what keeps this machine from having the jail and what fixes it; empty when it works."""
    problems = missing()
    if not problems:
        return ""
    listed = "\n".join(f"  {problem.what} {problem.fix}" for problem in problems)
    return (
        f"The jail for untrusted code cannot be made here.\n{listed}\n"
        "For your own code on your own machine there is --isolation process. It is not for "
        "grades that count: the code can then read the solutions and write the report."
    )


def capabilities() -> list[str]:
    """Return what this machine has for the jail, one line each."""
    landlock = lockdown.landlock_version() if sys.platform == "linux" else 0
    pidfd = sys.platform == "linux" and hasattr(os, "pidfd_open") and not _unsuitable()
    problems = missing()
    described = {
        "system": f"{platform.system()} {platform.release()}, {platform.machine()}",
        "python": platform.python_version(),
        "torch": _version("torch") or "not installed",
        "bubblewrap": _bubblewrap_version() or "not installed",
        "seccomp": _seccomp_version() or "not installed",
        "pidfd": "yes" if pidfd else "no",
        "Landlock": f"version {landlock}"
        if landlock
        else "not in this kernel; the jail does without",
        "threads": _threads(),
        "huge pages": _huge_pages(),
        "jail": f"no. {problems[0].what} {problems[0].fix}" if problems else "works",
    }
    return [f"{name:<11} {value}" for name, value in described.items()]


def _threads() -> str:
    if not pids.needed():
        return "limited"
    if pids.available():
        return "limited by a control group, since this is root"
    return "not limited, since this is root and has no control group. Grade as another user"


def _unsuitable() -> list[Problem]:
    problems = []
    machine, release = platform.machine(), platform.release()
    if machine not in syscalls.MACHINES:
        problem = (
            f"The jail knows the processors {', '.join(syscalls.MACHINES)}; this is {machine}."
        )
        problems.append(Problem(problem, "Grade on one of those, or without a jail."))
    numbers = re.match(r"(\d+)\.(\d+)", release)
    if numbers and tuple(map(int, numbers.groups())) < OLDEST_KERNEL:
        oldest = ".".join(map(str, OLDEST_KERNEL))
        problem = f"The jail needs Linux {oldest} or newer; this is {release}."
        problems.append(Problem(problem, "Grade on a newer system, or without a jail."))
    return problems


def _not_installed() -> list[Problem]:
    problems = []
    if shutil.which("bwrap") is None:
        problems.append(Problem("bubblewrap is not installed.", _install("bubblewrap")))
    if importlib.util.find_spec("pyseccomp") is None:
        fix = f"{os.path.basename(sys.executable)} -m pip install pyseccomp"
        problems.append(Problem("The Python package pyseccomp is not installed.", fix))
    elif _seccomp_version() is None:
        problems.append(Problem("The library libseccomp is not installed.", _install("libseccomp")))
    return problems


_INSTALLERS = {
    "apt-get": "apt install",
    "dnf": "dnf install",
    "pacman": "pacman -S",
    "zypper": "zypper install",
    "apk": "apk add",
}
_DEBIAN_NAMES = {"libseccomp": "libseccomp2"}


def _install(package: str) -> str:
    for program, words in _INSTALLERS.items():
        if shutil.which(program):
            name = _DEBIAN_NAMES.get(package, package) if program == "apt-get" else package
            return f"{_sudo()}{words} {name}"
    return f"Install the package {package} of your distribution."


def _sudo() -> str:
    return "" if os.geteuid() == 0 else "sudo "


def _trial() -> str | None:
    """Return what the machine says when a child is locked in, as in earnest but without torch.

    None if it works.
    """
    known = layers()
    program = (
        f"import sys; sys.path.insert(0, {KIT!r}); from grader.sandbox import lockdown; "
        f"filter = bytes.fromhex({known['filter']!r}); "
        f"lockdown.try_out(lockdown.Layers(filter, {tuple(known['readable'])!r}))"
    )
    try:
        done = subprocess.run(
            bubblewrap([*interpreter(), program], _ZYGOTE),
            capture_output=True,
            text=True,
            env=environment(),
            timeout=TRIAL_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    if done.returncode == 0:
        return None
    lines = done.stderr.strip().splitlines()
    return lines[-1] if lines else f"exit status {done.returncode}"


# Settings of the kernel that can forbid user namespaces: a value that does, and one that does not.
_SETTINGS = (
    ("kernel.unprivileged_userns_clone", "0", "1"),
    ("kernel.apparmor_restrict_unprivileged_userns", "1", "0"),
    ("user.max_user_namespaces", "0", "15000"),
)


def _refused(refusal: str) -> Problem:
    """Return the problem behind a trial that failed."""
    for name, forbids, allows in _SETTINGS:
        if _setting(name) == forbids:
            problem = f"This system forbids user namespaces ({name} = {forbids})."
            return Problem(problem, f"{_sudo()}sysctl -w {name}={allows}")
    problem = f"This system refuses the jail: {refusal}."
    if any(os.path.exists(mark) for mark in ("/.dockerenv", "/run/.containerenv")):
        options = "--security-opt seccomp=unconfined --security-opt apparmor=unconfined"
        return Problem(problem, f"Start this container with: {options}")
    return Problem(problem, "Grade on another machine, or without a jail.")


def _setting(name: str) -> str:
    try:
        return SYSCTL.joinpath(*name.split(".")).read_text(encoding="ascii").strip()
    except OSError:
        return ""


def _huge_pages() -> str:
    try:
        modes = Path(HUGE_PAGES, "enabled").read_text(encoding="ascii")
    except OSError:
        return "no; a fork takes longer without"
    return "no; a fork takes longer without" if "[never]" in modes else "yes"


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _bubblewrap_version() -> str | None:
    if shutil.which("bwrap") is None:
        return None
    output = subprocess.run(["bwrap", "--version"], capture_output=True, text=True).stdout
    return output.removeprefix("bubblewrap").strip()


def _seccomp_version() -> str | None:
    try:
        import pyseccomp
    except (ImportError, RuntimeError):
        return None
    return f"pyseccomp {pyseccomp.__version__}, libseccomp interface {pyseccomp.get_api()}"

# Makes every system call that there is, but for those that would only end or stop it.
# expect: finds nothing
# isolation: jail
import ctypes
import errno
import platform
import sys

# Of x86-64: those whose success would be an escape, with arguments that would succeed.
NAMES = {
    41: "socket", 53: "socketpair", 56: "clone", 57: "fork", 58: "vfork", 59: "execve",
    101: "ptrace", 105: "setuid", 155: "pivot_root", 161: "chroot", 165: "mount", 169: "reboot",
    175: "init_module", 246: "kexec_load", 248: "add_key", 250: "keyctl", 272: "unshare",
    298: "perf_event_open", 303: "name_to_handle_at", 304: "open_by_handle_at", 308: "setns",
    310: "process_vm_readv", 312: "kcmp", 319: "memfd_create", 321: "bpf", 323: "userfaultfd",
    425: "io_uring_setup", 428: "open_tree", 430: "fsopen", 434: "pidfd_open", 435: "clone3",
    438: "pidfd_getfd", 29: "shmget", 64: "semget", 68: "msgget", 240: "mq_open", 133: "mknod",
    135: "personality", 141: "setpriority", 203: "sched_setaffinity", 237: "mbind",
    157: "prctl", 62: "kill", 200: "tkill", 234: "tgkill", 129: "rt_sigqueueinfo", 424: "pidfd_kill",
    442: "mount_setattr", 444: "landlock", 447: "memfd_secret", 317: "seccomp", 160: "setrlimit_",
}  # fmt: skip
def resolved():
    """The C library as the fork server left it: with the functions that it looked up itself."""
    frame = sys._getframe()
    while "lockdown" not in frame.f_globals:
        frame = frame.f_back
    return frame.f_globals["lockdown"]._libc


libc = resolved()
found = []
if platform.machine() == "x86_64":
    for number, name in NAMES.items():
        ctypes.set_errno(0)
        result = libc.syscall(number, 2, 0, 0, 0, 0, 0)
        if result != -1 or ctypes.get_errno() not in (errno.EPERM, errno.ENOSYS):
            found.append(f"{name}: {result}, {errno.errorcode.get(ctypes.get_errno())}")
raise ValueError(f"FOUND: {found or 'nothing'}")

"""Attempts to get out of a sandbox: each is a Python program that says so if it got through.

An attempt runs on its own, by ``python3``, after PRELUDE. It calls ``escaped()`` where it has
reached what it must not reach; an exception is a door that was closed. Some can be seen from
outside only: ``seen`` then names what the world looks at. Nothing in here does harm where it
succeeds, since all attempts run without a sandbox, too, to show that they would get through.
"""

from __future__ import annotations

from typing import NamedTuple

PRELUDE = """
import ctypes, errno, fcntl, mmap, os, pathlib, resource, signal, socket, struct, sys
E = os.environ
HARNESS, VICTIM = int(E["HARNESS"]), int(E["VICTIM"])
SECRET, OUTSIDE, HOST = E["SECRET"], E["OUTSIDE"], E["HOST"]
libc = ctypes.CDLL(None, use_errno=True)
def escaped(*_): print("ESCAPED", flush=True); sys.exit()
def holds(data):
    data = data if isinstance(data, bytes) else data.encode()
    if E["SECRET_TEXT"].encode()[::-1] in data: escaped()
def call(name, *arguments):
    words = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    function = libc.syscall if name.isdigit() else getattr(libc, name)
    words = [ctypes.c_long(int(name)), *words] if name.isdigit() else words
    function.restype = ctypes.c_long if name.isdigit() else ctypes.c_int
    result = function(*words)
    if result < 0: raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result
"""

ABI = "Landlock has no rules for this; it is named among the gaps"


class Attempt(NamedTuple):
    """A way out.

    Attributes:
        name: what it tries.
        code: how.
        seen: what shows on the outside that it got through, if it can't know itself.
        cannot: why Landlock can't stop it; it gets through there.
        control: ``yes``: gets through without a sandbox; ``root``: if a root runs it who may do
            all that root can; empty: makes no sense there, would do harm, or depends on what
            the machine has.
    """

    name: str
    code: str
    seen: str = ""
    cannot: str = ""
    control: str = "yes"


NETWORK = [
    Attempt("tcp", "socket.create_connection(('127.0.0.1', int(E['TCP'])), 3); escaped()"),
    Attempt(
        "tcp-ipv6", "socket.create_connection(('::1', int(E['TCP6'])), 3); escaped()", control=""
    ),
    Attempt(
        "udp",
        "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
        "s.sendto(E['TOKEN'].encode(), ('127.0.0.1', int(E['UDP'])))",
        seen="udp",
    ),
    Attempt(
        "bash-dev-tcp",
        "import subprocess\n"
        "line = 'exec 9<>/dev/tcp/127.0.0.1/' + E['TCP']\n"
        "subprocess.run(['bash', '-c', line], check=True)\n"
        "escaped()",
    ),
    Attempt("unix-socket", "s = socket.socket(socket.AF_UNIX); s.connect(E['UNIX']); escaped()"),
    Attempt(
        "abstract-socket",
        "s = socket.socket(socket.AF_UNIX); s.connect('\\0' + E['ABSTRACT']); escaped()",
    ),
    Attempt(
        "abstract-datagram",
        "s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)\n"
        "s.connect('\\0' + E['ABSTRACT'] + '-d')\n"
        "escaped()",
    ),
    Attempt(
        "raw-socket", "socket.socket(socket.AF_INET, socket.SOCK_RAW, 1); escaped()", control="root"
    ),
    Attempt(
        "packet-socket",
        "socket.socket(socket.AF_PACKET, socket.SOCK_RAW); escaped()",
        control="root",
    ),
    Attempt("vsock", "socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM); escaped()", control=""),
    Attempt(
        "crypto-socket",
        "socket.socket(socket.AF_ALG, socket.SOCK_SEQPACKET); escaped()",
        control="",
    ),
    Attempt(
        "io-uring",
        "call(E['IO_URING_SETUP'], 1, ctypes.create_string_buffer(120)); escaped()",
        control="",
    ),
    Attempt(
        "network-namespace",
        "same = os.readlink('/proc/self/ns/net') == E['NETNS']\n"
        "open('/proc/self/net/dev') and same and escaped()",
    ),
]
PROC = [
    Attempt("proc-root", "holds(open(f'/proc/{HARNESS}/root{SECRET}').read())"),
    Attempt("proc-cwd", "holds(open(f'/proc/{HARNESS}/cwd/secret.txt').read())"),
    Attempt("proc-fd", "holds(open(f'/proc/{HARNESS}/fd/' + E['SECRET_FD']).read())"),
    Attempt("proc-environ", "open(f'/proc/{HARNESS}/environ').read(); escaped()"),
    Attempt("proc-cmdline", "holds(open(f'/proc/{VICTIM}/cmdline').read())"),
    Attempt(
        "proc-all-cmdlines",
        "for name in os.listdir('/proc'):\n"
        "    if name.isdigit() and int(name) != os.getpid():\n"
        "        try: holds(open(f'/proc/{name}/cmdline').read())\n"
        "        except OSError: pass",
    ),
    Attempt("proc-mem", "open(f'/proc/{HARNESS}/mem', 'rb'); escaped()", control="root"),
    Attempt("proc-maps", "open(f'/proc/{HARNESS}/maps').read(); escaped()"),
    Attempt("proc-oom", "open(f'/proc/{VICTIM}/oom_score_adj', 'w').write('900'); escaped()"),
    Attempt("proc-1-root", "holds(open('/proc/1/root' + SECRET).read())", control="root"),
    Attempt(
        "core-pattern", "open('/proc/sys/kernel/core_pattern', 'w'); escaped()", control="root"
    ),
    Attempt("sysrq", "open('/proc/sysrq-trigger', 'w'); escaped()", control="root"),
    Attempt(
        "kernel-log", "os.open('/dev/kmsg', os.O_RDONLY | os.O_NONBLOCK); escaped()", control="root"
    ),
    Attempt("parent-link", "holds(open(f'/proc/{os.getppid()}/root' + SECRET).read())"),
]
READING = [
    Attempt("hidden-file", "holds(open(SECRET).read())"),
    Attempt("hidden-link", "os.symlink(SECRET, 'a'); holds(open('a').read())"),
    Attempt(
        "hidden-folder-link",
        "os.symlink(os.path.dirname(SECRET), 'b'); holds(open('b/secret.txt').read())",
    ),
    Attempt("hidden-dots", "holds(open('../' * 40 + SECRET[1:]).read())"),
    Attempt("hidden-hard-link", "os.link(SECRET, 'c'); holds(open('c').read())"),
    Attempt("hidden-other-name", "holds(open(E['SECRET_ALIAS']).read())"),
    Attempt("hidden-listing", "os.listdir(os.path.dirname(SECRET)); escaped()"),
    Attempt("hidden-in-shown-folder", "holds(open(E['SHOWN'] + '/private/secret.txt').read())"),
    Attempt("hidden-file-in-shown-folder", "holds(open(E['SHOWN'] + '/answer.txt').read())"),
    Attempt("hidden-execute", "os.execv(E['SECRET_PROGRAM'], ['x'])"),
    Attempt("hidden-move", "os.rename(SECRET, 'd'); holds(open('d').read())", control=""),
    Attempt(
        "hidden-by-handle",
        "import struct\n"
        "handle = ctypes.create_string_buffer(struct.pack('Ii', 128, 0) + bytes(128))\n"
        "m = ctypes.c_int()\n"
        "call('name_to_handle_at', -100, SECRET.encode(), handle, ctypes.byref(m), 0)\n"
        "place = os.open('.', os.O_RDONLY)\n"
        "holds(os.read(call('open_by_handle_at', place, handle, 0), 99))",
        control="",
    ),
    Attempt(
        "inherited-descriptor",
        "for fd in range(3, 256):\n    try: holds(os.pread(fd, 999, 0))\n    except OSError: pass",
        control="",
    ),
    Attempt("environment", "'OUTER_SECRET' in E and escaped()", control=""),
    Attempt("environment-of-shell", "holds(os.popen('env; export -p').read())", control=""),
    Attempt("password-hashes", "open('/etc/shadow').read(); escaped()", control="root"),
    Attempt("home", "os.listdir(E['OUTER_HOME']).index(E['HOME_NAME']); escaped()", control=""),
    Attempt("other-trial", "os.listdir(E['OTHER']); escaped()"),
    Attempt("temporary-files", "os.listdir(E['HOST_TMP']).index(E['TMP_NAME']); escaped()"),
    Attempt("stat", "os.stat(SECRET); escaped()", cannot=ABI),
]
WRITING = [
    Attempt("create", "open(OUTSIDE + '/new', 'w').write('x')", seen="outside"),
    Attempt("append", "open(OUTSIDE + '/kept', 'a').write('x')", seen="outside"),
    Attempt("truncate", "os.truncate(OUTSIDE + '/kept', 0)", seen="outside"),
    Attempt(
        "open-truncating", "os.open(OUTSIDE + '/kept', os.O_RDONLY | os.O_TRUNC)", seen="outside"
    ),
    Attempt("delete", "os.unlink(OUTSIDE + '/kept')", seen="outside"),
    Attempt("move-out", "open('m', 'w').close(); os.rename('m', OUTSIDE + '/m')", seen="outside"),
    Attempt(
        "move-over", "open('n', 'w').close(); os.replace('n', OUTSIDE + '/kept')", seen="outside"
    ),
    Attempt(
        "link-out", "os.symlink(OUTSIDE + '/new', 'l'); open('l', 'w').write('x')", seen="outside"
    ),
    Attempt(
        "folder-link-out", "os.symlink(OUTSIDE, 'k'); open('k/new', 'w').write('x')", seen="outside"
    ),
    Attempt("mkdir", "os.mkdir(OUTSIDE + '/folder')", seen="outside"),
    Attempt("rmdir", "os.rmdir(OUTSIDE + '/empty')", seen="outside"),
    Attempt("chmod", "os.chmod(OUTSIDE + '/kept', 0o777)", seen="outside", cannot=ABI),
    Attempt("touch", "os.utime(OUTSIDE + '/kept', (1, 1))", seen="outside", cannot=ABI),
    Attempt("xattr", "os.setxattr(OUTSIDE + '/kept', 'user.x', b'x')", seen="outside", control=""),
    Attempt(
        "proc-write", "open(f'/proc/{HARNESS}/root{OUTSIDE}/new', 'w').write('x')", seen="outside"
    ),
    Attempt("read-only-mount", "open(E['SHOWN'] + '/new', 'w').write('x')", seen="shown"),
    Attempt("read-only-delete", "os.unlink(E['SHOWN'] + '/visible.txt')", seen="shown"),
    Attempt(
        "interpreter",
        "open(E['PURELIB'] + '/' + E['TOKEN'] + '.pth', 'w'); escaped()",
        control="",
    ),
    Attempt("system", "open('/etc/' + E['TOKEN'], 'w'); escaped()", control=""),
    Attempt("root-folder", "os.mkdir('/' + E['TOKEN']); escaped()", control=""),
    Attempt("shared-memory-file", "open('/dev/shm/' + E['TOKEN'], 'w').close()", seen="shm"),
    Attempt(
        "device",
        "os.mknod('dev', 0o60600, os.makedev(254, 0))\nos.open('dev', os.O_RDONLY)\nescaped()",
        control="",
    ),
    Attempt(
        "character-device",
        "os.mknod('mem', 0o20600, os.makedev(1, 11))\n"
        "os.open('mem', os.O_RDONLY | os.O_NONBLOCK)\n"
        "escaped()",
        control="root",
    ),
]
PROCESSES = [
    Attempt("kill", "os.kill(VICTIM, signal.SIGKILL)", seen="victim"),
    Attempt("stop", "os.kill(VICTIM, signal.SIGSTOP)", seen="victim"),
    Attempt("signal-harness", "os.kill(HARNESS, 0); escaped()"),
    Attempt("signal-group", "os.killpg(int(E['GROUP']), 0); escaped()"),
    Attempt("thread-signal", "call(E['TKILL'], VICTIM, 0); escaped()"),
    Attempt(
        "queue-signal",
        "call(E['RT_SIGQUEUEINFO'], VICTIM, 15, struct.pack('iiii112x', 15, 0, -1, 0))",
        seen="victim",
    ),
    Attempt(
        "pidfd", "signal.pidfd_send_signal(os.pidfd_open(VICTIM), signal.SIGKILL)", seen="victim"
    ),
    Attempt(
        "owner-signal",
        "r, w = os.pipe()\n"
        "fcntl.fcntl(r, fcntl.F_SETOWN, VICTIM)\n"
        "fcntl.fcntl(r, 10, 15)\n"
        "fcntl.fcntl(r, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)\n"
        "os.write(w, b'x')",
        seen="victim",
    ),
    Attempt(
        "kill-parent",
        "os.getppid() > 2 and os.kill(os.getppid(), 0); os.getppid() > 2 and escaped()",
    ),
    Attempt("stop-parent", "os.kill(os.getppid(), signal.SIGSTOP); print('went on')", control=""),
    Attempt("trace", "call('ptrace', 16, VICTIM, 0, 0); escaped()", control="root"),
    Attempt(
        "read-memory",
        "here = ctypes.create_string_buffer(8)\n"
        "to, of = struct.pack('QQ', ctypes.addressof(here), 8), struct.pack('QQ', 0, 8)\n"
        "try: call('process_vm_readv', VICTIM, to, 1, of, 1, 0)\n"
        "except OSError as error: error.errno == errno.EFAULT and escaped()",
        control="root",
    ),
    Attempt(
        "steal-descriptor",
        "call(E['PIDFD_GETFD'], os.pidfd_open(HARNESS), int(E['SECRET_FD']), 0)\nescaped()",
        control="root",
    ),
    Attempt(
        "limit-others", "resource.prlimit(VICTIM, resource.RLIMIT_CPU, (99999, 99999)); escaped()"
    ),
    Attempt("slow-others", "os.setpriority(os.PRIO_PROCESS, VICTIM, 5)", seen="victim"),
    Attempt("slow-everybody", "os.setpriority(os.PRIO_USER, 0, 1)", seen="victim", control=""),
    Attempt("pin-others", "os.sched_setaffinity(VICTIM, os.sched_getaffinity(VICTIM)); escaped()"),
    Attempt(
        "raise-limit", "resource.setrlimit(resource.RLIMIT_CORE, (1, 1)); escaped()", control="root"
    ),
    Attempt("shared-memory", "call('shmget', int(E['SHM']), 0, 0); escaped()"),
    Attempt("terminal", "os.open('/dev/tty', os.O_RDWR); escaped()", control=""),
]
PRIVILEGES = [
    Attempt(
        "mount",
        "os.makedirs('t', exist_ok=True)\n"
        "call('mount', b'none', b't', b'tmpfs', 0, 0)\n"
        "call('umount', b't')\n"
        "escaped()",
        control="root",
    ),
    Attempt(
        "uncover", "call('umount2', (E['SHOWN'] + '/private').encode(), 2); escaped()", control=""
    ),
    Attempt(
        "remount", "call('mount', b'none', b'/usr', b'none', 4096 | 32, 0); escaped()", control=""
    ),
    Attempt("new-user-namespace", "call('unshare', 0x10000000); escaped()"),
    Attempt("clone-user-namespace", "call(E['CLONE'], 0x10000000 | 17, 0, 0, 0, 0); escaped()"),
    Attempt(
        "enter-namespace",
        "call('setns', os.open('/proc/1/ns/net', os.O_RDONLY), 0); escaped()",
        control="root",
    ),
    Attempt("chroot", "call('chroot', b'.'); escaped()", control="root"),
    Attempt(
        "become-root",
        "os.getuid() and os.setuid(0); os.getuid() or os.setuid(4711); escaped()",
        control="root",
    ),
    Attempt("privileges", "call('prctl', 39, 0, 0, 0, 0) or escaped()"),
    Attempt(
        "capabilities",
        "data = ctypes.create_string_buffer(24)\n"
        "call('capget', struct.pack('Ii', 0x20080522, 0), data)\n"
        "any(data.raw) and escaped()",
        control="root",
    ),
    Attempt("host-name", "socket.sethostname(socket.gethostname()); escaped()", control="root"),
    Attempt("keyring", "call(E['ADD_KEY'], b'user', b'x', b'x', 1, -2); escaped()"),
    Attempt(
        "bpf", "call(E['BPF'], 0, struct.pack('IIII112x', 2, 4, 4, 1), 128); escaped()", control=""
    ),
    Attempt("page-faults", "call(E['USERFAULTFD'], 1); escaped()", control=""),
]

ATTEMPTS = [*NETWORK, *PROC, *READING, *WRITING, *PROCESSES, *PRIVILEGES]

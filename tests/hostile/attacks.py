"""The attacks: how a hostile runtime is started, what it touches, and what it leaves nothing of to answer with."""
import dataclasses

# What clrscope takes from a target. An attack names the parts it lies in; a verb or route names those it reads.
#   find     process, names, socket file          port     answers of the diagnostic port
#   info     what it says of itself                session  the stream of events
#   dump, env, hook                                image    the runtime it has mapped
#   config   its runtimeconfig.json                file     a trace file
EVERY = ("find", "port", "info", "session", "dump", "env", "hook", "image", "config")


@dataclasses.dataclass
class Attack:
    name: str
    what: str
    options: list
    touches: tuple
    # Parts of which nothing true can be told: who needs one of them must fail and say why.
    breaks: tuple = ()
    shell: str = ""  # run in a mount namespace of its own, as root, before the target
    cover: str = ""  # laid over the mapped image, in that namespace
    words: list = dataclasses.field(default_factory=list)  # of its command line
    fresh: bool = False  # ends by itself: one for each command
    state: str = ""  # "stopped", "traced"
    foreign: bool = False  # breaks something only for targets of another user
    keeps: bool = False  # says that it uses what it was given, which stays therefore
    quick: bool = True  # not only with --all


def port(name, what, how=None, **more):
    return Attack(name, what, ["--port", how or name], ("port",), breaks=("port",), **more)


def info(how, what, **more):
    return Attack(f"info-{how}", what, ["--info", how], ("info",), **more)


def session(how, what, breaks=(), **more):
    return Attack(f"session-{how}", what, ["--session", how], ("session",), breaks=breaks, **more)


def dump(name, what, how, **more):
    return Attack(f"dump-{name}", what, ["--dump", how], ("dump",), breaks=("dump",), **more)


def hook(name, what, how, **more):
    return Attack(f"hook-{name}", what, ["--hook", how], ("hook",), breaks=("hook",), **more)


def image(how, what, **more):
    return Attack(f"image-{how}", what, ["--image", how], ("image",), **more)


def config(name, what, how, **more):
    return Attack(f"config-{name}", what, ["--config", how], ("config",), **more)


def environment(how, what, breaks=()):
    return Attack(f"env-{how}", what, ["--env", how], ("env",), breaks=breaks)


def attacks(secret, trap):
    """`secret`: a file that only root may read. `trap`: a socket that only root may reach."""
    escapes = "evil\x1b[2J\x1b]0;owned\x07\r\n99999 fake\u009b2J"
    etc = "mount -t tmpfs -o mode=755 none /etc; "
    return [
        port("silent", "answers nothing"),
        port("drip", "answers byte by byte"),
        port("size-0", "an answer of size 0"),
        port("size-65535", "promises 65535 bytes and stops"),
        port("close", "says success without content and closes"),
        port("garbage", "random bytes without end", quick=True),
        port("kind", "an answer of unknown kind with escapes"),
        port("exit", "ends in the middle of an answer", fresh=True),
        Attack("deaf", "listens and accepts nobody", ["--socket", "deaf"], ("port",), breaks=("port",)),
        Attack("socket-fifo", "a pipe where the socket would be", ["--socket", "fifo"], ("find", "port"), breaks=("port",)),
        Attack("socket-file", "a file where the socket would be", ["--socket", "file"], ("find", "port"), breaks=("port",)),
        Attack("socket-folder", "a folder where the socket would be", ["--socket", "folder"], ("find", "port"), breaks=("port",), quick=False),
        Attack("socket-link", "a link to a socket of root where its own would be", ["--socket", f"link:{trap}"], ("find", "port"), breaks=("port",)),
        Attack("stopped", "stopped by SIGSTOP", [], ("find", "port", "image"), breaks=("port",), state="stopped"),
        Attack("traced", "stopped by a tracer of its own", ["--traced"], ("find", "port", "image"), breaks=("port",), state="traced"),
        info("escapes", "terminal escapes in name and version"),
        info("long", "names of 12,000 letters"),
        info("utf16", "invalid UTF-16"),
        info("nul", "zeros in its names"),
        info("pid", "says it is process 1"),
        info("cut", "an answer cut short"),
        Attack("words", "terminal escapes in the command line, process and thread names", ["--name", "escapes"], ("find", "info"), words=[escapes]),
        environment("escapes", "environment with escapes"),
        environment("million", "a million environment variables"),
        environment("claim", "an environment of 4 GB", breaks=("env",)),
        environment("cut", "an environment cut short", breaks=("env",)),
        session("silent", "a session that says nothing"),
        session("close", "a session that closes at once"),
        session("escapes", "refuses with escapes", breaks=("session",)),
        session("garbage", "random bytes without end"),
        session("drip", "the header byte by byte", quick=False),
        session("magic", "the beginning again and again", quick=False),
        session("header-garbage", "a good header, then random bytes without end"),
        session("blocks", "good blocks without end, names with escapes"),
        session("types", "new types without end"),
        session("threads", "new threads without end"),
        session("stacks", "stacks without end"),
        session("times", "extreme times"),
        session("numbers", "unknown types, sizes beyond the block, leaps"),
        session("huge-block", "a block of 4 GB"),
        session("large-block", "a block of 16 MB that never becomes whole", quick=False),
        dump("link", "a link to a file of root in place of the dump", f"link:{secret}", foreign=True),
        dump("fifo", "a pipe in place of the dump", "fifo"),
        dump("folder", "a folder in place of the dump", "folder"),
        dump("none", "says written and writes nothing", "none"),
        dump("sparse", "a dump of 4 EB", f"sparse:{1 << 62}"),
        dump("escapes", "refuses with escapes", "escapes"),
        hook("link", "a link to a file of root as the helper's answer", f"link:{secret}"),
        hook("fifo", "a pipe as the helper's answer", "fifo"),
        hook("sparse", "a helper's answer of 1 TB", f"sparse:{1 << 40}"),
        hook("escapes", "a helper's answer with escapes", "escapes", keeps=True),
        image("garbage", "random bytes as libcoreclr.so"),
        image("empty", "libcoreclr.so truncated after it was mapped"),
        image("flip", "libcoreclr.so truncated again and again"),
        image("sections", "an ELF file with 65520 sections out of range"),
        image("sparse", "libcoreclr.so of 1 TB"),
        image("version", "escapes in the runtime's folder"),
        image("contract-claim", "a contract table of 4 GB"),
        image("contract-deep", "a contract table nested 900,000 deep"),
        image("contract-circle", "contract tables whose pointers lead in a circle"),
        Attack("image-fifo", "a pipe mounted over libcoreclr.so", ["--image", "sections"], ("image",), shell="true", cover="fifo"),
        Attack("image-secret", "a file of root mounted over libcoreclr.so", ["--image", "sections"], ("image",), shell="true", cover=secret),
        config("link", "runtimeconfig.json is a link to a file of root", f"link:{secret}"),
        config("fifo", "runtimeconfig.json is a pipe", "fifo"),
        config("deep", "runtimeconfig.json nested 100,000 deep", "deep"),
        config("sparse", "runtimeconfig.json of 1 TB", f"sparse:{1 << 40}"),
        Attack("perf-map-fifo", "its perf map is a pipe", ["--perf-map", "fifo"], ("image",), quick=False),
        Attack("perf-map-link", "its perf map is a link to a file of root", ["--perf-map", f"link:{secret}"], ("image",)),
        Attack("perf-map-sparse", "its perf map has 1 TB", ["--perf-map", f"sparse:{1 << 40}"], ("image",), quick=False),
        Attack("hostname-link", "/etc/hostname is a link to a file of root", [], ("find",), shell=f"{etc} ln -s {secret} /etc/hostname"),
        Attack("hostname-fifo", "/etc/hostname is a pipe", [], ("find",), shell=f"{etc} mkfifo -m 666 /etc/hostname"),
        Attack("hostname-escapes", "/etc/hostname with escapes", [], ("find",), shell=f"{etc} printf 'evil\\033[2J\\007' >/etc/hostname"),
        Attack("hostname-zero", "/etc/hostname is /dev/zero", [], ("find",), shell=f"{etc} ln -s /dev/zero /etc/hostname"),
    ]


# Beginnings of sessions, given as a trace file.
FILES = ["garbage", "magic", "header-garbage", "blocks", "types", "threads", "stacks", "times", "numbers", "huge-block", "large-block"]

"""Fork server for the ranks of a program, for Python 3.8 and later.

Imports modules once. Each rank is a fork that runs the program. The launcher of ranks (fork_server.cpp)
starts it with python -c, this text and the modules as arguments. Standard input is a socket to the launcher.
The server sends "ready", or why it cannot fork. For each rank it receives a message with four descriptors:
a description, the rank's stdout and stderr, and a socket of the rank. The rank sends its pid on that socket
and starts the program when it receives "g". Apart from ctypes, it imports only modules that the interpreter
has already imported.
"""
import os
import sys

import _socket

PR_SET_PDEATHSIG, SIGKILL = 1, 9
FILE_NAME = "<muster>"
BEFORE, CHANGED = {}, {}  # variables before the imports, and those that imports changed; None: removed


def import_all(modules):
    """Returns why forks are impossible, or an empty string."""
    try:
        import ctypes  # noqa: F401
    except ImportError as error:
        return f"this Python has no ctypes: {error}"
    BEFORE.update(os.environb)
    for name in modules:
        try:
            __import__(name)
        except BaseException as error:  # modules can raise anything, or exit
            return f"import {name}: {type(error).__name__}: {error}"
    now = dict(os.environb)
    CHANGED.update((name, now.get(name)) for name in {*BEFORE, *now} if BEFORE.get(name) != now.get(name))
    others = [task for task in os.listdir("/proc/self/task") if int(task) != os.getpid()]
    if not others:
        return ""
    names = sorted({comm(task) for task in others})
    return (f"{len(others)} more thread{'s' * (len(others) != 1)} after the imports ({', '.join(names)}): "
            "a fork would be without")


def comm(task):
    with open(f"/proc/self/task/{task}/comm") as file:
        return file.read().strip()


def descriptors(ancillary):
    return [int.from_bytes(data[i:i + 4], sys.byteorder)
            for _, _, data in ancillary for i in range(0, len(data), 4)]


def read_all(fd):
    with open(fd, "rb") as file:
        return file.read().split(b"\0")


def serve(line, launcher):
    """Forks ranks. Returns only in a rank, with its mode and arguments."""
    while True:
        message, ancillary, _, _ = line.recvmsg(16, _socket.CMSG_SPACE(4 * 4))
        if not message:
            os._exit(0)
        fds = descriptors(ancillary)
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        try:
            between = os.fork()
        except OSError:
            between = -1  # the launcher sees the end of the rank's socket
        if between == 0:
            own = os.getpid()
            try:
                if os.fork() != 0:
                    os._exit(0)  # the launcher, the nearest subreaper, adopts the rank
            except OSError:
                os._exit(1)
            line.close()
            return begin(fds, launcher, own)
        for fd in fds:
            os.close(fd)
        if between > 0:
            try:
                os.waitpid(between, 0)
            except ChildProcessError:
                pass  # a module ignores SIGCHLD


def begin(fds, launcher, between):
    import ctypes

    what, out, err, own_line = fds
    os.setpgid(0, 0)
    while os.getppid() == between:
        os.sched_yield()
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, SIGKILL)
    if os.getppid() != launcher:
        os._exit(127)
    cwd, mode, variables, size, *texts = read_all(what)
    environment, texts = texts[:int(variables)], texts[int(variables):]
    words, command = texts[:int(size)], texts[int(size):]
    try:
        os.chdir(cwd)
    except OSError:
        os._exit(127)
    os.write(own_line, b"%d\n" % os.getpid())
    if os.read(own_line, 1) != b"g":
        os._exit(127)
    os.dup2(out, 1)
    os.dup2(err, 2)
    for fd in (out, err, own_line):
        os.close(fd)
    coerced = os.environ.get("LC_CTYPE")  # set by the interpreter if no locale is set
    set_environment(dict(variable.partition(b"=")[::2] for variable in environment))
    if coerced is not None:
        os.environ.setdefault("LC_CTYPE", coerced)
    show(ctypes, b"\0".join(command))
    if hasattr(sys, "orig_argv"):
        sys.orig_argv[:] = map(os.fsdecode, command)
    sow()
    return os.fsdecode(mode), list(map(os.fsdecode, words))


def set_environment(given):
    """Sets the rank's environment. Keeps changes by imports to variables that the rank has not changed."""
    os.environ.clear()
    for name, value in given.items():
        os.environb[name] = value
    for name, value in CHANGED.items():
        if given.get(name) != BEFORE.get(name):
            continue
        if value is None:
            os.environb.pop(name, None)
        else:
            os.environb[name] = value


def show(ctypes, command):
    """Overwrites the command line of this process, up to its original length."""
    with open("/proc/self/stat", "rb") as file:
        fields = file.read().rpartition(b") ")[2].split()
    first, last = int(fields[45]), int(fields[46])
    if last <= first:
        return  # not provided by this kernel
    command = command[:last - first - 1]
    ctypes.memset(first, 0, last - first)
    ctypes.memmove(first, command, len(command))


def sow():
    """Renews the random state of the process. Python's `random` does this itself after a fork."""
    random = sys.modules.get("numpy.random")
    if random is not None:
        random.seed()
    process = sys.modules.get("multiprocessing.process")
    if process is not None:
        process.ORIGINAL_DIR = os.getcwd()
        process.current_process().authkey = os.urandom(32)


def new_main():
    main = type(sys)("__main__")
    main.__dict__["__builtins__"] = sys.modules["builtins"]
    if sys.version_info < (3, 14):
        main.__dict__["__annotations__"] = {}
    main.__loader__ = sys.modules["_frozen_importlib"].BuiltinImporter
    sys.modules["__main__"] = main
    return main


def is_importable(path):
    """Returns whether `path` is a directory or archive that can be run."""
    for hook in sys.path_hooks:
        try:
            return hook(path) is not None
        except ImportError:
            pass
    return False


def look_first_in(directory):
    if not (sys.flags.isolated or getattr(sys.flags, "safe_path", False)):
        sys.path.insert(0, directory)


def run(mode, words):
    """Runs the program like python with -m, -c or a script."""
    main = new_main()
    if mode == "m":
        import runpy

        sys.argv[:] = ["-m"] + words[1:]
        look_first_in(os.getcwd())
        runpy._run_module_as_main(words[0])
    elif mode == "c":
        sys.argv[:] = ["-c"] + words[1:]
        look_first_in("")
        exec(compile(words[0] + "\n", "<string>", "exec", 0, True), main.__dict__)
    else:
        sys.argv[:] = words
        run_script(main, words[0])


def run_script(main, script):
    path = os.path.join(os.getcwd(), script) if sys.version_info >= (3, 9) else script
    if is_importable(path):
        import runpy

        sys.path.insert(0, path)
        runpy._run_module_as_main("__main__", False)
        return
    try:
        with open(path, "rb") as file:
            source = file.read()
    except OSError as error:
        python = getattr(sys, "orig_argv", [sys.executable])[0]
        sys.stderr.write(f"{python}: can't open file '{path}': [Errno {error.errno}] {error.strerror}\n")
        sys.exit(2)
    look_first_in(os.path.dirname(os.path.realpath(script)))
    main.__file__ = path
    main.__cached__ = None
    main.__loader__ = sys.modules["_frozen_importlib_external"].SourceFileLoader("__main__", path)
    exec(compile(source, path, "exec", 0, True), main.__dict__)


def run_to_end(mode, words):
    """Runs the program. Removes the frames of this file from the traceback of an uncaught exception."""
    try:
        run(mode, words)
        return
    except SystemExit:
        raise
    except BaseException as raised:
        error = raised
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename == FILE_NAME:
        trace = trace.tb_next
    error.__traceback__ = trace
    tell(error)
    sys.excepthook = lambda *_: None
    raise error


def tell(error):
    """Reports an uncaught exception through sys.excepthook, and like Python if the hook raises.

    Must not be called while the exception is handled, which would make it the context of another one.
    """
    try:
        sys.excepthook(type(error), error, error.__traceback__)
        return
    except SystemExit:
        raise
    except BaseException as raised:
        in_hook = raised.with_traceback(raised.__traceback__.tb_next)
    sys.stderr.write("Error in sys.excepthook:\n")
    sys.__excepthook__(type(in_hook), in_hook, in_hook.__traceback__)
    sys.stderr.write("\nOriginal exception was:\n")
    sys.__excepthook__(type(error), error, error.__traceback__)


def wait_for_ranks():
    launcher = os.getppid()
    line = _socket.socket(fileno=os.dup(0))
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    if sys.path and sys.path[0] == "":
        del sys.path[0]
    why_not = import_all(sys.argv[1:])
    line.send((why_not or "ready").encode(errors="replace")[:1000])
    if why_not:
        os._exit(0)
    import ctypes
    import gc

    show(ctypes, "muster preload: {}".format(", ".join(sys.argv[1:])).encode())
    gc.collect()
    gc.freeze()
    return serve(line, launcher)


run_to_end(*wait_for_ranks())

"""Runs one case against one runtime and says how it went."""
import dataclasses
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import tempfile
import time
import traceback

import http_step as http
import values
from kit import Skipped
from processes import MARK, Interrupted, Started, as_user, copy_for_user, end_strays, reachable_by, wait_until
from values import CaseError, Missing, Variables

SHOWN = 6000  # characters of an output in a transcript
REPEAT, MOST_REPEAT = 0.1, 1.0  # seconds between two attempts of UNTIL RUN and UNTIL HTTP: as long as the attempt took, so that no processor is kept busy


@dataclasses.dataclass
class Outcome:
    case: object
    target: str
    state: str  # "passed", "failed", "skipped"
    seconds: float
    reason: str = ""
    transcript: str = ""
    times: tuple = ()  # (seconds, text) of each step


class Run:
    """The state of one case while its steps run."""

    def __init__(self, case, target, kit, stop):
        self.case, self.target, self.kit, self.stop = case, target, kit, stop
        # A short path: socket names are at most 108 bytes.
        base = tempfile.gettempdir()
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="e2e.", dir=base if len(base) < 40 else "/tmp"))
        self.tmp, self.outputs = self.folder / "t", self.folder / "out"
        self.tmp.mkdir()
        self.outputs.mkdir()
        self.folder.chmod(0o755)
        self.tmp.chmod(0o755)
        self.user, self.extra_environment = 0, {}
        self.named, self.started, self.apps, self.last = {}, [], 0, None
        self.address = ""  # where HTTP goes: a URL, or unix:PATH
        self.transcript, self.times = [], []
        self.bin = kit.bin
        self.variables = Variables(tmp=str(self.tmp), bin=str(kit.bin), target=target, root=str(kit.root), here=str(case.path.parent))
        text = "\n".join(step.text for step in case.steps)  # what is not used is not published
        if "{samples}" in text:
            self.variables["samples"] = str(kit.samples(target))
        if "{oracle}" in text:
            self.variables["oracle"] = kit.oracle()
        self.deadline = time.monotonic() + case.limit

    # Starting things

    def environment(self):
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("CLRSCOPE_", "DOTNET_Diagnostic", "CORECLR_"))}
        own = {"TMPDIR": str(self.tmp), MARK: self.folder.name, "PATH": f"{self.bin}:{os.environ['PATH']}"}
        if self.user:
            own["HOME"] = str(self.tmp)
        return {**kept, **own, **self.extra_environment}

    def start(self, name, arguments, stdin=subprocess.DEVNULL):
        if self.user:
            arguments = [*as_user(self.user), *arguments]
        try:
            started = Started(f"{len(self.started)}-{name}", arguments, self.environment(), self.outputs, self.tmp, stdin)
        except OSError as error:
            raise CaseError(f"cannot start {arguments[0]}: {error.strerror}") from None
        self.started.append(started)
        self.named[name] = started
        return started

    def words(self, text):
        """A command line: split as a shell does, then each word expanded, so that a value stays one word."""
        try:
            words = [self.variables.expand(word) for word in shlex.split(text)]
        except ValueError as error:
            raise CaseError(f"cannot split '{text}': {error}") from None
        if "/" not in words[0]:
            found = self.bin / words[0]
            words[0] = str(found) if found.exists() else words[0]
        return words

    def finish(self, started, step, deadline=None):
        """Waits for its end, keeps it for EXPECT and compares its exit code."""
        code = wait_until(lambda: started.exit_code() is not None, deadline or self.deadline, self.stop)
        self.last = started
        self.note(started)
        if not code:
            raise CaseError(f"{started.name} had not ended after {time.monotonic() - started.began:.1f} s")
        if step.exit not in ("any", str(started.exit_code())):
            raise CaseError(f"exit code {started.exit_code()}, expected {step.exit}")
        if step.word == "HTTP" and not http.status_matches(step.status, started.answer.status):
            raise CaseError(f"status {values.show(started.answer.status)}, expected {step.status}")

    def note(self, started):
        self.transcript.append(f"$ {shlex.join(map(str, started.arguments))}")
        for stream, text in (("stdout", started.stdout()), ("stderr", started.stderr())):
            if text:
                cut = text if len(text) <= SHOWN else f"{text[:SHOWN // 2]}\n… {len(text) - SHOWN} characters …\n{text[-SHOWN // 2:]}"
                self.transcript.append(f"{stream}:\n" + "\n".join("  " + line for line in cut.splitlines()))
        took = f" after {started.seconds:.2f} s" if started.seconds is not None else ""
        self.transcript.append(f"exit {started.exit_code()}{took}")

    # One method per directive

    def do_app(self, step):
        """[as NAME:] MODE [options]"""
        match = re.match(r"as\s+([\w-]+)\s*:\s*(.*)", step.text, re.DOTALL)
        self.apps += 1
        name, command = (match[1], match[2]) if match else ("app" if self.apps == 1 else f"app{self.apps}", step.text)
        words = [self.variables.expand(word) for word in shlex.split(command)]
        if words[0] == "samples":
            del words[0]
        folder = self.kit.samples(self.target)
        programs = [p for p in (folder / "samples", folder / "createdump") if p.exists()]
        if self.user and not all(reachable_by(self.user, p) for p in programs):
            folder = copy_for_user(folder, self.folder / "samples")
        started = self.start(name, [str(folder / "samples"), *words], subprocess.PIPE)
        ready = wait_until(lambda: self.ready_line(started), self.deadline, self.stop)
        if not ready or ready is started:
            self.note(started)
            raise CaseError(f"samples {command}: no ready line")
        ready.setdefault("pid", started.pid)
        self.variables[name] = ready
        self.variables[f"pid{self.apps}"] = ready["pid"]
        if self.apps == 1:
            self.variables["pid"], self.variables["app"] = ready["pid"], ready
            self.named["app"] = started

    @staticmethod
    def ready_line(started):
        """The app's JSON line that says ready; the process itself when it ended without one."""
        ended = started.exit_code() is not None
        for line in started.stdout().splitlines(keepends=True):
            if line.endswith("\n") and line.startswith("{"):
                found = values.parse_json(line)
                if isinstance(found, dict) and found.get("ready"):
                    return found
        return started if ended else None

    def do_user(self, step):
        """UID: what follows runs as that user, in a folder of its own, which is {tmp} from here on; 0 goes back."""
        self.user = int(self.variables.expand(step.text))
        if self.user and os.geteuid() != 0:
            raise Skipped("USER needs root")
        self.tmp = self.folder / (f"u{self.user}" if self.user else "t")
        self.variables["tmp"] = str(self.tmp)
        if not self.tmp.exists():
            self.tmp.mkdir()
            os.chown(self.tmp, self.user, self.user)
        if self.user and not reachable_by(self.user, self.bin / "clrscope"):
            self.bin = copy_for_user(self.kit.bin, self.folder / "bin")

    def do_env(self, step):
        key, _, value = self.variables.expand(step.text).partition("=")
        self.extra_environment[key] = value

    def do_run(self, step):
        self.finish(self.start("run", self.words(step.text.replace("\n", " "))), step)

    def do_at(self, step):
        """URL or unix:PATH: where HTTP goes from here on."""
        self.address = self.variables.expand(step.text)

    def do_http(self, step):
        """METHOD PATH [-> FILE], then lines "Name: value" for headers and the body."""
        if not self.address:
            raise CaseError("HTTP needs AT ADDRESS before it")
        head = self.outputs / f"{len(self.started)}-http.head"
        request = http.parse([self.variables.expand(line, strict=not http.is_body(line)) for line in step.text.splitlines()])
        seconds = max(1, self.deadline - time.monotonic())
        started = self.start("http", http.curl(self.address, request, head, seconds, self.user))
        started.answer = http.Answer(head)
        self.finish(started, step)

    def do_oracle(self, step):
        self.finish(self.start("oracle", [self.kit.oracle(), *self.words("- " + step.text)[1:]]), step)

    def do_peer(self, step):
        words = self.words(step.text)
        self.finish(self.start("peer", [self.kit.peer(step.text.split()[0]), *words[1:]]), step)

    def do_shell(self, step):
        self.extra_environment, kept = {**self.extra_environment, **self.variables.environment()}, self.extra_environment
        try:
            script = self.variables.expand(step.text, strict=False)
            self.finish(self.start("shell", ["bash", "-euo", "pipefail", "-c", script]), step)
        finally:
            self.extra_environment = kept

    def do_skip(self, step):
        if not step.text.startswith("UNLESS "):
            raise CaseError("write SKIP UNLESS COMMAND")
        command = self.variables.expand(step.text.removeprefix("UNLESS "), strict=False)
        if subprocess.run(["bash", "-c", command], env=self.environment(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL, check=False).returncode != 0:
            raise Skipped(f"unless {command}")

    def do_background(self, step):
        name, colon, command = step.text.partition(":")
        if not colon:
            raise CaseError("write BACKGROUND NAME: COMMAND")
        started = self.start(name.strip(), self.words(command.replace("\n", " ")), subprocess.PIPE)
        self.variables[name.strip()] = {"pid": started.pid}

    def find(self, name):
        if name not in self.named:
            raise CaseError(f"nothing is called {name}; there are {', '.join(self.named)}")
        return self.named[name]

    def do_signal(self, step):
        name, signal_name = step.text.split()
        self.find(name).signal(signal_name)

    def do_send(self, step):
        """NAME [text]"""
        name, _, text = step.text.partition(" ")
        try:
            self.find(name).send(self.variables.expand(text))
        except OSError as error:
            raise CaseError(f"{name} does not read: {error.strerror}") from None

    def do_wait(self, step):
        """NAME [seconds]"""
        name, *limit = step.text.split()
        deadline = min(self.deadline, time.monotonic() + float(limit[0])) if limit else self.deadline
        self.finish(self.find(name), step, deadline)

    def do_until(self, step):
        """[NAME] EXPECTATION"""
        word, _, rest = step.text.partition(" ")
        source, expectation = (self.named[word], rest) if word in self.named else (self.last, step.text)
        ended = False

        def settled():
            """It holds, or the command it is about has ended and cannot make it hold any more."""
            nonlocal ended
            ended = word in self.named and source.exit_code() is not None  # asked first: its last output counts
            return self.judge(expectation, source)[0] or ended

        if not wait_until(settled, self.deadline, self.stop) or not self.judge(expectation, source)[0]:
            if source:
                self.note(source)
            how = f"{word} has ended with {source.exit_code()}" if ended else "never came true"
            raise CaseError(f"{how}; {self.judge(expectation, source)[1]}")

    def do_expect(self, step):
        holds, was = self.judge(step.text, self.last)
        if not holds:
            raise CaseError(was)

    def do_save(self, step):
        name, equals, what = step.text.partition("=")
        found = self.value(what.strip(), self.last)
        if not equals or isinstance(found, Missing):
            raise CaseError(f"cannot save {what.strip()}: {values.show(found)}")
        self.variables[name.strip()] = found[0] if isinstance(found, values.Selection) else found

    # Judging

    def value(self, text, source):
        """The left side of an expectation: a path into the JSON on stdout, an output, a file, a variable or a literal."""
        if text.startswith("file "):
            path, _, what = self.variables.expand(text[5:]).strip().partition(" ")
            return values.file_value(self.tmp / path, what.strip())
        if text in ("stdout", "stderr", "exit", "time") and source is None:
            raise CaseError(f"{text}: nothing has run yet")
        if text in ("stdout", "stderr"):
            return getattr(source, text)()
        if text in ("exit", "time"):
            return source.exit_code() if text == "exit" else source.seconds
        if text == "status" or text.startswith("header "):
            if not getattr(source, "answer", None):
                raise CaseError(f"{text}: the last command is not HTTP")
            return source.answer.status if text == "status" else source.answer.header(text.split(None, 1)[1])
        if text.startswith((".", "[")):
            document = values.parse_json(source.stdout()) if source else None
            return Missing("stdout, which is not JSON") if document is None else values.follow(document, self.variables.expand(text))
        if (match := values.VARIABLE.fullmatch(text)) and (found := self.variables.look_up(match[1])) is not None:
            return found
        return values.literal(self.variables.expand(text))

    def judge(self, text, source):
        """(whether it holds, what was found instead)."""
        left_text, op, right_text = values.split_expectation(text)
        unary = op in ("exists", "missing")
        left = self.value(left_text + " size" if unary and left_text.startswith("file ") else left_text, source)
        right = None if unary else self.right_side(op, right_text, source)
        was = f"{left_text} is {values.show(left)}"
        if "{" in right_text or right_text.startswith("."):
            was += f", the right side is {values.show(right)}"
        return values.compare(left, op, right), was

    def right_side(self, op, text, source):
        if op == "within":
            return self.variables.expand(text)
        if op in ("~", "!~", "contains", "lacks"):  # plain text, or quoted as in JSON
            if match := values.VARIABLE.fullmatch(text):
                return self.variables.look_up(match[1])
            text = self.variables.expand(text, strict=False)
            return values.literal(text) if text.startswith('"') or op == "contains" else text
        return self.value(text, source) if text.startswith((".", "{")) else values.literal(self.variables.expand(text))

    # All of it

    def execute(self):
        for step in self.case.steps:
            shown = f"UNTIL {step.word} {step.text} => {step.until}" if step.until else f"{step.word} {step.text}"
            shown = f"{self.case.path.name}:{step.line}: {shown}"
            self.transcript.append(shown)
            if time.monotonic() >= self.deadline:
                raise CaseError(f"LIMIT of {self.case.limit:g} s reached")
            do, began = getattr(self, "do_" + step.word.lower()), time.monotonic()
            try:
                if step.until:
                    self.repeat(do, step)
                else:
                    do(step)
            finally:
                self.times.append((time.monotonic() - began, shown))

    def repeat(self, do, step):
        """Runs a step until it succeeds and its expectation holds; the transcript keeps the last attempt."""
        kept, failure = len(self.transcript), None
        while True:
            del self.transcript[kept:]
            before, began = len(self.started), time.monotonic()
            try:
                do(step)
                holds, failure = self.judge(step.until, self.last)
                if holds:
                    return
            except CaseError as error:
                cut_short = time.monotonic() >= self.deadline
                failure = failure if failure and cut_short else error
            if self.stop.is_set():
                raise Interrupted
            if time.monotonic() >= self.deadline:
                raise CaseError(f"never came true; {failure}")
            for started in self.started[before:]:
                started.forget()
            del self.started[before:]
            time.sleep(min(max(REPEAT, time.monotonic() - began), MOST_REPEAT))

    def clean_up(self):
        for started in self.started:
            started.end()
        end_strays(self.folder.name)
        shutil.rmtree(self.folder, ignore_errors=True)


def run_case(case, target, kit, stop):
    began = time.monotonic()
    run = Run(case, target, kit, stop)
    state, reason = "passed", ""
    try:
        run.execute()
    except Skipped as skipped:
        state, reason = "skipped", str(skipped)
    except CaseError as error:
        state, reason = "failed", f"{failing_line(run)}: {error}"
        for started in run.started:  # what still runs has a say too
            if started.exit_code() is None and started is not run.last:
                run.note(started)
    except Interrupted:
        state, reason = "failed", "interrupted"
    except Exception:  # a fault of the runner is a failure of the case, not the end of all others
        state, reason = "failed", traceback.format_exc()
    finally:
        run.clean_up()
    return Outcome(case, target, state, time.monotonic() - began, reason, "\n".join(run.transcript), tuple(run.times))


def failing_line(run):
    """The directive that was under way."""
    prefix = run.case.path.name + ":"
    return next(line for line in reversed(run.transcript) if line.startswith(prefix))

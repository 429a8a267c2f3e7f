"""Runs command lines with Kafka's tools and with kaja's and compares what they print; README.md has the format. Called by scripts/commands."""
import difflib
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
FILES = os.path.normpath(HERE + "/../../cli/tool/testdata/dumplog")
LIMIT = 75  # seconds a line may take; the tools give up after 60 by default
JVM = "-Xmx256m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xshare:auto"
NOBODY = "127.0.0.1:9"  # the discard port: refused at once

TOOLS = """topics configs consumer-groups share-groups streams-groups groups console-producer console-consumer console-share-consumer producer-perf-test
consumer-perf-test e2e-latency verifiable-producer verifiable-consumer broker-api-versions acls delegation-tokens delete-records dump-log features
get-offsets leader-election log-dirs metadata-quorum cluster reassign-partitions transactions client-metrics storage server-start server-stop""".split()

GENERAL = [  # masks of every file
    (r"(?<![\w-])(?=[\w-]*[A-Z])(?=[\w-]*[a-z])(?:(?=[\w-]*[0-9])|(?=(?:[a-z_-]*[A-Z]){6}))[\w-]{22}(?![\w-])", "<id>"),
    (r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", "<uuid>"),
    (r"\b\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d([.,:]\d+)?(Z|\+\d+)?", "<date>"),
    (r"\b1[6-9]\d{11}\b", "<time>"),
    (r"console-consumer-\d+", "console-consumer-<n>"),
]
LOGGER = re.compile(r"^(\[[^\]]+\] (WARN|ERROR|INFO|DEBUG) |SLF4J|WARNING: |\s+at [\w.$/<>]+\(|\s*\.\.\. \d+ more|Caused by: |\s*Suppressed: |\s+at \S+//?|OpenJDK)")


class Step:
    def __init__(self, kind, line, masks):
        self.kind, self.line, self.masks = kind, line, list(masks)


class Section:
    def __init__(self, broker, settings):
        self.broker, self.settings, self.steps = broker, list(settings), []


def read(name):
    """The sections of a file."""
    with open(name) as f:
        lines = re.sub(r"\\\n\s*", "", f.read()).split("\n")
    sections, settings, masks = [Section("kaja", [])], [], []
    for line in lines:
        if not line.strip() or line.startswith("#"):
            continue
        if line.startswith("@broker "):
            sections.append(Section(line.split()[1], settings))
        elif line.startswith("@set "):
            settings.append(line[5:].strip())
            if not sections[-1].steps:
                sections[-1].settings = list(settings)
        elif line.startswith("@mask "):
            regex, text = line[6:].split(" => ", 1)
            masks.append((regex.strip(), text))
        elif line[:2] in ("+ ", "~ "):
            sections[-1].steps.append(Step(line[0], line[2:], masks))
        elif line.startswith("@"):
            sys.exit(f"{name}: {line}: no such directive")
        else:
            sections[-1].steps.append(Step("", line, masks))
    return [s for s in sections if s.steps]


def free_port():
    while True:
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            port = s.getsockname()[1] % 20000 + 20000
        with socket.socket() as s:
            try:
                s.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue


class Broker:
    """A broker of its own process, or the address of one that runs."""

    def __init__(self, run, kind, settings=()):
        self.dir, self.process = "", None
        if kind == "none":
            self.address = NOBODY
            return
        if kind == "kafka" and os.environ.get("KAFKA_BOOTSTRAP"):
            self.address = os.environ["KAFKA_BOOTSTRAP"]
            return
        port = free_port()
        self.address, self.dir = f"127.0.0.1:{port}", f"{run.tmp}/b{port}"
        env = dict(os.environ, KAFKA_OPTS="-Xmx768m -Xms256m")
        env.pop("BROKER", None)
        if kind == "kaja":
            env["BROKER"] = f"{run.kaja} serve"
        self.log = open(self.dir + ".log", "w")
        settings = [s.replace("$DIR", self.dir) for s in settings]
        self.process = subprocess.Popen([run.kafka, "serve", self.dir, str(port), *settings], env=env, stdout=self.log, stderr=self.log, start_new_session=True)
        for _ in range(600):
            with socket.socket() as s:
                if s.connect_ex(("127.0.0.1", port)) == 0:
                    return
            if self.process.poll() is not None:
                break
            time.sleep(0.05 if kind == "kaja" else 0.2)
        sys.exit(f"{kind} does not start: " + open(self.dir + ".log").read()[-800:])

    def stop(self):
        if self.process:
            self.process.terminate()
            self.process.wait()
            self.process = None


class Run:
    def __init__(self, kaja, kafka, tmp):
        self.kaja, self.kafka, self.tmp, self.shared, self.count = kaja, kafka, tmp, None, 0
        self.bins = {"ours": tmp + "/ours", "theirs": tmp + "/theirs"}
        for d in self.bins.values():
            os.makedirs(d)
        for t in TOOLS:
            os.symlink(os.path.abspath(kaja), f"{tmp}/ours/kafka-{t}")
            with open(f"{tmp}/theirs/kafka-{t}", "w") as f:
                f.write(f'#!/bin/sh\nexec "{os.path.abspath(kafka)}" kafka-{t} "$@"\n')
            os.chmod(f"{tmp}/theirs/kafka-{t}", 0o755)

    def kafka_broker(self):
        if self.shared is None:
            self.shared = Broker(self, "kafka")
        return self.shared

    def side(self, side, section):
        """The answers of one side to a section's steps; None for preparations."""
        broker = self.kafka_broker() if section.broker == "kafka" else Broker(self, section.broker, section.settings)
        self.count += 1
        x = f"x{random.randrange(36**5):05x}"[:6].ljust(6, "z")
        d = f"{self.tmp}/d{self.count:04d}"
        os.mkdir(d)
        data = (broker.dir or "/nowhere") + "/data"
        env = dict(os.environ, PATH=self.bins[side] + ":" + os.environ["PATH"], B=broker.address, X=x, D=d, DATA=data, BDIR=broker.dir or "/nowhere", F=FILES, KAFKA_OPTS=JVM, LC_ALL="C.UTF-8", TZ="UTC")
        env.pop("KAFKA_LIBS_LOG", None)
        own = [(re.escape(FILES), "<files>"), (re.escape(data), "<data>"), (re.escape(d), "<dir>"), (re.escape(x), "<x>")]
        if broker.dir:
            own.insert(1, (re.escape(broker.dir), "<broker>"))
        if section.broker != "none":
            own.append((r"\b" + broker.address.rsplit(":", 1)[1] + r"\b", "<port>"))
        answers = []
        try:
            for step in section.steps:
                out, err, code = self.line(step.line, env, d)
                if step.kind == "+":
                    if code:
                        print(f"preparation fails ({side}, exit {code}): {step.line}\n{out}{err}")
                    answers.append(None)
                    continue
                masks = own + step.masks + GENERAL
                answers.append(render(masked(out, masks, step.kind), masked(err, masks, step.kind), code))
        finally:
            if broker is not self.shared:
                broker.stop()
            shutil.rmtree(d, ignore_errors=True)
            if broker is not self.shared and broker.dir:
                shutil.rmtree(broker.dir, ignore_errors=True)
        return answers

    def line(self, line, env, d):
        p = subprocess.Popen(["bash", "-c", line], env=env, cwd=d, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
        try:
            out, err = p.communicate(timeout=LIMIT)
            return out.decode("utf-8", "backslashreplace"), err.decode("utf-8", "backslashreplace"), p.returncode
        except subprocess.TimeoutExpired:
            os.killpg(p.pid, signal.SIGKILL)
            out, err = p.communicate()
            return out.decode("utf-8", "backslashreplace"), err.decode("utf-8", "backslashreplace"), "timeout"


def masked(text, masks, kind):
    for regex, to in masks:
        text = re.sub(regex, to, text, flags=re.M)
    end = text.endswith("\n")
    lines = [line for line in text.split("\n") if not LOGGER.match(line)]
    if end:
        lines.pop()
    if kind == "~":
        lines.sort()
    return lines if lines != [""] else []


def render(out, err, code):
    """An answer as the lines of a golden file."""
    return ["  " + line for line in out] + ["! " + line for line in err] + [f"exit {code}"]


def golden_name(name):
    return f"{HERE}/golden/{name}.txt"


def write_golden(name, sections, answers):
    with open(golden_name(name), "w") as f:
        f.write(f"# What Apache Kafka 4.4.0 answers to ../{name}.txt; written by scripts/commands record.\n")
        for section, of in zip(sections, answers):
            for step, answer in zip(section.steps, of):
                if answer is not None:
                    f.write(f"\n$ {step.line}\n" + "\n".join(answer) + "\n")


def read_golden(name):
    """The answers to each line, in order of the file."""
    answers, now = {}, None
    try:
        with open(golden_name(name)) as f:
            lines = f.read().split("\n")
    except FileNotFoundError:
        return answers
    for line in lines:
        if line.startswith("$ "):
            now = []
            answers.setdefault(line[2:], []).append(now)
        elif line.startswith("exit ") and now is not None:
            now.append(line)
            now = None
        elif now is not None:
            now.append(line)
    return answers


def main():
    mode, kaja, kafka, tmp, *names = sys.argv[1:]
    verbose = "-v" in names
    names = [n for n in names if n != "-v"] or sorted(f[:-4] for f in os.listdir(HERE) if f.endswith(".txt"))
    run = Run(kaja, kafka, tmp)
    passed = failed = left = errors = 0
    try:
        for name in names:
            sections = read(f"{HERE}/{name}.txt")
            golden = read_golden(name) if mode == "kaja" else {}
            recorded = []
            before = (passed, failed)
            for section in sections:
                compared = [s for s in section.steps if s.kind != "+"]
                if mode == "kaja" and section.broker == "kafka" and not os.environ.get("KAFKA_BOOTSTRAP"):
                    left += len(compared)
                    continue
                theirs = run.side("theirs", section) if mode != "kaja" else [None if s.kind == "+" else (golden.get(s.line) or [None]).pop(0) for s in section.steps]
                if mode == "record":
                    recorded.append(theirs)
                    passed += len(compared)
                    errors += sum(1 for a in theirs if a and a[-1] != "exit 0")
                    continue
                ours = run.side("ours", section)
                for step, want, got in zip(section.steps, theirs, ours):
                    if step.kind == "+":
                        continue
                    errors += bool(want) and want[-1] != "exit 0"
                    if want == got:
                        passed += 1
                    else:
                        failed += 1
                        print(f"FAIL {name}: {step.line}")
                        if want is None:
                            print("    no answer of 4.4.0 is recorded")
                        else:
                            print("\n".join("    " + d for d in difflib.unified_diff(want, got, "4.4.0", "kaja", lineterm="")))
                    if verbose:
                        print(f"$ {step.line}\n" + "\n".join(got))
            if mode == "record":
                write_golden(name, sections, recorded)
            print(f"{name}: {passed - before[0]} passed, {failed - before[1]} failed", flush=True)
    finally:
        if run.shared:
            run.shared.stop()
    if left:
        print(f"{left} lines need Apache Kafka and are left out (KAFKA_BOOTSTRAP)")
    print(f"{errors} of the lines end in an error")
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed or not passed else 0)


main()

# SPDX-License-Identifier: Apache-2.0
"""The tests, how each is run, and which lines of src/ each runs: what decides which of them can see a change.

A test is a program of tests/programs.txt (one of long duration: each of its tests), the golden cases on one instruction set or device, the
session suite on a cluster, or a file of tests/python."""
import bisect, concurrent.futures, glob, hashlib, os, pickle, re, shutil, subprocess, sys, time
from mutation import points

LONG = 2.0     # seconds from which on a program's tests are run one by one
LIMIT = 8      # how much longer than on the unchanged tree, and more seconds, a test may take
CALL = re.compile(r"^\s*([0-9a-f]+):\s+call\S*\s+\S+ <__sanitizer_cov_trace_pc>")
INSTRUCTION = re.compile(r"^\s*([0-9a-f]+):\s")
PLACE = re.compile(r"^(/?\S*?)(src/\S+):(\d+)(?: \(discriminator \d+\))?$")


class Test:
    def __init__(self, name, command, env=None):
        self.name, self.command, self.env = name, command, env or {}
        self.seconds, self.lines = 0.0, set() # on the unchanged build

    def words(self, build, library):
        return [w.replace("@LIB@", library).replace("@BUILD@", build.folder) for w in self.command]

    def is_program(self):
        return self.command[0].startswith("@BUILD@")

    def run(self, build, library, work, limit, extra=None):
        """Returns what ended it (0: well), the seconds it took and its output."""
        folder = os.path.join(work, re.sub(r"\W", "_", self.name))
        os.makedirs(folder, exist_ok=True)
        env = {**os.environ, **self.env, **build.env, **(extra or {}), "LD_LIBRARY_PATH": library,
               "HEADRACE_GRPC": os.path.join(library, "libheadrace_grpc.so")}
        command = ["timeout", "-k", "2", "%.1f" % limit] + self.words(build, library)
        start = time.monotonic()
        with open(os.path.join(folder, "output.txt"), "w+b") as out:
            code = subprocess.run(command, cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=out).returncode
            out.seek(0)
            return code, time.monotonic() - start, out.read().decode(errors="replace")


def golden_tests(build, run_tests):
    cases = run_tests.unpack_golden(os.path.join(build.folder, "golden"))
    command = ["@BUILD@/tests/golden/golden_test", "--quiet", "--cases", cases,
               "--known", os.path.join(build.tree, "tests/golden/known_differences.txt")]
    device = ["--device-library", "@BUILD@/tests/device/test_device.so", "--device"]
    for name, more, env in (("best", [], {}), ("sse2", [], {"HEADRACE_ISA": "sse2"}), ("avx2", [], {"HEADRACE_ISA": "avx2"}),
                            ("test device", device + ["/device:TEST:0"], {}),
                            ("mixed devices", device + ["/device:TEST:0,/device:CPU:1,/device:TEST:1,/device:CPU:0"], {})):
        yield Test("golden (%s)" % name, command + more + ["@LIB@/libheadrace.so"], env)


def every(build):
    sys.path.insert(0, os.path.join(build.tree, "tests"))
    import run_tests
    with open(os.path.join(build.folder, "tests/programs.txt")) as f:
        for path in f.read().split():
            yield Test(path, ["@BUILD@/tests/" + path])
    yield from golden_tests(build, run_tests)
    for name, command in run_tests.fuzz_commands("@BUILD@"):
        yield Test("fuzz/" + name, command)
    yield Test("in-process cluster", ["@BUILD@/tests/capi/session_suite_test", "in-process"])
    yield Test("clusters of processes", [build.python, os.path.join(build.tree, "tools/mutation/clusters.py"), "@BUILD@", "@LIB@"])
    env = {"PYTHONPATH": os.path.join(build.folder, "python"), "HEADRACE_BUILD": build.folder}
    for path in sorted(glob.glob(os.path.join(build.tree, "tests/python/**/*_test.py"), recursive=True)):
        yield Test(os.path.relpath(path, os.path.join(build.tree, "tests")),
                   [build.python, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "--tb=short", path], env)


class Blocks:
    """What the offsets of a traced library are: the lines of each block."""

    def __init__(self, path):
        self.starts, self.lines = [], []
        place, call_place, wants_offset, lines = None, None, False, set()
        p = subprocess.Popen(["objdump", "-d", "-l", "--no-show-raw-insn", path], stdout=subprocess.PIPE, text=True, errors="replace")
        for text in p.stdout:
            m = PLACE.match(text.rstrip())
            if m:
                place = (m.group(2), int(m.group(3)))
                continue
            m = INSTRUCTION.match(text)
            if not m:
                if text[0] in "/." or text.startswith("build/"):
                    place = None
                continue
            if wants_offset:
                self.starts.append(int(m.group(1), 16))
                lines = set()
                self.lines.append(lines)
                wants_offset = False
                if call_place:
                    lines.add(call_place)
            if CALL.match(text):
                wants_offset, call_place = True, place
            elif place:
                lines.add(place)
        p.wait()

    def ran(self, path):
        """The lines of the blocks that a trace marks."""
        out = set()
        with open(path, "rb") as f:
            for m in re.finditer(rb"[^\0]", f.read()):
                k = bisect.bisect_left(self.starts, m.start())
                if k < len(self.starts) and self.starts[k] == m.start():
                    out |= self.lines[k]
        return out


def digest(paths):
    h = hashlib.sha256()
    for path in sorted(paths):
        with open(path, "rb") as f:
            h.update(path.encode() + f.read())
    return h.hexdigest()


class Map:
    """The tests of an unchanged build and the lines each of them runs."""

    def __init__(self, build, jobs):
        self.build, self.jobs, self.tests, self.bad = build, jobs, [], []
        self.store, self.kept = os.path.join(build.folder, "tests.pickle"), {}
        self.blocks = {}                  # traced library -> Blocks
        self.lines = {}                   # (path, line) -> the tests that run it, as bits
        self.known = set()                # lines that have code

    def measure(self, say):
        core = digest(os.path.join(self.build.folder, p) for p in self.build.parts)
        try:
            with open(self.store, "rb") as f:
                old = pickle.load(f)
        except (OSError, EOFError):
            old = {}
        old = old if old.get("core") == core else {"core": core, "tests": {}}
        for part in self.build.parts:
            self.blocks[os.path.basename(part)] = Blocks(os.path.join(self.build.folder, part))
        self.known = {line for b in self.blocks.values() for lines in b.lines for line in lines}
        with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
            for results in pool.map(lambda test: self.one(test, old["tests"]), list(every(self.build))):
                for test, lines, good, output in results:
                    if good:
                        self.add(test, lines)
                    else:
                        self.bad.append(test.name)
                        say("fails without a change: %s\n%s" % (test.name, output[-1500:]))
        with open(self.store, "wb") as f:
            pickle.dump({"core": core, "tests": self.kept}, f)

    def one(self, test, old):
        """The test measured, or its parts: [(test, lines, good, output)]."""
        files = [w for w in test.words(self.build, "") if os.path.isfile(w)]
        if "golden" in test.name or test.name.startswith("ops/"):
            files.append(os.path.join(self.build.tree, "tests/golden/ops.tar.xz"))
        key = (test.name, digest(files))
        rows = old.get(key)
        if not rows:
            rows = [self.trace(test)]
            parts = re.findall(r"^(\w+) ok$", rows[0][3], re.M)
            if rows[0][2] and rows[0][0].seconds > LONG and len(parts) > 1 and len(test.command) == 1:
                rows = [self.trace(Test("%s %s" % (test.name, part), test.command + [part])) for part in parts]
        if all(good for _, _, good, _ in rows):
            self.kept[key] = rows
        return rows

    def trace(self, test):
        folder = os.path.join(self.build.folder, "trace", re.sub(r"\W", "_", test.name))
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        library = os.path.join(self.build.folder, "lib")
        code, test.seconds, output = test.run(self.build, library, os.path.join(self.build.folder, "work"), 600, {"HEADRACE_TRACE": folder})
        lines = set()
        for name in os.listdir(folder):
            if name[:-len(".ran")] in self.blocks:
                lines |= self.blocks[name[:-len(".ran")]].ran(os.path.join(folder, name))
        shutil.rmtree(folder)
        return test, lines, code == 0, output

    def add(self, test, lines):
        test.lines = lines
        bit = 1 << len(self.tests)
        self.tests.append(test)
        for line in lines:
            self.lines[line] = self.lines.get(line, 0) | bit

    def of_bits(self, bits):
        return [t for k, t in enumerate(self.tests) if bits >> k & 1]

    def of_lines(self, path, numbers):
        bits = 0
        for n in numbers:
            bits |= self.lines.get((path, n), 0)
        return bits

    def of_file(self, path):
        """The tests that run anything of the file, or, when it holds no code, of what includes it."""
        lines = [n for p, n in self.known if p == path]
        if lines:
            return self.of_lines(path, lines)
        bits = 0
        for name in self.build.measured(path):
            source = next((p for p in self.build.objects if name in self.build.objects[p] and p.endswith(".c")), None)
            bits |= self.of_lines(source, [n for p, n in self.known if p == source]) if source else 0
        return bits

    def of_point(self, point):
        """The tests that can see the change: those that run its line, or, where the line holds no code of its own, its statement; for a
        table, a macro or a constant, those that run a line that names it, or anything of the file; for the definition of an op also
        those that read all definitions, which runs no line of its file."""
        lines = point.text.split("\n")
        first, last, is_code = points.definition(lines, point.line)
        if is_code and any((point.path, n) in self.known for n in range(first, last + 1)):
            at = next((n for n in range(point.line, first - 1, -1) if (point.path, n) in self.known), None)
            return self.of_lines(point.path, [at]) if at else self.of_lines(point.path, range(first, last + 1))
        head = lines[point.line - 1] if lines[first - 1].startswith(("enum", "#")) else lines[first - 1]
        names = set(re.findall(r"\b[A-Za-z_]\w{2,}\b", head))
        names -= {"static", "const", "enum", "define", "int", "char", "typedef", "struct", "bool", "void"}
        bits = 0
        for n, text in enumerate(lines, 1):
            if not first <= n <= last and names & set(re.findall(r"\b[A-Za-z_]\w{2,}\b", text)):
                bits |= self.lines.get((point.path, n), 0)
        readers = sum(1 << k for k, t in enumerate(self.tests) if t.name.startswith("ops/definitions_test"))
        return (bits or self.of_file(point.path)) | (readers if point.path.startswith("src/ops/") else 0)

    def in_order(self, bits, path):
        """Those most likely to fail for their time first: short ones that run much of the file."""
        def rank(test):
            return (test.seconds + 0.02) / (1 + sum(p == path for p, _ in test.lines))
        return sorted(self.of_bits(bits), key=rank)

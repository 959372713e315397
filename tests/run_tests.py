#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds and runs the test suites, one line each, and ends with "N passed, N failed" (non-zero exit on any failure, or on none run).

A suite is a generator of (name, passed, failed, output) from a context; a program that crashes, hangs or does not build counts as failed.
"""
import argparse, concurrent.futures, contextlib, glob, json, os, re, signal, socket, subprocess, sys, tarfile, time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
COUNTS = re.compile(r"^(?:.*[,:] )?(\d+) passed, (\d+) failed$", re.M)


def run(command, timeout, cwd, env=None):
    """Returns (exit code or text of what ended it, output)."""
    p = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=cwd,
                         env={**os.environ, **(env or {})}, start_new_session=True)
    try:
        output = p.communicate(timeout=timeout)[0]
    except subprocess.TimeoutExpired:
        os.killpg(p.pid, signal.SIGKILL)
        output = p.communicate()[0]
        return "stopped after %d s" % timeout, output.decode(errors="replace")
    code = p.returncode if p.returncode >= 0 else "ended by " + signal.Signals(-p.returncode).name
    return code, output.decode(errors="replace")


def counted(name, code, output):
    """Turns a harness program's end into a result; what it says about itself is believed only if it ended as it says."""
    counts = COUNTS.findall(output)
    passed, failed = (int(n) for n in counts[-1]) if counts else (0, 0)
    if code != 0 and not failed:
        failed, output = 1, output + "%s: %s\n" % (name, code if isinstance(code, str) else "exit status %d" % code)
    return name, passed, failed, output


def build(c):
    code, output = run(["cmake", "--build", c.build, "--", "-k", "0"], 3600, ROOT)
    code2, output2 = run(["cmake", "--build", c.build, "--target", "tests", "--", "-k", "0"], 3600, ROOT)
    bad = [l[:300] for l in (output + output2).splitlines() if re.search(r"error:|FAILED|undefined|multiple definition", l) and not l.startswith(": && ")]
    if code or code2:
        yield "build", 0, 1, "\n".join(bad[:80]) + "\nthe build failed: what runs below may be older\n"


def programs(c):
    with open(os.path.join(c.build, "tests", "programs.txt")) as f:
        paths = [p for p in f.read().split() if not c.folders or any(p.startswith(x + "/") for x in c.folders)]
    work = os.path.join(c.build, "tests", "work")
    unpack_golden(os.path.join(c.build, "golden")) # inputs of tests/ops

    def one(path):
        exe, cwd = os.path.join(c.build, "tests", path), os.path.join(work, path)
        if not os.path.exists(exe):
            return path, 0, 1, "%s was not built\n" % path
        os.makedirs(cwd, exist_ok=True)
        return counted(path, *run([exe], 1200 if c.slow else 300, cwd))

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        yield from pool.map(one, paths)


def fuzz_commands(build):
    """Of every fuzz target: its name and how it is run on its seeds and on 2000 changed copies of them; no seeds, no command."""
    for source in sorted(glob.glob(os.path.join(ROOT, "tests/fuzz/*_fuzz.c"))):
        stem = os.path.basename(source)[:-2]
        folders = [os.path.join(ROOT, "tests/fuzz", kind, stem[:-len("_fuzz")], "*") for kind in ("seeds", "corpus")]
        seeds = sorted(path for folder in folders for path in glob.glob(folder))
        yield stem, [os.path.join(build, "tests/fuzz", stem), "-n", "2000"] + seeds if seeds else None


def fuzz_seeds(c):
    """Every fuzz target on its seeds and on changed copies of them, the same ones every time (make fuzz searches for more)."""
    for stem, command in fuzz_commands(c.build):
        if not command or not os.path.exists(command[0]):
            yield stem, 0, 1, "%s: %s\n" % (stem, "was not built" if command else "no seeds")
            continue
        if not c.slow:
            command[2] = "20000"
        code, output = run(command, 300, c.build)
        yield stem, int(code == 0), int(code != 0), "%s: %s\n%s" % (stem, code, output)


def unpack_golden(folder):
    """Unpacks the golden cases below folder unless they are there; returns the folder of the cases."""
    archive = os.path.join(ROOT, "tests/golden/ops.tar.xz")
    os.makedirs(folder, exist_ok=True)
    stamp, want = os.path.join(folder, "unpacked"), str(os.path.getmtime(archive))
    if not os.path.exists(stamp) or open(stamp).read() != want:
        with tarfile.open(archive) as tar:
            tar.extractall(folder)
        with open(stamp, "w") as f:
            f.write(want)
    return os.path.join(folder, "ops")


def golden(c):
    exe, folder = os.path.join(c.build, "tests/golden/golden_test"), os.path.join(c.build, "golden")
    cases = unpack_golden(folder)
    for isa in c.isas:
        command = [exe, "--fork", "-j", str(os.cpu_count()), "--cases", cases, "--known",
                   os.path.join(ROOT, "tests/golden/known_differences.txt"), "--summary", os.path.join(folder, "summary-%s.tsv" % isa)]
        for op in c.ops.split():
            command += ["--op", op]
        env = {"HEADRACE_ISA": "" if isa == "best" else isa}
        yield counted("golden (%s)" % isa, *run(command + [os.path.join(c.build, "lib/libheadrace.so")], 3600 if c.slow else 900, folder, env))
    yield from golden_on_devices(c, command, folder, env)


def golden_on_devices(c, command, folder, env):
    """The same cases with their nodes on a device whose memory the host cannot read, and in turn on two of them and two CPUs."""
    for name, devices in (("test device", "/device:TEST:0"),
                          ("mixed devices", "/device:TEST:0,/device:CPU:1,/device:TEST:1,/device:CPU:0")):
        more = ["--device-library", os.path.join(c.build, "tests/device/test_device.so"), "--device", devices, "--summary",
                os.path.join(folder, "summary-%s.tsv" % name.replace(" ", "-"))]
        yield counted("golden (%s)" % name, *run(command + more + [os.path.join(c.build, "lib/libheadrace.so")], 3600 if c.slow else 900, folder, env))


def python(c):
    folder = os.path.join(ROOT, "tests/python")
    if not os.path.isdir(folder):
        return
    env = {"PYTHONPATH": os.path.abspath(os.path.join(c.build, "python")), "HEADRACE_BUILD": os.path.abspath(c.build)}
    code, output = run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=short", folder], 900, ROOT, env)
    found = {k: int(n) for n, k in re.findall(r"(\d+) (passed|failed|error)", output.strip().rsplit("\n", 1)[-1])}
    failed = found.get("failed", 0) + found.get("error", 0)
    yield "python", found.get("passed", 0), failed or (1 if code else 0), output


def free_ports(n):
    sockets = [socket.socket() for _ in range(n)]
    for s in sockets:
        s.bind(("127.0.0.1", 0))
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


@contextlib.contextmanager
def servers(c, tasks):
    """So many tasks of a job "worker" as processes; gives the target of the first."""
    ports, folder = free_ports(tasks), os.path.join(c.build, "cluster")
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "cluster-%d.json" % tasks)
    with open(path, "w") as f:
        json.dump({"worker": ["127.0.0.1:%d" % p for p in ports]}, f)
    command = [os.path.join(c.build, "bin/headrace"), "server", "--cluster", path, "--root", folder, "--job", "worker", "--task"]
    log = open(os.path.join(folder, "servers.log"), "ab")
    started = [subprocess.Popen(command + [str(i)], stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=folder) for i in range(tasks)]
    try:
        yield "grpc://127.0.0.1:%d" % ports[0]
    finally:
        for p in started:
            p.kill()
            p.wait()
        log.close()


def cluster(c):
    """Sessions on clusters: the conformance suite, the golden cases through a server, faults for a short while."""
    suite = os.path.join(c.build, "tests/capi/session_suite_test")
    yield counted("in-process cluster", *run([suite, "in-process"], 300, c.build))
    for tasks, near in ((1, "1"), (3, "1"), (3, "0")):
        os.environ["HEADRACE_NEAR"] = near
        with servers(c, tasks) as target:
            name = "cluster of %d%s" % (tasks, "" if near == "1" else " over gRPC")
            yield counted(name, *run([suite, "--target", target], 300, c.build))
    del os.environ["HEADRACE_NEAR"]
    folder = os.path.join(c.build, "golden")
    config, known = os.path.join(c.build, "cluster", "isolated.pb"), os.path.join(c.build, "cluster", "known.txt")
    with open(known, "w") as out:
        for name in ("known_differences.txt", "known_differences_server.txt"):
            with open(os.path.join(ROOT, "tests/golden", name)) as f:
                out.write(f.read())
    with open(config, "wb") as f:
        f.write(b"\x78\x01")  # ConfigProto.isolate_session_state: cases share names
    with servers(c, 1) as target:
        command = [os.path.join(c.build, "tests/golden/golden_test"), "--fork", "-j", str(os.cpu_count()), "--quiet", "--no-gradients",
                   "--cases", unpack_golden(folder), "--known", known, "--config", config,
                   "--target", target, os.path.join(c.build, "lib/libheadrace.so")]
        yield counted("golden through a server", *run(command, 900, folder))
    chaos = [sys.executable, os.path.join(ROOT, "tests/chaos/chaos.py"), "--build", c.build, "--seconds", "60", "--faults"]
    yield counted("chaos", *run(chaos + ["12"], 300, c.build))
    yield counted("chaos among near tasks", *run(chaos + ["6", "--direct"], 300, c.build))


def with_free_ports(text):
    """The text with ports that nobody listens on in place of 2222 and its neighbours."""
    sockets = {port: socket.create_server(("127.0.0.1", 0)) for port in set(re.findall(r"\b222\d\b", text))}
    for port, s in sockets.items():
        text = re.sub(r"\b%s\b" % port, str(s.getsockname()[1]), text)
    for s in sockets.values():
        s.close()
    return text


def example(c, work, path, language):
    lib, bins = os.path.abspath(os.path.join(c.build, "lib")), [os.path.abspath(os.path.join(c.build, "bin")), os.path.dirname(sys.executable)]
    env = {"PYTHONPATH": os.path.abspath(os.path.join(c.build, "python")), "PATH": ":".join(bins + [os.environ["PATH"]])}
    if language == "python":
        return run([sys.executable, path], 60, work, env)
    if language == "sh": # what it left in the background would hold its output open
        return run(["bash", "-e", "-c", "trap 'kill $(jobs -p) 2>/dev/null || :' EXIT; . %s" % path], 60, work, env)
    exe = path[:-2]
    code, output = run([os.environ.get("CC", "cc"), "-std=c11", "-Wall", "-Werror", "-I" + os.path.join(ROOT, "include"), path, "-o", exe,
                        "-L" + lib, "-lheadrace", "-lm", "-Wl,-rpath," + lib], 60, work)
    return run([exe], 60, work) if code == 0 else (code, output)


def examples(c):
    """The code blocks of README.md and docs/*.md that say ```c, ```python or ```sh run as they stand there, those of a page in order, in a folder
    of the page's own."""
    pages = [p for p in ["README.md"] + ["docs/" + n for n in sorted(os.listdir(os.path.join(ROOT, "docs")))] if p.endswith(".md")]
    for page in pages:
        stem = page.replace("/", "_").replace(".md", "")
        work = os.path.join(os.path.abspath(c.build), "examples", stem)
        os.makedirs(work, exist_ok=True)
        with open(os.path.join(ROOT, page)) as f:
            blocks = re.findall(r"^```(c|python|sh)\n(.*?)^```$", f.read(), re.M | re.S)
        for k, (language, text) in enumerate(blocks):
            if language == "c" and "int main(" not in text:
                continue # a fragment
            name = "%s-%d" % (stem, k)
            path = os.path.join(work, name + {"c": ".c", "python": ".py", "sh": ".sh"}[language])
            with open(path, "w") as f:
                f.write(with_free_ports(text))
            code, output = example(c, work, path, language)
            yield name, int(code == 0), int(code != 0), output


def install(c):
    """An embedder's view: cmake --install, then a program built through pkg-config, through find_package, and on TensorFlow's names."""
    stage, source = os.path.join(c.build, "stage"), os.path.join(ROOT, "tests/install")
    code, output = run(["cmake", "--install", c.build, "--prefix", stage, "--strip"], 120, ROOT)
    if code:
        yield "cmake --install", 0, 1, output
        return
    found = [w for w, _, names in os.walk(stage) if "headrace.pc" in names]
    env = {"PKG_CONFIG_PATH": ":".join(found), "LD_LIBRARY_PATH": os.path.dirname(found[0]) if found else "", "CMAKE_PREFIX_PATH": stage}
    lib, cc = env["LD_LIBRARY_PATH"], os.environ.get("CC", "cc")
    exe = os.path.join(stage, "consumer")
    shims = "-l:libtensorflow.so.2 -l:libtensorflow_framework.so.2"
    for name, command in (
            ("pkg-config", "%s -std=c11 -Wall -Werror %s/consumer.c -o %s $(pkg-config --cflags --libs headrace)" % (cc, source, exe)),
            ("find_package", "cmake -S %s -B %s/consumer-cmake && cmake --build %s/consumer-cmake && cp %s/consumer-cmake/consumer %s" %
             (source, stage, stage, stage, exe)),
            ("libtensorflow.so.2", "%s %s/consumer.c -o %s -I%s/include -L%s %s" % (cc, source, exe, stage, lib, shims))):
        if os.path.exists(exe):
            os.remove(exe)
        code, output = run(["sh", "-c", command], 120, stage, env)
        if code == 0:
            code, output = run([exe], 60, stage, env)
        yield name, int(code == 0), int(code != 0), output
    size = os.path.getsize(os.path.join(lib, "libheadrace.so"))
    yield "size", int(size < 6 << 20), int(size >= 6 << 20), "libheadrace.so, stripped, has %d bytes; the bound is 6 MiB\n" % size


SUITES = {"build": build, "programs": programs, "fuzz_seeds": fuzz_seeds, "golden": golden, "python": python, "cluster": cluster, "examples": examples, "install": install}


def main():
    a = argparse.ArgumentParser(description=__doc__)
    a.add_argument("--build", required=True)
    a.add_argument("--only", default="", help="suites, comma-separated: " + ", ".join(SUITES))
    a.add_argument("--folders", default="", help="of programs: only those below tests/FOLDER, comma-separated")
    a.add_argument("--ops", default="", help="of golden cases: these ops")
    a.add_argument("--isas", default="", help="golden cases run once per name: best, sse2, avx2, avx512")
    a.add_argument("--no-build", action="store_true", help="what is built is what is run")
    a.add_argument("--slow", action="store_true", help="a sanitizer's build: longer limits")
    c = a.parse_args()
    c.build, c.folders = os.path.abspath(c.build), [f for f in c.folders.split(",") if f]
    c.isas = [i for i in c.isas.split(",") if i] or (["best"] if c.slow else ["best", "sse2", "avx2"])
    chosen = ([] if c.no_build else ["build"]) + [s for s in c.only.split(",") if s] if c.only else [s for s in SUITES if s != "build" or not c.no_build]
    total_passed = total_failed = 0
    for suite in chosen:
        start, passed, failed = time.monotonic(), 0, 0
        try:
            for name, good, bad, output in SUITES[suite](c):
                passed, failed = passed + good, failed + bad
                if bad:
                    print("---- %s\n%s" % (name, output if len(output) < 20000 else output[:8000] + "\n...\n" + output[-8000:]), flush=True)
        except OSError as e:
            failed += 1
            print("---- %s: %s" % (suite, e))
        if passed or failed or suite == "build":
            print("%-10s %6d passed %5d failed %7.1f s" % (suite, passed, failed, time.monotonic() - start), flush=True)
        total_passed, total_failed = total_passed + passed, total_failed + failed
    print("%d passed, %d failed" % (total_passed, total_failed))
    return 1 if total_failed or not total_passed else 0


if __name__ == "__main__":
    sys.exit(main())

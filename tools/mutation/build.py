# SPDX-License-Identifier: Apache-2.0
"""The build of the unchanged tree, and what one changed file costs in it: its compilations and one link, beside the build.

A worker has a folder of its own: src/ with the changed file, lib/ with links to all libraries of the build but the changed one. What runs
with lib/ as LD_LIBRARY_PATH runs the change."""
import collections, json, os, re, shlex, shutil, subprocess

CORE = "lib/libheadrace_core.so"
PARTS = [CORE, "lib/libheadrace_dnn.so", "lib/libheadrace_grpc.so", "lib/libheadrace_cli.so"]
PLAIN = ["-DCMAKE_BUILD_TYPE=Mutants", "-DCMAKE_C_FLAGS_MUTANTS=-O1 -g1"]
SANITIZED = ["-DHEADRACE_SANITIZE=address,undefined", "-DHEADRACE_DNN=OFF"] # as `make asan` has it
SANITIZED_ENV = {"ASAN_OPTIONS": "detect_odr_violation=0"} # a program and the library of the measured build both hold the manifest


def quiet(command, cwd=None):
    return subprocess.run(command, cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace")


class Build:
    def __init__(self, tree, folder, python, options=PLAIN, env=None):
        self.tree, self.folder, self.python, self.options, self.env = tree, folder, python, options, env or {}
        self.lib = os.path.join(folder, "lib")
        self.commands = {}                                # object -> its command
        self.objects = collections.defaultdict(set)       # source or header, from the tree -> objects
        self.parts = []                                   # the libraries that can change
        self.links = {}                                   # library -> its command
        self.part_of = {}                                 # object -> library

    def make(self):
        """Returns what went wrong, or None."""
        linker = ["-DCMAKE_%s_LINKER_FLAGS=-fuse-ld=lld" % k for k in ("EXE", "SHARED", "MODULE")] if shutil.which("ld.lld") else []
        p = quiet(["cmake", "-G", "Ninja", "-S", self.tree, "-B", self.folder, "-DHEADRACE_MUTANTS=ON", "-DHEADRACE_WERROR=OFF",
                   "-DHEADRACE_PYTHON=" + self.python] + self.options + linker)
        p = p if p.returncode else quiet(["ninja", "-C", self.folder, "all", "tests"])
        if p.returncode:
            return p.stdout[-4000:]
        self.read()
        return None

    def ask(self, *arguments):
        return subprocess.check_output(["ninja", "-C", self.folder, "-t", *arguments], text=True)

    def read(self):
        with open(os.path.join(self.folder, "compile_commands.json")) as f:
            for row in json.load(f):
                command = shlex.split(row["command"])
                self.commands[command[command.index("-o") + 1]] = command
        for block in self.ask("deps").split("\n\n"):
            lines = block.split("\n")
            target = lines[0].split(":")[0]
            for line in lines[1:]:
                path = os.path.relpath(os.path.join(self.folder, line.strip()), self.tree)
                if path.startswith("src/") and target in self.commands:
                    self.objects[path].add(target)
        self.parts = [p for p in PARTS if os.path.exists(os.path.join(self.folder, p))]
        for part in self.parts:
            command = self.ask("commands", "-s", part).strip()
            words = [w for w in shlex.split(command) if w not in (":", "&&")]
            self.links[part] = words + ["-Wl,-S"]
            for word in words:
                if word in self.commands:
                    self.part_of[word] = part

    def measured(self, path):
        """The objects of the libraries that are made of this file."""
        return sorted(o for o in self.objects.get(path, ()) if o in self.part_of)


def compile_command(build, object_name, worker, path, output, optimize):
    drop, words = {"-MD"}, []
    given = iter(build.commands[object_name])
    for word in given:
        if word in ("-MT", "-MF", "-o"):
            next(given)
        elif word not in drop and not word.startswith(("-fsanitize-coverage", "-g1", "-O")):
            words.append(word)
    source = os.path.join(build.tree, path)
    words = [os.path.join(worker, path) if w == source else w for w in words]
    at = 1 + next(k for k, w in enumerate(words) if re.search(r"(^|/)(\w+-)*(cc|gcc|clang)(-\d+)?$", w))
    return words[:at] + ["-I", os.path.join(worker, "src"), "-ffile-prefix-map=%s/=" % worker] + words[at:] + [optimize, "-w", "-o", output]


class Worker:
    """Where one change at a time is built."""

    def __init__(self, build, number):
        self.build, self.folder = build, "%s-worker-%d" % (build.folder, number)
        self.lib = os.path.join(self.folder, "lib")
        shutil.rmtree(self.folder, ignore_errors=True)
        os.makedirs(self.lib)
        os.makedirs(os.path.join(self.folder, "work"))
        self.part = None
        for name in os.listdir(os.path.join(build.folder, "lib")):
            os.symlink(os.path.join(build.folder, "lib", name), os.path.join(self.lib, name))

    def write(self, path, text):
        shutil.rmtree(os.path.join(self.folder, "src"), ignore_errors=True)
        os.makedirs(os.path.dirname(os.path.join(self.folder, path)))
        with open(os.path.join(self.folder, path), "w") as f:
            f.write(text)

    def compile(self, path, text, suffix, optimize):
        """The objects of the file with this text: {object in the build: path}; None if one does not compile."""
        self.write(path, text)
        made = {}
        for k, name in enumerate(self.build.measured(path)):
            made[name] = os.path.join(self.folder, "%d%s.o" % (k, suffix))
            command = compile_command(self.build, name, self.folder, path, made[name], optimize)
            if quiet(command, self.build.folder).returncode:
                return None
        return made

    def restore(self):
        if self.part:
            path = os.path.join(self.folder, self.part)
            os.remove(path)
            os.symlink(os.path.join(self.build.folder, self.part), path)
            self.part = None

    def apply(self, point):
        """Puts the change into lib/; false if it does not build."""
        self.restore()
        made = self.compile(point.path, point.changed(), "", "-O1")
        if not made:
            return False
        part = self.build.part_of[next(iter(made))]
        target = os.path.join(self.folder, part)
        os.remove(target)
        self.part = part
        words = [target if w == part else made.get(w, w) for w in self.build.links[part]]
        p = quiet(words, self.build.folder)
        if p.returncode:
            os.symlink(os.path.join(self.build.folder, part), target)
            self.part = None
        return p.returncode == 0

    def is_same_code(self, point):
        """Whether an optimizing compiler makes the same of the changed file: then no test can tell."""
        before = self.compile(point.path, point.text, "a", "-O2")
        after = self.compile(point.path, point.changed(), "b", "-O2")
        if not before or not after:
            return False
        for name in before:
            with open(before[name], "rb") as f, open(after[name], "rb") as g:
                if f.read() != g.read():
                    return False
        return True

# SPDX-License-Identifier: Apache-2.0
"""Builds the wheel for `pip install .` (PEP 517): CMake builds and lays out the package, this packs it. No package beyond numpy is needed.

HEADRACE_BUILD_DIR names a configured build folder to use; without it build/wheel-<tag> is made, for the interpreter that runs this."""
import base64, hashlib, os, shutil, subprocess, sys, sysconfig, tempfile, zipfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TAG = "cp%d%d" % sys.version_info[:2]


def get_requires_for_build_wheel(config_settings=None):
    return [tool for tool in ("cmake", "ninja") if not shutil.which(tool)]


def project():
    """The few plain strings and lists of pyproject.toml's table `project` (no TOML reader before Python 3.11)."""
    facts, inside = {}, False
    with open(os.path.join(ROOT, "pyproject.toml")) as f:
        for line in f:
            inside = line.strip() == "[project]" if line.startswith("[") else inside
            if inside and " = " in line:
                key, value = line.split(" = ", 1)
                facts[key] = eval(value, {"__builtins__": {}})
    return facts


def metadata(facts):
    lines = ["Metadata-Version: 2.1", "Name: " + facts["name"], "Version: " + facts["version"], "Summary: " + facts["description"],
             "License: " + facts["license"], "Requires-Python: " + facts["requires-python"]]
    return "\n".join(lines + ["Requires-Dist: " + d for d in facts["dependencies"]]) + "\n"


def build(prefix):
    folder = os.environ.get("HEADRACE_BUILD_DIR") or os.path.join(ROOT, "build", "wheel-" + TAG)
    if not os.path.exists(os.path.join(folder, "build.ninja")):
        subprocess.check_call(["cmake", "-G", "Ninja", "-S", ROOT, "-B", folder, "-DHEADRACE_PYTHON=" + sys.executable, "-DHEADRACE_TESTS=OFF"])
    subprocess.check_call(["cmake", "--build", folder])
    subprocess.check_call(["cmake", "--install", folder, "--component", "python", "--prefix", prefix, "--strip"], stdout=subprocess.DEVNULL)


def package_files(prefix):
    """(name in the wheel, path). A wheel holds no links: a library goes in once, under its link's name (its SONAME)."""
    for folder, _, names in os.walk(prefix):
        linked = {os.readlink(os.path.join(folder, n)) for n in names if os.path.islink(os.path.join(folder, n))}
        for name in sorted(set(names) - linked):
            path = os.path.join(folder, name)
            yield os.path.relpath(path, prefix), path


def write_info(add, facts):
    tag = "%s-%s-%s" % (TAG, TAG, sysconfig.get_platform().replace("-", "_").replace(".", "_"))
    info = "%s-%s.dist-info/" % (facts["name"], facts["version"])
    add(info + "METADATA", metadata(facts).encode())
    add(info + "WHEEL", ("Wheel-Version: 1.0\nGenerator: headrace\nRoot-Is-Purelib: false\nTag: %s\n" % tag).encode())
    return info, tag


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    def add(path, data):
        os.makedirs(os.path.dirname(os.path.join(metadata_directory, path)), exist_ok=True)
        with open(os.path.join(metadata_directory, path), "wb") as f:
            f.write(data)
    return write_info(add, project())[0].rstrip("/")


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    partial, record = os.path.join(wheel_directory, "headrace.partial"), []
    with tempfile.TemporaryDirectory() as prefix, zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED) as wheel:
        build(prefix)

        def add(path, data, mode=0o644):
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            record.append("%s,sha256=%s,%d" % (path, digest, len(data)))
            entry = zipfile.ZipInfo(path)
            entry.external_attr = mode << 16  # the command must stay executable
            wheel.writestr(entry, data, zipfile.ZIP_DEFLATED)

        for path, source in package_files(prefix):
            with open(source, "rb") as f:
                add(path, f.read(), os.stat(source).st_mode)
        info, tag = write_info(add, project())
        wheel.writestr(info + "RECORD", "\n".join(record + [info + "RECORD,,"]) + "\n")
    name = "%s-%s.whl" % (info[:-len(".dist-info/")], tag)
    os.replace(partial, os.path.join(wheel_directory, name))
    return name


def build_sdist(sdist_directory, config_settings=None):
    stem = "%s-%s" % (project()["name"], project()["version"])
    name = stem + ".tar.gz"
    subprocess.check_call(["git", "-C", ROOT, "archive", "--prefix", stem + "/", "-o", os.path.abspath(os.path.join(sdist_directory, name)), "HEAD"])
    return name

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares with TensorFlow (make conformance TF_PYTHON=...): the golden runner on TensorFlow's own library, values and errors of every
packed case. What fails there is a fault of the runner or of a case, so that a failure on ours means what it says. Ends with
"N passed, N failed"."""
import argparse, os, subprocess, sys, tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [os.path.join(ROOT, "bench"), os.path.join(ROOT, "tests")]
import run as bench
import run_tests

# ConfigProto: one intra-op and one inter-op thread, optimizers off, as when the answers were computed.
CONFIG = bytes.fromhex("1001280152121a0b18ffffffffffffffffff015203980101")


def main():
    a = argparse.ArgumentParser(description=__doc__)
    a.add_argument("--build", required=True)
    a.add_argument("--python", required=True)
    a.add_argument("--tf-python", default="")
    a = a.parse_args()
    libraries = bench.tensorflow_libraries(a.tf_python) if a.tf_python else None
    if not libraries:
        print("no TensorFlow to compare with: make a virtual environment with PyPI's tensorflow-cpu==2.21.* and give TF_PYTHON=its/bin/python")
        return 1
    build = os.path.abspath(a.build)
    subprocess.check_call(["cmake", "--build", build, "--target", "golden_test"])
    with tempfile.TemporaryDirectory() as work:
        config = os.path.join(work, "config.pb")
        with open(config, "wb") as f:
            f.write(CONFIG)
        cases = run_tests.unpack_golden(os.path.join(build, "golden"))
        command = [os.path.join(build, "tests/golden/golden_test"), "--cases", cases, "--config", config, "--no-gradients", "--quiet", "--fork",
                   "-j", str(os.cpu_count())] + libraries
        env = {**os.environ, "TF_ENABLE_ONEDNN_OPTS": "0", "TF_CPP_MIN_LOG_LEVEL": "3"}
        return subprocess.run(command, cwd=work, env=env, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL).returncode


if __name__ == "__main__":
    sys.exit(main())

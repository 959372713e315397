# SPDX-License-Identifier: Apache-2.0
"""The private names that libheadrace.so lets the Python extension use are those that it does use."""
import os
import re
import subprocess

from headrace import _headrace

REPOSITORY = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))


def test_exports_are_what_the_extension_needs():
    symbols = subprocess.check_output(["nm", "-D", "--undefined-only", _headrace.__file__], text=True)
    used = set(re.findall(r"\b(hr_\w+)", symbols))
    with open(os.path.join(REPOSITORY, "src", "capi", "exports.map")) as f:
        listed = set(re.findall(r"\b(hr_\w+);", f.read().split("HEADRACE_PYTHON_0 {")[1]))
    assert used and sorted(used - listed) == [] and sorted(listed - used) == []

# SPDX-License-Identifier: Apache-2.0
"""Results of the library against those that TensorFlow recorded (library_values.json)."""
import json
import os

import numpy as np
import pytest

import headrace as tf
import library_values as values

with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "library_values.json")) as f:
    EXPECTED = json.load(f)


@pytest.mark.parametrize("name", sorted(values.PROGRAMS))
def test_values(name):
    found = values.results(tf, values.PROGRAMS[name])
    assert len(found) == len(EXPECTED[name])
    for k, (mine, theirs) in enumerate(zip(found, EXPECTED[name])):
        wanted = np.array(theirs["values"]).reshape(theirs["shape"])
        assert list(mine.shape) == theirs["shape"], "result %d" % k
        if name in values.EXACT:
            np.testing.assert_array_equal(mine.astype(np.float64), wanted, "result %d" % k)
        else:
            np.testing.assert_allclose(mine, wanted, 2e-5, 2e-6, err_msg="result %d" % k)


def test_every_program_is_recorded():
    assert sorted(EXPECTED) == sorted(values.PROGRAMS)

# SPDX-License-Identifier: Apache-2.0
"""Names, ops and inputs of nodes as TensorFlow makes them: initial random values and checkpoints depend on it."""
import json
import os

import pytest

import headrace as tf
from graph_programs import PROGRAMS, nodes

with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "graph_names.json")) as f:
    EXPECTED = json.load(f)


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_nodes(name):
    assert nodes(tf, PROGRAMS[name]) == EXPECTED[name]


def test_every_program_is_recorded():
    assert sorted(EXPECTED) == sorted(PROGRAMS)

# SPDX-License-Identifier: Apache-2.0
"""Nodes that the library makes against those that TensorFlow recorded (library_nodes.json)."""
import json
import os

import pytest

import headrace as tf
import library_nodes

with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "library_nodes.json")) as f:
    EXPECTED = json.load(f)


@pytest.mark.parametrize("name", sorted(library_nodes.PROGRAMS))
def test_nodes(name):
    found = library_nodes.listed(tf, library_nodes.PROGRAMS[name])
    names, wanted = [n[1] for n in found], [n[1] for n in EXPECTED[name]]
    assert names == wanted
    assert found == EXPECTED[name]


def test_every_program_is_recorded():
    assert sorted(EXPECTED) == sorted(library_nodes.PROGRAMS)

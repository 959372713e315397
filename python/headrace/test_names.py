# SPDX-License-Identifier: Apache-2.0
"""tf.test: unittest cases with a session at hand."""
import unittest

import numpy as np

main = unittest.main


class TestCase(unittest.TestCase):
    """A case with a fresh default graph for each test, sessions, and comparisons of arrays."""

    def setUp(self):
        from headrace.graph import reset_default_graph
        reset_default_graph()
        self._temporary = None

    def get_temp_dir(self):
        if self._temporary is None:
            import tempfile
            self._temporary = tempfile.mkdtemp()
        return self._temporary

    def session(self, graph=None, config=None, use_gpu=False, force_gpu=False):
        from headrace.session import Session
        return Session(graph=graph, config=config)

    test_session = cached_session = session

    def evaluate(self, tensors):
        from headrace.session import get_default_session
        return get_default_session().run(tensors)

    def assertAllClose(self, a, b, rtol=1e-6, atol=1e-6, msg=None):
        np.testing.assert_allclose(a, b, rtol, atol, err_msg=msg or "")

    def assertAllEqual(self, a, b, msg=None):
        np.testing.assert_array_equal(a, b, err_msg=msg or "")

    def assertAllCloseAccordingToType(self, a, b, rtol=1e-6, atol=1e-6):
        half = any(np.asarray(x).dtype == np.float16 for x in (a, b))
        np.testing.assert_allclose(a, b, 1e-3 if half else rtol, 1e-3 if half else atol)

    def assertShapeEqual(self, array, tensor):
        self.assertEqual(list(np.shape(array)), tensor.shape.as_list())


def is_gpu_available(*unused, **kwargs):
    return False


def is_built_with_cuda():
    return False


def gpu_device_name():
    return ""


def get_temp_dir():
    import tempfile
    return tempfile.gettempdir()

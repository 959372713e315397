# SPDX-License-Identifier: Apache-2.0
"""tf.examples: what tutorials import beside TensorFlow itself."""
from . import tutorials  # noqa: F401

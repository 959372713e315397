# SPDX-License-Identifier: Apache-2.0
"""What tutorials import as tensorflow.examples.tutorials.mnist."""
from . import input_data  # noqa: F401

# SPDX-License-Identifier: Apache-2.0
from . import mnist  # noqa: F401

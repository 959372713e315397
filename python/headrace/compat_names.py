# SPDX-License-Identifier: Apache-2.0
"""tf.compat, and the switches of TensorFlow 2 that ask for what is the only way here: they do nothing, or say so."""
import numbers

import numpy as np

bytes_or_text_types, integral_types = (bytes, str), (numbers.Integral, np.integer)
real_types, complex_types = (numbers.Real, np.integer, np.floating), (numbers.Complex, np.number)


def _nothing(*args, **kwargs):
    return None


disable_v2_behavior = disable_eager_execution = disable_resource_variables = disable_control_flow_v2 = disable_tensor_equality = _nothing
disable_v2_tensorshape = disable_mixed_precision_graph_rewrite = _nothing


def _refuse(what):
    def refuse(*args, **kwargs):
        raise NotImplementedError("%s: graphs and sessions are the only way here" % what)
    return refuse


enable_v2_behavior, enable_eager_execution = _refuse("enable_v2_behavior"), _refuse("enable_eager_execution")
enable_tensor_equality, enable_v2_tensorshape = _refuse("enable_tensor_equality"), _refuse("enable_v2_tensorshape")
enable_control_flow_v2 = _refuse("enable_control_flow_v2")


def enable_resource_variables():
    from headrace import variable_scope
    variable_scope.set_resource_default(True)


def resource_variables_enabled():
    from headrace import variable_scope
    return variable_scope.resource_default()


def control_flow_v2_enabled():
    return False


def get_logger():
    from headrace import logging
    return logging.get_logger()


def as_bytes(value, encoding="utf-8"):
    if isinstance(value, bytearray):
        return bytes(value)
    if isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return value.encode(encoding)
    raise TypeError("Expected binary or unicode string, got %r" % (value,))


def as_text(value, encoding="utf-8"):
    if isinstance(value, str):
        return value
    if isinstance(value, bytes):
        return value.decode(encoding)
    raise TypeError("Expected binary or unicode string, got %r" % (value,))


def as_str_any(value, encoding="utf-8"):
    return as_text(value, encoding) if isinstance(value, bytes) else str(value)


def path_to_str(path):
    return as_str_any(path.__fspath__()) if hasattr(path, "__fspath__") else path


def forward_compatible(year, month, day):
    return True


def dimension_at_index(shape, index):
    from headrace.tensor_shape import Dimension
    return Dimension(None) if shape.rank is None else shape.dims[index]


def __getattr__(name):
    if name == "v1":
        import headrace
        return headrace
    raise AttributeError(name)

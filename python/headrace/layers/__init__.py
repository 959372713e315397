# SPDX-License-Identifier: Apache-2.0
"""tf.layers: layers as objects (Dense...) and as functions (dense...), with TensorFlow 1's variable and node names.

base.py is the scopes and variables of any layer; core.py, convolutional.py and normalization.py the layers."""

_NAMES = {
    "base": "Layer InputSpec",
    "core": "Dense Dropout Flatten dense dropout flatten",
    "convolutional": "Conv1D Conv2D Conv2DTranspose MaxPooling1D MaxPooling2D AveragePooling1D AveragePooling2D Convolution2D=Conv2D conv1d conv2d conv2d_transpose "
                     "separable_conv2d max_pooling1d max_pooling2d average_pooling1d average_pooling2d",
    "normalization": "BatchNormalization batch_normalization",
}


def __getattr__(name):
    if not name.startswith("__"):
        from importlib import import_module
        for module, names in _NAMES.items():
            row = dict(item.partition("=")[::2] for item in names.split())
            if name in row:
                globals()[name] = found = getattr(import_module("." + module, __name__), row[name] or name)
                return found
    raise AttributeError("module 'tensorflow.layers' has no attribute %r in headrace" % name)

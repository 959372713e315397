# SPDX-License-Identifier: Apache-2.0
"""Scripts that import TensorFlow's inner modules run under `python -m headrace`."""
import subprocess
import sys

SCRIPT = """
import tensorflow as tf
from tensorflow.python.client import device_lib, timeline
from tensorflow.python.framework import dtypes, graph_util, ops
from tensorflow.python.ops import array_ops, control_flow_ops, math_ops, variable_scope as vs
from tensorflow.python.ops.rnn_cell_impl import LSTMStateTuple
from tensorflow.python.util import nest
from tensorflow.python.platform import gfile, tf_logging
from tensorflow.python.training.moving_averages import assign_moving_average
import tensorflow.python.ops.nn_ops as nn_ops
with ops.name_scope("a"):
    y = nn_ops.relu(math_ops.cast(array_ops.concat([tf.placeholder_with_default([1], [1]), [-2]], 0), dtypes.float32))
_, taken = control_flow_ops.switch(y, tf.constant(True))
metadata = tf.RunMetadata()
with tf.Session() as session:
    print(session.run(taken, options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), run_metadata=metadata), y.name)
assert "CPU:0 Compute" in timeline.Timeline(metadata.step_stats).generate_chrome_trace_format()
print([d.name for d in device_lib.list_local_devices()], nest.flatten([1, (2,)]), LSTMStateTuple(1, 2).h)
try:
    from tensorflow.python.ops.array_ops import no_such_function
except ImportError as e:
    print("refused")
"""


def test_inner_modules(tmp_path):
    path = str(tmp_path / "script.py")
    with open(path, "w") as f:
        f.write(SCRIPT)
    done = subprocess.run([sys.executable, "-m", "headrace", path], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["[1. 0.] a/Relu:0", "['/device:CPU:0'] [1, 2] 2", "refused"]

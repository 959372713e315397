# SPDX-License-Identifier: Apache-2.0
"""What surrounds graphs: lazy import, `python -m headrace`, flags, files, nests, frozen graphs, libraries of ops."""
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest

import headrace as tf

REPOSITORY = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))


def python(code, *args):
    p = subprocess.run([sys.executable, "-c", code] + list(args), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60)
    return p.stdout


def test_import_is_lean():
    out = python("import headrace as tf, sys\n"
                 "with tf.Session() as s: s.run(tf.constant(1.0) + 2.0)\n"
                 "print([m for m in sys.modules if m.startswith('google') or m in ('headrace.protos', 'headrace.nn', 'headrace.gradients')])")
    assert out == "[]\n"


def test_names_stay_functions():
    import headrace.device
    import headrace.gradients
    import headrace.math
    import headrace.random
    assert callable(tf.gradients) and callable(tf.device) and callable(tf.math.log) and callable(tf.random.normal)
    assert "reduce_mean" in dir(tf) and "placeholder" in dir(tf)
    with pytest.raises(AttributeError):
        tf.no_such_name
    with pytest.raises(AttributeError):
        tf.math.no_such_name


def test_script_with_tensorflow_in_it(tmp_path):
    (tmp_path / "beside.py").write_text("VALUE = 4\n")
    script = tmp_path / "script.py"
    script.write_text("import sys\nimport beside\nimport tensorflow as tf\nimport tensorflow.compat.v1 as tf1\nfrom tensorflow.compat import v1\n"
                      "from tensorflow import nn\n"
                      "tf1.disable_v2_behavior()\n"
                      "tf.app.flags.DEFINE_integer('steps', 1, 'how many')\n"
                      "tf.app.flags.DEFINE_bool('fast', True, 'whether')\n"
                      "def main(rest):\n"
                      "  f = tf.app.flags.FLAGS\n"
                      "  with v1.Session() as s:\n"
                      "    print(s.run(nn.relu([-1.0, 2.0]) * beside.VALUE).tolist(), f.steps, f.fast, rest[1:], __name__, tf.__version__.startswith('1.'))\n"
                      "if __name__ == '__main__': tf.app.run()\n")
    out = subprocess.run([sys.executable, "-m", "headrace", str(script), "--steps=7", "--nofast", "more"], stdout=subprocess.PIPE, text=True, timeout=60)
    assert out.stdout == "[0.0, 8.0] 7 False ['more'] __main__ True\n" and out.returncode == 0


def test_script_that_fails(tmp_path):
    """The traceback begins in the script; a script that is not there is one line."""
    script = tmp_path / "script.py"
    script.write_text("import tensorflow as tf\ntf.Session().run(tf.placeholder(tf.float32))\n")
    out = subprocess.run([sys.executable, "-m", "headrace", str(script)], stderr=subprocess.PIPE, text=True, timeout=60)
    lines = out.stderr.splitlines()
    assert out.returncode == 1 and lines[0].startswith("Traceback") and lines[1] == '  File "%s", line 2, in <module>' % script
    assert "runpy" not in out.stderr and "You must feed a value" in lines[-1]
    out = subprocess.run([sys.executable, "-m", "headrace", str(tmp_path / "none.py")], stderr=subprocess.PIPE, text=True, timeout=60)
    assert out.returncode == 2 and out.stderr.splitlines() == ["python -m headrace: no file %s" % (tmp_path / "none.py")]


def test_names_in_messages():
    for f in (tf.reduce_mean, tf.zeros, tf.square):
        with pytest.raises(TypeError, match=r"^%s\(\) got an unexpected keyword" % f.__name__):
            f([1.0], no_such=1)
    assert tf.reduce_mean.__name__ == "reduce_mean"
    with tf.Graph().as_default():
        x, w = tf.ones([1, 4, 4, 3]), tf.ones([2, 2, 3, 3])
        with pytest.raises(ValueError, match='"same" is not in the list of allowed values: "SAME"'):  # layers take it, operations do not
            tf.nn.conv2d(x, w, [1, 1, 1, 1], "same")
        with pytest.raises(TypeError, match="needs a value for attr 'padding'"):
            tf.nn.conv2d(x, w, [1, 1, 1, 1])
        assert tf.layers.conv2d(x, 3, 2, padding="same").shape.as_list() == [1, 4, 4, 3]
    assert not hasattr(tf, "no_such_module") and not hasattr(tf.io, "NoSuchWriter")


def test_flags():
    code = ("import headrace as tf, sys\n"
            "F = tf.flags\n"
            "F.DEFINE_string('s', 'x', ''); F.DEFINE_float('f', 0.5, ''); F.DEFINE_list('l', 'a,b', ''); F.DEFINE_enum('e', None, ['p', 'q'], '')\n"
            "try:\n  tf.app.run(lambda rest: print(F.FLAGS.s, F.FLAGS.f, F.FLAGS.l, F.FLAGS.e))\n"
            "except SystemExit as e: print('exit', e.code)\n")
    assert python(code, "--s", "y", "--f=2", "--e=q") == "y 2.0 ['a', 'b'] q\nexit None\n"
    assert "exit 1" in python(code, "--f=abc")


def test_gfile(tmp_path):
    path = str(tmp_path / "a" / "b.txt")
    tf.gfile.MakeDirs(os.path.dirname(path))
    with tf.gfile.GFile(path, "w") as f:
        f.write("one\ntwo\n")
    assert tf.gfile.Exists(path) and tf.gfile.GFile(path).read() == "one\ntwo\n" and tf.gfile.FastGFile(path, "rb").read() == b"one\ntwo\n"
    assert list(tf.gfile.Open(path)) == ["one\n", "two\n"] and tf.gfile.ListDirectory(str(tmp_path)) == ["a"]
    tf.gfile.Copy(path, path + "2")
    assert tf.gfile.Glob(path + "*") == [path, path + "2"]
    with pytest.raises(tf.errors.AlreadyExistsError):
        tf.gfile.Copy(path, path + "2")
    with pytest.raises(tf.errors.NotFoundError):
        tf.gfile.GFile(path + "3").read()
    tf.gfile.DeleteRecursively(str(tmp_path / "a"))
    assert not tf.io.gfile.exists(path)


def test_nest():
    s = {"b": [1, (2, 3)], "a": 4}
    assert tf.nest.flatten(s) == [4, 1, 2, 3] and tf.nest.map_structure(lambda v: v * 2, s) == {"b": [2, (4, 6)], "a": 8}
    with pytest.raises(ValueError):
        tf.nest.assert_same_structure([1, 2], [1, [2]])


def test_errors_are_classes_by_code():
    e = tf.errors.NotFoundError(None, None, "gone")
    assert e.error_code == tf.errors.NOT_FOUND == 5 and e.message == "gone" and isinstance(e, tf.errors.OpError) and str(e) == "gone"
    assert tf.errors.exception_type_from_error_code(11) is tf.errors.OutOfRangeError


def test_frozen_graph():
    with tf.Graph().as_default() as g:
        x = tf.placeholder(tf.float32, [2], name="x")
        v = tf.Variable([3.0, 4.0], name="v")
        tf.multiply(x, v, name="y")
        with tf.Session() as s:
            s.run(tf.global_variables_initializer())
            frozen = tf.graph_util.convert_variables_to_constants(s, g.as_graph_def(), ["y"])
    assert sorted(n.op for n in frozen.node) == ["Const", "Identity", "Mul", "Placeholder"]
    with tf.Graph().as_default():
        y, = tf.import_graph_def(frozen, return_elements=["y:0"], name="")
        with tf.Session() as s:
            assert s.run(y, {"x:0": [1, 2]}).tolist() == [3, 8]


LIBRARY = r"""
#include <string.h>
#include "tensorflow/c/c_api.h"
#include "tensorflow/c/kernels.h"
#include "tensorflow/c/ops.h"
#include "tensorflow/c/tf_tensor.h"
static void* make(TF_OpKernelConstruction* c) { (void)c; return NULL; }
static void drop(void* k) { (void)k; }
static void compute(void* k, TF_OpKernelContext* c) {
  TF_Status* s = TF_NewStatus();
  TF_Tensor *in = NULL, *out;
  (void)k;
  TF_GetInput(c, 0, &in, s);
  int64_t dim = TF_Dim(in, 0);
  out = TF_AllocateOutput(c, 0, TF_FLOAT, &dim, 1, (size_t)dim * 4, s);
  for (int64_t i = 0; i < dim; ++i) ((float*)TF_TensorData(out))[i] = 3 * ((float*)TF_TensorData(in))[i];
  TF_DeleteTensor(in);
  TF_DeleteTensor(out);
  TF_DeleteStatus(s);
}
__attribute__((constructor)) static void add(void) {
  TF_Status* s = TF_NewStatus();
  TF_OpDefinitionBuilder* b = TF_NewOpDefinitionBuilder("PyTestTriple");
  TF_OpDefinitionBuilderAddInput(b, "x: float");
  TF_OpDefinitionBuilderAddOutput(b, "y: float");
  TF_RegisterOpDefinition(b, s);
  TF_KernelBuilder* k = TF_NewKernelBuilder("PyTestTriple", "CPU", make, compute, drop);
  TF_RegisterKernelBuilder("PyTestTriple", k, s);
  TF_DeleteStatus(s);
}
"""


def _library_folder():
    with open("/proc/self/maps") as f:
        return next(os.path.dirname(line.split()[-1]) for line in f if "libheadrace.so" in line)


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_library_of_ops(tmp_path):
    (tmp_path / "op.c").write_text(LIBRARY)
    out = str(tmp_path / "op.so")
    lib = next(os.path.join(_library_folder(), n) for n in sorted(os.listdir(_library_folder())) if n.startswith("libheadrace.so"))
    include = os.path.join(REPOSITORY, "include")
    subprocess.run(["cc", "-shared", "-fPIC", "-I", include, str(tmp_path / "op.c"), "-o", out, "-Wl,--no-as-needed", lib], check=True)
    module = tf.load_op_library(out)
    assert [o.name for o in module.OP_LIST.op] == ["PyTestTriple"]
    with tf.Graph().as_default():
        y = module.py_test_triple(tf.constant([1.0, 2.0]), name="t")
        assert y.op.type == "PyTestTriple" and y.name == "t:0" and tf.raw_ops.PyTestTriple(x=y).op.name == "PyTestTriple"
        with tf.Session() as s:
            np.testing.assert_array_equal(s.run(y), [3, 6])
    with pytest.raises(tf.errors.NotFoundError):
        tf.load_op_library(str(tmp_path / "none.so"))


def test_queue():
    with tf.Graph().as_default():
        q = tf.FIFOQueue(3, [tf.float32, tf.int32], [[2], []], name="q")
        put = q.enqueue(([1.0, 2.0], 7))
        many = q.enqueue_many([[[3.0, 4.0], [5.0, 6.0]], [8, 9]])
        v, n = q.dequeue()
        assert v.shape == [2] and n.shape == [] and put.name == "q_enqueue" and v.op.name == "q_Dequeue"
        with tf.Session() as s:
            s.run(put), s.run(many)
            assert s.run(q.size()) == 3
            assert [s.run(n) for _ in range(2)] == [7, 8]
            s.run(q.close())
            assert s.run([v, n])[0].tolist() == [5, 6]
            with pytest.raises(tf.errors.OutOfRangeError):
                s.run(n)
    with pytest.raises(ValueError):
        q.enqueue([1])

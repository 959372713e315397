# SPDX-License-Identifier: Apache-2.0
"""Functions made in Python: calls, captures, gradients, what GraphDefs carry. Expected values are TensorFlow 2.21's."""
import unittest

import headrace as tf
from headrace import function


class FunctionTest(unittest.TestCase):

    def run_in(self, graph, fetches, feed=None):
        with tf.Session(graph=graph) as session:
            return session.run(fetches, feed)

    def test_calls_are_operations_of_the_functions_name(self):
        @function.Defun(tf.float32, tf.float32)
        def both(x, y):
            return x * y + 1.0, tf.reduce_sum(x)

        @function.Defun(tf.float32, func_name="Cube")
        def cube(x):
            return x * x * x

        @function.Defun(tf.float32)
        def outer(x):
            return cube(x) + 1.0
        graph = tf.Graph()
        with graph.as_default():
            x = tf.placeholder(tf.float32, [], name="x")
            a, b = both(x, 3.0)
            c, d = cube(x, name="c"), outer(x)
        self.assertEqual(c.op.type, "Cube")
        self.assertEqual(c.op.name, "c")
        self.assertTrue(a.op.type.startswith("both_"))
        self.assertEqual(self.run_in(graph, [a, b, c, d], {x: 2.0}), [7.0, 2.0, 8.0, 9.0])
        self.assertIn("Cube", [f.signature.name for f in graph.as_graph_def().library.function])

    def test_what_lies_around_is_captured_once(self):
        graph = tf.Graph()
        with graph.as_default():
            around = tf.constant(5.0, name="around")

            @function.Defun(tf.float32)
            def add(x):
                return x + around * 2.0 + around
            y = add(tf.constant(1.0))
        self.assertEqual(add.captured_inputs, [around])
        self.assertEqual(len(y.op.inputs), 2)
        self.assertEqual(self.run_in(graph, y), 16.0)

    def test_gradients_of_the_body_and_of_the_functions_own(self):
        @function.Defun(tf.float32, tf.float32, func_name="SevenTimes")
        def seven_times(x, dy):
            return dy * 7.0

        @function.Defun(tf.float32, grad_func=seven_times)
        def own(x):
            return tf.exp(x)

        @function.Defun(tf.float32, python_grad_func=lambda op, dy: dy * 9.0, func_name="PythonsOwn")
        def pythons_own(x):
            return tf.exp(x)

        @function.Defun(tf.float32)
        def square(x):
            return x * x
        graph = tf.Graph()
        with graph.as_default():
            x = tf.placeholder(tf.float32, [])
            grads = [tf.gradients(f(x), x)[0] for f in (own, pythons_own, square)]
        self.assertEqual(self.run_in(graph, grads, {x: 3.0}), [7.0, 9.0, 6.0])

    def test_libraries_come_with_graph_defs(self):
        @function.Defun(tf.float32, func_name="Twice")
        def twice(x):
            return x + x
        graph, other = tf.Graph(), tf.Graph()
        with graph.as_default():
            twice(tf.placeholder(tf.float32, [], name="x"), name="y")
        with other.as_default():
            x, y = tf.import_graph_def(graph.as_graph_def(), return_elements=["x:0", "y:0"], name="")
        self.assertEqual(self.run_in(other, y, {x: 4.0}), 8.0)

    def test_a_function_may_call_itself(self):
        again = function.Declare("Countdown", [("n", tf.float32)], [("out", tf.float32)])

        @function.Defun(tf.float32, func_name="Countdown", out_names=["out"])
        def countdown(n):
            return tf.cond(n > 0.0, lambda: again(n - 1.0) + 1.0, lambda: n)
        graph = tf.Graph()
        with graph.as_default():
            n = tf.placeholder(tf.float32, [])
            y = countdown(n)
        self.assertEqual(self.run_in(graph, y, {n: 6.0}), 6.0)

    def test_gradients_in_loops_and_branches(self):
        @function.Defun(tf.float32, tf.float32, shape_func=lambda op: [tf.TensorShape([])])
        def step(x, w):
            return tf.sin(x) * w + 0.5
        graph = tf.Graph()
        with graph.as_default():
            x, w = tf.constant(0.3), tf.constant(1.7)
            _, y = tf.while_loop(lambda i, y: i < 4, lambda i, y: (i + 1, step(y, w)), [0, x])
            z = tf.cond(x > 0.0, lambda: step(x, w), lambda: x)
            wanted = [y, z] + tf.gradients(y, [x, w]) + tf.gradients(z, [x, w])
        got = self.run_in(graph, wanted)
        for a, b in zip(got, [1.976058, 1.0023844, 0.7543814, 0.64458406, 1.6240721, 0.29552022]):
            self.assertAlmostEqual(float(a), b, places=5)

    def test_a_variable_read_in_a_loop_by_a_function(self):
        graph = tf.Graph()
        with graph.as_default():
            v = tf.Variable(1.7, use_resource=True)

            @function.Defun(tf.float32, shape_func=lambda op: [tf.TensorShape([])])
            def step(x):
                return tf.sin(x) * v.read_value() + 0.5
            x = tf.constant(0.3)
            _, y = tf.while_loop(lambda i, y: i < 4, lambda i, y: (i + 1, step(y)), [0, x])
            grads = tf.gradients(y, [x, v])
            with tf.Session(graph=graph) as session:
                session.run(tf.global_variables_initializer())
                got = session.run([y] + grads)
        for a, b in zip(got, [1.976058, 0.7543814, 0.64458406]):
            self.assertAlmostEqual(float(a), b, places=5)

    def test_mistakes(self):
        with self.assertRaises(ValueError):
            function.Defun(tf.float32)(lambda a, b: a)
        twice = function.Defun(tf.float32)(lambda x: x + x)
        with tf.Graph().as_default():
            with self.assertRaises(ValueError):
                twice(1.0, 2.0)

    def test_bodies_that_return_too_much_are_named(self):
        @function.Defun(tf.float32, tf.float32)
        def cond(n, x):
            return n > 0.0

        @function.Defun(tf.float32, tf.float32)
        def two_verdicts(n, x):
            return n > 0.0, x

        @function.Defun(tf.float32, tf.float32)
        def body(n, x):
            return n - 1.0, x + n

        @function.Defun(tf.float32, tf.float32)
        def long_body(n, x):
            return n - 1.0, x + n, x

        @function.Defun(tf.int32, tf.float32)
        def turn(i, x):
            return x + tf.cast(i, tf.float32)

        @function.Defun(tf.int32, tf.float32)
        def long_turn(i, x):
            return x, x

        @function.Defun(tf.float32, tf.float32, tf.float32)
        def two_gradients(x, dy, dz):
            return x, dy + dz

        @function.Defun(tf.float32, grad_func=two_gradients)
        def both(x):
            return x, x

        def named(f):
            f.add_to_graph(tf.get_default_graph())
            return tf.NameAttrList(name=f.name)

        def while_(c, b):
            return tf.raw_ops.While(input=[tf.constant(5.0), tf.constant(0.0)], cond=named(c), body=named(b))[0]

        def for_(b, start=0, delta=1):
            return tf.raw_ops.For(start=tf.placeholder_with_default(start, None), limit=10, delta=delta, input=[tf.constant(0.0)],
                                  body=named(b))[0]
        for build, error in ((lambda: while_(two_verdicts, body), "Expected a single scalar.*got 2 tensors"),
                             (lambda: while_(cond, long_body), "While loop body returned 3 arguments. Expected: 2"),
                             (lambda: for_(long_turn), "For loop body returned 2 arguments. Expected: 1"),
                             (lambda: for_(turn, delta=-1), "Invalid start/limit/delta: 0 10 -1"),
                             (lambda: for_(turn, start=[0]), "start must be a scalar")):
            with tf.Graph().as_default(), tf.Session() as session:
                with self.assertRaisesRegex(tf.errors.InvalidArgumentError, error):
                    session.run(build())
        with tf.Graph().as_default(), tf.Session() as session:
            self.assertEqual(session.run([while_(cond, body), for_(turn)]), [0.0, 45.0])
            one = tf.constant(1.0)
            gradient = tf.raw_ops.SymbolicGradient(input=[one, one, one], Tout=[tf.float32], f=named(both))
            with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "SymGrad expects to return 1.*but get 2.*instead"):
                session.run(gradient)


if __name__ == "__main__":
    unittest.main()

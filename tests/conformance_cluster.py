#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Clusters of mixed make: make conformance TF_PYTHON=/path/to/a/python/with/tensorflow

Client, worker (also the master) and parameter server are each TensorFlow's or ours, all eight ways, as processes on this machine's loopback
interface. Each trains a softmax regression and a small network; the losses must be those of TensorFlow alone. Then our own processes: a killed
parameter server, a stopped one, a master that goes."""
import argparse
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time

# What a client runs: `python client.py TARGET` ("" : a session in this process); prints one line of JSON.
CLIENT = '''
import json, sys
import numpy as np
if sys.argv[2] == "tf":
    import tensorflow.compat.v1 as tf
    tf.disable_v2_behavior()
else:
    import headrace as tf
target = sys.argv[1]
PS, WORKER = ("/job:ps/task:0", "/job:worker/task:0") if target else ("", "")
r = np.random.RandomState(7)
images, labels = r.rand(256, 20).astype(np.float32), r.randint(0, 5, 256).astype(np.int32)

def variable(name, shape):
    with tf.device(PS):
        return tf.get_variable(name, initializer=(r.rand(*shape).astype(np.float32) - 0.5) * 0.2, use_resource=name.endswith("r"))

def losses(session, loss, train, x, y, steps=25):
    out = []
    for i in range(steps):
        at = i * 32 % 256
        out.append(float(session.run([loss, train], {x: images[at:at + 32], y: labels[at:at + 32]})[0]))
    return out

result = {}
for name in ["softmax", "network"]:
    with tf.Graph().as_default(), tf.variable_scope(name + "_of_" + sys.argv[2]): # clients of one cluster share what has one name
        x, y = tf.placeholder(tf.float32, [None, 20]), tf.placeholder(tf.int32, [None])
        with tf.device(WORKER):
            h, last = x, 20
            if name == "network":
                h, last = tf.nn.relu(tf.matmul(x, variable("w1r", [20, 30])) + variable("b1", [30])), 30
            logits = tf.matmul(h, variable("w2", [last, 5])) + variable("b2r", [5])
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
            optimizer = tf.train.MomentumOptimizer(0.2, 0.9) if name == "network" else tf.train.GradientDescentOptimizer(0.5)
            train = optimizer.minimize(loss)
        with tf.Session(target) as session:
            session.run(tf.global_variables_initializer())
            result[name] = losses(session, loss, train, x, y)
with tf.Graph().as_default():
    with tf.device(PS):
        words, table = tf.constant(["a", "bc", ""]), tf.constant(np.arange(40, dtype=np.float32).reshape(20, 2))
    with tf.device(WORKER):
        joined = tf.string_join([words, words], "-")
        ids = tf.placeholder(tf.int64, [None])
        total = tf.reduce_sum(tf.gather(table, ids))
        def body(i, v):
            with tf.device(PS):
                v = v * 2.0
            return i + 1, v
        loop = tf.while_loop(lambda i, v: i < 5, body, [tf.constant(0), tf.constant(1.0)])
    with tf.Session(target) as session:
        result["strings"] = [s.decode() for s in session.run(joined)]
        result["gather"] = float(session.run(total, {ids: [3, 5]}))
        result["loop"] = float(session.run(loop[1]))
        try:
            session.run(tf.floordiv(tf.constant(1), tf.placeholder_with_default(tf.constant(0), [])))
        except tf.errors.InvalidArgumentError:
            result["error"] = "InvalidArgument"
print(json.dumps(result))
'''

TF_SERVER = '''
import json, sys
import tensorflow.compat.v1 as tf
s = tf.train.Server(tf.train.ClusterSpec(json.load(open(sys.argv[1]))), job_name=sys.argv[2], task_index=0)
print("serves", flush=True)
s.join()
'''

# One step that waits for ever on the parameter server; says how it ended, and when.
WAITER = '''
import sys, time
import headrace as tf
with tf.device("/job:ps/task:0"):
    q = tf.FIFOQueue(1, [tf.float32], shared_name="q")
    got = q.dequeue()
with tf.device("/job:worker/task:0"):
    out = got + 1.0
session = tf.Session(sys.argv[1])
session.run(tf.constant(1.0))
print("waits", flush=True)
t = time.time()
try:
    session.run(out)
except tf.errors.OpError as e:
    print(type(e).__name__, "/job:ps/replica:0/task:0" in str(e), flush=True)
t = time.time()
try:
    session.close()
except tf.errors.OpError:
    pass
print("%.3f" % (time.time() - t), flush=True)
'''


def free_port():
    s = socket.socket()
    s.bind(("127.0.0.1", 0))
    port = s.getsockname()[1]
    s.close()
    return port


class Cluster:
    """ps and worker as processes of a kind each; heartbeat in ms for ours."""

    def __init__(self, a, folder, ps, worker, heartbeat=10000):
        self.a, self.folder, self.heartbeat = a, folder, heartbeat
        self.tasks = {"ps": ["127.0.0.1:%d" % free_port()], "worker": ["127.0.0.1:%d" % free_port()]}
        self.target = "grpc://" + self.tasks["worker"][0]
        self.file = os.path.join(folder, "cluster.json")
        with open(self.file, "w") as f:
            json.dump(self.tasks, f)
        self.processes = {}
        self.start("ps", ps)
        self.start("worker", worker)

    def start(self, job, kind):
        if kind == "tf":
            command = [self.a.tf_python, os.path.join(self.folder, "tf_server.py"), self.file, job]
        else:
            command = [os.path.join(self.a.build, "bin", "headrace"), "server", "--cluster", self.file, "--job", job, "--heartbeat-ms",
                       str(self.heartbeat)]
        env = dict(os.environ, TF_CPP_MIN_LOG_LEVEL="3")
        p = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=env)
        self.processes[job] = p
        while "serves" not in p.stdout.readline():
            if p.poll() is not None:
                raise SystemExit("a %s server (%s) ended" % (job, kind))

    def stop(self):
        for p in self.processes.values():
            p.kill()
            p.wait()


class Report:
    def __init__(self):
        self.passed = self.failed = 0

    def __call__(self, what, fine, detail=""):
        self.passed, self.failed = self.passed + bool(fine), self.failed + (not fine)
        print("%-4s %s%s" % ("ok" if fine else "FAIL", what, ": " + str(detail) if detail else ""), flush=True)


def environment(a):
    return dict(os.environ, TF_CPP_MIN_LOG_LEVEL="3", PYTHONPATH=os.path.join(a.build, "python"))


def client(a, folder, target, kind):
    python = a.tf_python if kind == "tf" else a.python
    p = subprocess.run([python, os.path.join(folder, "client.py"), target, kind], capture_output=True, text=True, env=environment(a),
                       timeout=120)
    if p.returncode:
        return {"error": p.stderr[-1500:]}
    return json.loads(p.stdout.strip().splitlines()[-1])


def difference(want, got):
    if set(want) != set(got):
        return got.get("error", sorted(got))
    for name in want:
        if isinstance(want[name], list) and isinstance(want[name][0], float):
            worst = max(abs(x - y) for x, y in zip(want[name], got[name]))
            if len(want[name]) != len(got[name]) or worst > 2e-5:
                return "%s differs by %g" % (name, worst)
        elif want[name] != got[name]:
            return "%s is %r, should be %r" % (name, got[name], want[name])
    return ""


def mixed(a, folder, report):
    want = client(a, folder, "", "tf")
    for ps in ["tf", "hr"]:
        for worker in ["tf", "hr"]:
            cluster = Cluster(a, folder, ps, worker)
            try:
                for who in ["tf", "hr"]:
                    wrong = difference(want, client(a, folder, cluster.target, who))
                    report("client %s, master and worker %s, ps %s" % (who, worker, ps), not wrong, wrong)
            finally:
                cluster.stop()


def waiter(a, folder, act, heartbeat):
    """(how the step ended, seconds after `act`, seconds that closing took)"""
    cluster = Cluster(a, folder, "hr", "hr", heartbeat)
    try:
        p = subprocess.Popen([a.python, os.path.join(folder, "waiter.py"), cluster.target], stdout=subprocess.PIPE, text=True,
                             env=environment(a))
        signal.alarm(60) # whatever hangs is a failure
        p.stdout.readline()
        time.sleep(0.5)
        start = time.time()
        act(cluster)
        ended, took = p.stdout.readline().strip(), time.time() - start
        closing = float(p.stdout.readline())
        p.wait()
        signal.alarm(0)
        return ended, took, closing
    finally:
        for process in cluster.processes.values():
            process.send_signal(signal.SIGCONT)
        cluster.stop()


def failures(a, folder, report):
    ended, took, closing = waiter(a, folder, lambda c: c.processes["ps"].kill(), 10000)
    report("a killed ps ends the step at once", ended == "UnavailableError True" and took < 1 and closing < 1.2, (ended, took, closing))
    ended, took, closing = waiter(a, folder, lambda c: c.processes["ps"].send_signal(signal.SIGSTOP), 1000)
    report("a stopped ps is found within its heartbeat", ended == "UnavailableError True" and took < 1.5 and closing < 1.2,
           (ended, took, closing))
    ended, took, closing = waiter(a, folder, lambda c: c.processes["worker"].kill(), 10000)
    report("a killed master ends the step", ended.startswith(("UnavailableError", "AbortedError")) and took < 20, (ended, took, closing))


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--build", required=True)
    p.add_argument("--python", default=sys.executable)
    p.add_argument("--tf-python", default="")
    p.add_argument("--only", choices=["mixed", "failures"])
    a = p.parse_args()
    a.build = os.path.abspath(a.build)
    report = Report()
    with tempfile.TemporaryDirectory() as folder:
        for name, text in [("client.py", CLIENT), ("tf_server.py", TF_SERVER), ("waiter.py", WAITER)]:
            with open(os.path.join(folder, name), "w") as f:
                f.write(text)
        if a.only != "failures":
            if not a.tf_python:
                raise SystemExit("set TF_PYTHON to a python that has tensorflow")
            mixed(a, folder, report)
        if a.only != "mixed":
            failures(a, folder, report)
    print("cluster: %d passed, %d failed" % (report.passed, report.failed))
    return 1 if report.failed else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Faults on a cluster of processes: tests/chaos/chaos.py --build build/release --seconds 60 --seed 1

Two parameter servers and two workers, each behind a relay (--direct: none, so they call each other as near tasks do). Two clients train (a product of the parameters, a counter) while a seeded
sequence of faults goes on: a task is killed and started again, stopped and continued, its connections cut or slowed down. What must hold:

  - each call of a client ends within its own timeout, or within LATE seconds of a fault, and an error names a task or the timeout;
  - no value is wrong: the fetched product is what was put in, the counter never loses an acknowledged step unless its task was killed;
  - closing a session takes a second at most, whatever died;
  - after the last fault both clients train again, and no surviving task holds more threads, descriptors or memory than it should.

Ends with "N passed, N failed"."""
import argparse, json, os, random, re, signal, socket, subprocess, sys, threading, time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from proxy import Proxy

TIMEOUT, LATE, CLOSE = 10.0, 15.0, 1.0  # seconds: of each call, of a call after a fault, of closing
KINDS = ("kill", "stop", "cut", "delay")
TASKS = [("ps", 0), ("ps", 1), ("worker", 0), ("worker", 1)]


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Task:
    """One server process. Others know it by its relay's port; itself it binds the real one."""

    def __init__(self, job, index, direct):
        self.job, self.index, self.port = job, index, free_port()
        self.proxy, self.process, self.kills = None if direct else Proxy(self.port), None, 0
        self.known_port = self.port if direct else self.proxy.port

    @property
    def name(self):
        return "%s:%d" % (self.job, self.index)

    def start(self, c, tasks):
        cluster = {}
        for t in tasks:
            cluster.setdefault(t.job, []).append("127.0.0.1:%d" % (self.port if t is self else t.known_port))
        path = os.path.join(c.folder, "%s%d.json" % (self.job, self.index))
        with open(path, "w") as f:
            json.dump(cluster, f)
        self.log = open(os.path.join(c.folder, "%s%d.log" % (self.job, self.index)), "ab")
        self.process = subprocess.Popen([c.server, "server", "--cluster", path, "--job", self.job, "--task", str(self.index)],
                                        stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)

    def use(self):
        """(threads, descriptors, resident MB) of the process."""
        pid = self.process.pid
        with open("/proc/%d/status" % pid) as f:
            status = f.read()
        return (int(re.search(r"Threads:\s*(\d+)", status).group(1)), len(os.listdir("/proc/%d/fd" % pid)),
                int(re.search(r"VmRSS:\s*(\d+)", status).group(1)) / 1024)


class Log:
    """What happened, and what should not have."""

    def __init__(self):
        self.faults, self.failures, self.lock, self.last_fault = [], [], threading.Lock(), time.monotonic()
        self.calls = self.errors = self.closes = 0

    def fail(self, text):
        with self.lock:
            self.failures.append(text)
        print("FAILED: " + text, flush=True)

    def fault(self, text):
        with self.lock:
            self.faults.append(text)
            self.last_fault = time.monotonic()


class Client(threading.Thread):
    """Trains through one worker until told to stop; makes a new session whenever a call fails."""

    def __init__(self, tf, index, target, tasks, log):
        super().__init__(daemon=True)
        self.tf, self.index, self.target, self.tasks, self.log = tf, index, target, tasks, log
        self.stopping, self.steps, self.acked, self.started = False, 0, 0, None
        self.graph = tf.Graph()
        with self.graph.as_default():
            with tf.device("/job:ps/task:0"):
                self.weights = tf.Variable(tf.fill([8, 8], 0.5), name="weights%d" % index)
                self.counter = tf.Variable(0.0, name="counter%d" % index)
            with tf.device("/job:ps/task:1"):
                self.shift = tf.Variable(tf.fill([8], 2.0), name="shift%d" % index)
            with tf.device("/job:worker/task:%d" % index):
                self.x = tf.placeholder(tf.float32, [4, 8])
                self.y = tf.matmul(self.x, self.weights) + self.shift
            with tf.device("/job:ps/task:0"):
                self.count = tf.assign_add(self.counter, 1.0)
            self.init = tf.global_variables_initializer()
            self.missing = tf.report_uninitialized_variables()
        self.kills_seen = -1

    def timed(self, what, fn):
        """A call with its bound; its error's text must say where."""
        self.started = start = time.monotonic()
        try:
            return fn()
        except self.tf.errors.OpError as e:
            self.log.errors += 1
            if not re.search(r"task|job|deadline|timed? ?out|session|cancel|connect|unavailable|peer", str(e), re.I):
                self.log.fail("%s: the error says nothing of where: %s" % (what, e))
            raise
        finally:
            self.log.calls += 1
            took, fault = time.monotonic() - start, self.log.last_fault
            if took > TIMEOUT + 1 and time.monotonic() - max(fault, start) > LATE:
                self.log.fail("client %d: %s took %.1f s" % (self.index, what, took))
            self.started = None

    def session(self):
        config = self.tf.ConfigProto(operation_timeout_in_ms=int(TIMEOUT * 1000), device_filters=["/job:ps", "/job:worker/task:%d" % self.index])
        return self.tf.Session(self.target, graph=self.graph, config=config)

    def train(self, session, np):
        if len(self.timed("looking for variables", lambda: session.run(self.missing))):
            self.timed("initial values", lambda: session.run(self.init))
            self.acked = 0
        while not self.stopping:
            value = float(self.steps % 1000)
            x = np.full((4, 8), value, np.float32)
            kills = self.tasks[0].kills
            time.sleep(0.002)  # leave the cores to the servers
            y, n = self.timed("a step", lambda: session.run([self.y, self.count], {self.x: x}))
            self.steps += 1
            if not (y == value * 4 + 2).all():
                self.log.fail("client %d: a wrong sum: %s for %g" % (self.index, y[0], value))
            self.acked += 1
            if n < self.acked and kills == self.kills_seen:
                self.log.fail("client %d: the counter is at %g after %d acknowledged steps" % (self.index, n, self.acked))
            self.acked, self.kills_seen = n, kills

    def run(self):
        import numpy as np
        while not self.stopping:
            session = None
            try:
                session = self.session()
                self.train(session, np)
            except self.tf.errors.OpError:
                time.sleep(0.1)
            except Exception as e:  # a crash of the client is a failure of the test
                self.log.fail("client %d: %s: %s" % (self.index, type(e).__name__, e))
                time.sleep(0.5)
            finally:
                if session:
                    start = time.monotonic()
                    try:
                        session.close()
                    except self.tf.errors.OpError:
                        pass
                    self.log.closes += 1
                    if time.monotonic() - start > CLOSE + 0.5:
                        self.log.fail("client %d: close took %.1f s" % (self.index, time.monotonic() - start))


def apply_fault(c, rng, kind, task, tasks, log):
    """One fault, its length, and its end."""
    log.fault("%s %s" % (kind, task.name))
    if kind == "kill":
        task.kills += 1
        task.process.kill()
        task.process.wait()
        time.sleep(rng.uniform(0, c.pause))
        task.start(c, tasks)
    elif kind == "stop":
        task.process.send_signal(signal.SIGSTOP)
        time.sleep(rng.uniform(0.1, 2 * c.pause))
        task.process.send_signal(signal.SIGCONT)
    elif kind == "cut":
        task.proxy.cut()
        time.sleep(rng.uniform(0, c.pause))
        task.proxy.mend()
    else:
        task.proxy.delay = rng.uniform(0.01, 0.3)
        time.sleep(rng.uniform(0.1, c.pause))
        task.proxy.mend()
    log.fault("end of %s %s" % (kind, task.name))


def wait_for_steps(clients, log, what, limit):
    before, end = [k.steps for k in clients], time.monotonic() + limit
    while any(k.steps < b + 5 for k, b in zip(clients, before)):
        if time.monotonic() > end:
            log.fail("%s: clients at %s steps, from %s, after %d s" % (what, [k.steps for k in clients], before, limit))
            return False
        time.sleep(0.05)
    return True


def check_use(tasks, before, log):
    for t in tasks:
        if t.process.poll() is not None:
            log.fail("%s ended with %s" % (t.name, t.process.returncode))
        elif not t.kills:
            for name, was, now, slack in zip(("threads", "descriptors", "MB"), before[t.name], t.use(), (16, 64, 64)):
                if now > was + slack:
                    log.fail("%s holds %g %s, %g before the faults" % (t.name, now, name, was))


def run(c):
    import headrace as tf
    rng, log = random.Random(c.seed), Log()
    tasks = [Task(*t, c.direct) for t in TASKS]
    for t in tasks:
        t.start(c, tasks)
    clients = [Client(tf, i, "grpc://127.0.0.1:%d" % tasks[2 + i].known_port, tasks, log) for i in range(2)]
    for k in clients:
        k.start()
    try:
        if not wait_for_steps(clients, log, "before the first fault", 60):
            return log
        before, end, done = {t.name: t.use() for t in tasks}, time.monotonic() + c.seconds, 0
        kinds = c.kinds.split(",")
        while time.monotonic() < end and (not c.faults or done < c.faults):
            kind, task = kinds[done % len(kinds)], rng.choice(tasks)
            apply_fault(c, rng, kind, task, tasks, log)
            done += 1
            time.sleep(rng.uniform(0, c.pause))
            if done % 10 == 0:
                wait_for_steps(clients, log, "after fault %d (%s)" % (done, log.faults[-1]), 60)
                print("%d faults, %d steps, %d calls, %d errors" % (done, sum(k.steps for k in clients), log.calls, log.errors), flush=True)
        if wait_for_steps(clients, log, "after the last fault", 60):
            time.sleep(2)
            check_use(tasks, before, log)
    finally:
        for k in clients:
            k.stopping = True
        for k in clients:
            k.join(LATE + TIMEOUT)
            if k.is_alive():
                log.fail("client %d hangs" % k.index)
        for t in tasks:
            t.process.kill()
            t.process.wait()
    print("%d faults, %d steps, %d calls of which %d ended in errors, %d sessions closed"
          % (len(log.faults) // 2, sum(k.steps for k in clients), log.calls, log.errors, log.closes))
    return log


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--build", required=True, help="build folder: its bin/headrace and python package are used")
    a.add_argument("--seconds", type=float, default=20)
    a.add_argument("--faults", type=int, default=0, help="stop after so many (0: by time alone)")
    a.add_argument("--kinds", default="", help="in turn: " + ", ".join(KINDS) + " (default: all that there are)")
    a.add_argument("--direct", action="store_true", help="no relays: tasks are killed and stopped only")
    a.add_argument("--pause", type=float, default=1.0, help="longest fault and longest rest between two, seconds (a stop: twice that)")
    a.add_argument("--seed", type=int, default=1)
    a.add_argument("--folder", default="", help="for logs (default: chaos/ in the build folder)")
    c = a.parse_args()
    c.kinds = c.kinds or ",".join(KINDS[:2] if c.direct else KINDS)
    c.server = os.path.join(c.build, "bin", "headrace")
    c.folder = c.folder or os.path.join(c.build, "chaos")
    os.makedirs(c.folder, exist_ok=True)
    sys.path.insert(0, os.path.join(os.path.abspath(c.build), "python"))
    log = run(c)
    print("%d passed, %d failed" % (log.calls - len(log.failures), len(log.failures)))
    return bool(log.failures)


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: Apache-2.0
"""A cluster on this machine: starts two parameter servers and two workers of mnist_replica.py as processes, shows a line for each task, and
checks the accuracy at the end. --kill-one kills a task in the middle and starts it again: the others find it gone, wait for it, and go on
from the last checkpoint. Options that are not listed here go to every task (--steps, --batch, --rate, --data...).
"""
import argparse
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "mnist_replica.py")


def free_ports(count):
    """Ports that nobody listens on at the moment."""
    sockets = [socket.socket() for _ in range(count)]
    for s in sockets:
        s.bind(("127.0.0.1", 0))
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


class Task:
    """A process and the last line that it said."""

    def __init__(self, job, index, command):
        self.name, self.command = "%s %d" % (job, index), command
        self.said, self.step, self.accuracy, self.log = "starting", 0, None, []
        self.start()

    def start(self):
        self.process = subprocess.Popen(self.command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        threading.Thread(target=self.read, args=(self.process,), daemon=True).start()

    def read(self, process):
        for line in process.stdout:
            line = line.rstrip()
            self.log = self.log[-200:] + [line]
            if not line.startswith(self.name + ": "):
                continue
            self.said = line[len(self.name) + 2:]
            found = re.match(r"step (\d+)", self.said)
            self.step = int(found.group(1)) if found else self.step
            found = re.match(r"accuracy ([0-9.]+)", self.said)
            self.accuracy = float(found.group(1)) if found else self.accuracy

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.said = "killed"

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(2)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


class Screen:
    """A line for each task: drawn over the last ones on a terminal, else one after another when they change."""

    def __init__(self, tasks):
        self.tasks, self.terminal, self.drawn, self.shown = tasks, sys.stdout.isatty(), 0, {}

    def draw(self):
        if self.terminal:
            sys.stdout.write("\x1b[%dA" % self.drawn if self.drawn else "")
            for t in self.tasks:
                sys.stdout.write("\x1b[2K%-10s %s\n" % (t.name, t.said))
            self.drawn = len(self.tasks)
        else:
            for t in self.tasks:
                if self.shown.get(t) != t.said:
                    self.shown[t] = t.said
                    sys.stdout.write("%-10s %s\n" % (t.name, t.said))
        sys.stdout.flush()

    def note(self, text):
        sys.stdout.write("%s\n" % text)
        self.drawn = 0


class Accident:
    """Kills a task when training is half way, and starts it again two seconds later."""

    def __init__(self, task, workers, at):
        self.task, self.workers, self.at, self.killed, self.over = task, workers, at, None, False

    def look(self, screen, checkpoint):
        step = max(w.step for w in self.workers)
        if self.killed is None and step >= self.at and checkpoint():
            self.task.kill()
            self.killed = time.time()
            screen.draw()
            screen.note("-- killed %s at step %d" % (self.task.name, step))
        elif self.killed and not self.over and time.time() > self.killed + 2:
            self.over, self.task.said = True, "starting again"
            self.task.start()
            screen.note("-- started %s again" % self.task.name)


def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--ps", type=int, default=2, metavar="N", help="parameter servers (%(default)s)")
    p.add_argument("--workers", type=int, default=2, metavar="N", help="(%(default)s)")
    p.add_argument("--steps", type=int, default=1000, metavar="N", help="of all workers together (%(default)s)")
    p.add_argument("--kill-one", nargs="?", const="ps1", metavar="TASK", help="kill a task half way and start it again (ps1; worker0...)")
    p.add_argument("--accuracy", type=float, metavar="X", help="fail below it (0.86 from 1000 steps on, less for fewer)")
    p.add_argument("--train_dir", metavar="DIR", help="where checkpoints go (a temporary folder)")
    p.add_argument("--script", default=SCRIPT, metavar="FILE", help="what each task runs")
    return p.parse_known_args()


def main():
    a, rest = arguments()
    if a.accuracy is None:
        a.accuracy = 0.86 if a.steps >= 1000 else 0.5 if a.steps >= 200 else 0.1
    ports = free_ports(a.ps + a.workers)
    hosts = ["localhost:%d" % p for p in ports]
    folder = a.train_dir or tempfile.mkdtemp(prefix="mnist_replica")

    def command(job, index):
        return [sys.executable, a.script, "--job_name", job, "--task_index", str(index), "--ps_hosts", ",".join(hosts[:a.ps]), "--worker_hosts",
                ",".join(hosts[a.ps:]), "--train_dir", folder, "--steps", str(a.steps)] + rest
    servers = [Task("ps", i, command("ps", i)) for i in range(a.ps)]
    workers = [Task("worker", i, command("worker", i)) for i in range(a.workers)]
    tasks, began = servers + workers, time.time()
    screen = Screen(tasks)
    accident = None
    if a.kill_one:
        victims = dict((t.name.replace(" ", ""), t) for t in tasks)
        if a.kill_one not in victims:
            raise SystemExit("--kill-one: there is no task %s, but %s" % (a.kill_one, ", ".join(victims)))
        accident = Accident(victims[a.kill_one], workers, a.steps // 2)
    try:
        while any(w.process.poll() is None for w in workers) or (accident and accident.killed and not accident.over):
            screen.draw()
            if accident:
                accident.look(screen, lambda: any(n.endswith(".index") for n in os.listdir(folder)))
            time.sleep(0.2)
            if any(t.process.poll() not in (None, 0) and not (accident and t is accident.task) for t in tasks):
                break
        time.sleep(0.3)
        screen.draw()
    except KeyboardInterrupt:
        pass
    finally:
        for t in tasks:
            t.stop()
        if not a.train_dir:
            shutil.rmtree(folder, ignore_errors=True)
    return report(workers, tasks, a, time.time() - began, accident)


def report(workers, tasks, a, seconds, accident):
    accuracy = workers[0].accuracy
    if accuracy is None:
        for t in tasks:
            if t.process.returncode not in (0, -signal.SIGTERM):
                print("%s ended with %s:\n  %s" % (t.name, t.process.returncode, "\n  ".join(t.log[-15:])))
        print("no accuracy: training did not come to its end")
        return 1
    print("%d steps in %.1f s, accuracy %.4f, at least %.2f wanted%s" % (a.steps, seconds, accuracy, a.accuracy, "" if not accident else (
        ", one task killed" if accident.killed else ", too soon over for a task to be killed")))
    return 0 if accuracy >= a.accuracy and not (accident and not accident.killed) else 1


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: Apache-2.0
"""Clusters: which task is at which address (ClusterSpec), a task's server in this process (Server), and a device function that lays
variables on parameter servers (replica_device_setter)."""
import threading

from .. import _headrace
from ..device import DeviceSpec, merge


class ClusterSpec(object):
    """Jobs with their tasks' addresses: from {"ps": ["host:port"...], "worker": {0: "host:port"}}, a ClusterDef, another ClusterSpec."""

    def __init__(self, cluster):
        if isinstance(cluster, ClusterSpec):
            jobs = cluster._jobs
        elif hasattr(cluster, "job") and hasattr(cluster, "SerializeToString"):
            jobs = dict((job.name, dict(job.tasks)) for job in cluster.job)
        elif isinstance(cluster, dict):
            jobs = dict((self._job_name(name), self._tasks(name, tasks)) for name, tasks in cluster.items())
        else:
            raise TypeError("`cluster` must be a dictionary mapping one or more job names to lists of network addresses, or a `ClusterDef` "
                            "protocol buffer. Received: cluster=%s" % (cluster,))
        self._jobs = jobs

    @staticmethod
    def _job_name(name):
        if not isinstance(name, (str, bytes)):
            raise TypeError("Job name %r must be bytes or unicode" % (name,))
        return name.decode() if isinstance(name, bytes) else name

    @staticmethod
    def _tasks(name, tasks):
        if isinstance(tasks, (list, tuple)):
            tasks = dict(enumerate(tasks))
        elif not isinstance(tasks, dict):
            raise TypeError("The tasks for job %r must be a list or a dictionary from integers to strings." % (name,))
        for index, address in tasks.items():
            if not isinstance(index, int) or index < 0:
                raise TypeError("Task index must be a non-negative integer, got %r in job %r" % (index, name))
            if not isinstance(address, (str, bytes)):
                raise TypeError("Task address %r must be bytes or unicode" % (address,))
        return dict((i, a.decode() if isinstance(a, bytes) else a) for i, a in sorted(tasks.items()))

    jobs = property(lambda self: list(self._jobs))

    def __bool__(self):
        return bool(self._jobs)

    def __eq__(self, other):
        return self._jobs == ClusterSpec(other)._jobs

    def __ne__(self, other):
        return not self == other

    __hash__ = None

    def __repr__(self):
        return "ClusterSpec({%s})" % ", ".join("%r: %r" % (name, self.as_dict()[name]) for name in sorted(self._jobs))

    def as_dict(self):
        """{job: [address...]}, or {job: {task: address}} where tasks are missing."""
        return dict((name, list(tasks.values()) if list(tasks) == list(range(len(tasks))) else dict(tasks)) for name, tasks in self._jobs.items())

    def as_cluster_def(self):
        from ..protos import message
        d = message("ClusterDef")()
        for name in sorted(self._jobs):
            job = d.job.add(name=name)
            for index, address in self._jobs[name].items():
                job.tasks[index] = address
        return d

    def _job(self, name):
        if name not in self._jobs:
            raise ValueError("No such job in cluster: %r" % (name,))
        return self._jobs[name]

    def num_tasks(self, job_name):
        return len(self._job(job_name))

    def task_indices(self, job_name):
        return list(sorted(self._job(job_name)))

    def task_address(self, job_name, task_index):
        job = self._job(job_name)
        if task_index not in job:
            raise ValueError("No task with index %r in job %r" % (task_index, job_name))
        return job[task_index]

    def job_tasks(self, job_name):
        job = self._job(job_name)
        return [job.get(i) for i in range(max(job) + 1)] if job else []


def _only(choices, what):
    choices = list(choices)
    if len(choices) != 1:
        raise ValueError("Must specify an explicit `%s`: there are %d to choose from" % (what, len(choices)))
    return choices[0]


def _server_def(given, job_name, task_index, protocol, config):
    from ..protos import message
    d = message("ServerDef")()
    if hasattr(given, "DESCRIPTOR") and given.DESCRIPTOR.name == "ServerDef":
        d.CopyFrom(given)
        if job_name is not None:
            d.job_name = job_name
        if task_index is not None:
            d.task_index = task_index
        d.protocol = protocol or d.protocol or "grpc"
    else:
        cluster = ClusterSpec(given)
        job_name = _only(cluster.jobs, "job_name") if job_name is None else job_name
        task_index = _only(cluster.task_indices(job_name), "task_index") if task_index is None else task_index
        d.cluster.CopyFrom(cluster.as_cluster_def())
        d.job_name, d.task_index, d.protocol = job_name, task_index, protocol or "grpc"
    if config is not None:
        d.default_session_config.MergeFrom(config)
    return d


class Server(object):
    """A task of a cluster, served by this process as long as this object lives. Sessions reach it at `target`."""

    def __init__(self, server_or_cluster_def, job_name=None, task_index=None, protocol=None, config=None, start=True):
        self._server_def = _server_def(server_or_cluster_def, job_name, task_index, protocol, config)
        self._server = _headrace.Server(self._server_def.SerializeToString())
        if start:
            self.start()

    server_def = property(lambda self: self._server_def)
    target = property(lambda self: self._server.target)

    def start(self):
        self._server.start()

    def join(self):
        """Blocks until the server is stopped. Ctrl-C ends the wait: it is a thread of its own that waits."""
        waiting = threading.Thread(target=self._server.join, name="server-join", daemon=True)
        waiting.start()
        while waiting.is_alive():
            waiting.join(0.2)

    def stop(self):
        """Ends running steps and serves no more; TensorFlow's server has no such method."""
        self._server.stop()

    @staticmethod
    def create_local_server(config=None, start=True):
        """A cluster of this one process, at a port of the system's choice."""
        return Server({"localhost": ["localhost:0"]}, protocol="grpc", config=config, start=start)


# --- where variables lie ------------------------------------------------
STANDARD_PS_OPS = ("Variable", "VariableV2", "AutoReloadVariable", "MutableHashTable", "MutableHashTableV2", "MutableHashTableOfTensors",
                   "MutableHashTableOfTensorsV2", "MutableDenseHashTable", "MutableDenseHashTableV2", "VarHandleOp",
                   "BoostedTreesEnsembleResourceHandleOp", "BoostedTreesQuantileStreamResourceHandleOp", "ResourceConditionalAccumulator",
                   "DecisionTreeResource")


class _RoundRobin(object):
    """Tasks in turn."""

    def __init__(self, count):
        self._count, self._next = count, 0

    def __call__(self, op):
        task, self._next = self._next, (self._next + 1) % self._count
        return task


def replica_device_setter(ps_tasks=0, ps_device="/job:ps", worker_device="/job:worker", merge_devices=True, cluster=None, ps_ops=None,
                          ps_strategy=None):
    """A device function: variables on the parameter servers in turn, all else on the worker. None where there are no parameter servers."""
    if cluster is not None:
        jobs = ClusterSpec(cluster).as_dict()
        ps_job = DeviceSpec.from_string(ps_device).job
        ps_tasks = len(jobs.get(ps_job) or ())
    if ps_tasks == 0:
        return None
    ps_ops = STANDARD_PS_OPS if ps_ops is None else ps_ops
    choose = _RoundRobin(ps_tasks) if ps_strategy is None else ps_strategy
    if not callable(choose):
        raise TypeError("ps_strategy must be callable")

    def device(op):
        if not merge_devices and op.device:
            return op.device
        if ps_device and op.type in ps_ops:
            ps, now = DeviceSpec.from_string(ps_device), DeviceSpec.from_string(op.device or "")
            if ps.job and now.job in (None, ps.job):
                ps = ps.replace(task=choose(op))
            return ps.make_merged_spec(now).to_string()
        return merge(worker_device or "", op.device or "")
    return device

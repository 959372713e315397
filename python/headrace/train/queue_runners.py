# SPDX-License-Identifier: Apache-2.0
"""Threads that fill queues (QueueRunner), and what stops a group of threads together (Coordinator)."""
import contextlib
import threading
import time

from .. import errors
from .. import graph as G


class Coordinator(object):
    """Threads ask should_stop(); any of them may request_stop(), with an exception that join() then raises."""

    def __init__(self, clean_stop_exception_types=None):
        self._clean = tuple(clean_stop_exception_types or (errors.OutOfRangeError,))
        self._lock, self._stop = threading.Lock(), threading.Event()
        self._error, self._joined, self._threads = None, False, set()

    joined = property(lambda self: self._joined)

    def request_stop(self, ex=None):
        """Only the first request's exception counts; the end of the input (clean_stop_exception_types) is none."""
        if isinstance(ex, tuple):
            ex = ex[1]
        if isinstance(ex, self._clean):
            ex = None
        with self._lock:
            if self._joined:
                if ex is not None:
                    raise ex
                return
            if not self._stop.is_set():
                self._error = ex
                self._stop.set()

    def clear_stop(self):
        with self._lock:
            self._joined, self._error = False, None
            self._stop.clear()

    def should_stop(self):
        return self._stop.is_set()

    def wait_for_stop(self, timeout=None):
        return self._stop.wait(timeout)

    def raise_requested_exception(self):
        with self._lock:
            error = self._error
        if error is not None:
            raise error

    def register_thread(self, thread):
        """join() waits for this thread as well."""
        with self._lock:
            self._threads.add(thread)

    @contextlib.contextmanager
    def stop_on_exception(self):
        """A block whose exception becomes a request to stop."""
        try:
            yield
        except Exception as e:
            self.request_stop(e)

    def join(self, threads=None, stop_grace_period_secs=120, ignore_live_threads=False):
        """Waits for the threads; after a request to stop no longer than the grace period. Raises the requested exception."""
        with self._lock:
            waited = self._threads.union(threads or ())
        while any(t.is_alive() for t in waited) and not self._stop.wait(0.1):
            pass
        end = time.monotonic() + stop_grace_period_secs
        for t in waited:
            if t is not threading.current_thread():
                t.join(max(0.0, end - time.monotonic()))
        alive = [t.name for t in waited if t.is_alive() and t is not threading.current_thread()]
        with self._lock:
            self._joined, self._threads = True, set()
            error = self._error
        if error is not None:
            raise error
        if alive and not ignore_live_threads:
            raise RuntimeError("Coordinator stopped with threads still running: " + " ".join(alive))


class QueueRunner(object):
    """A thread for each of its enqueue operations; the last to meet the end of the input closes the queue."""

    def __init__(self, queue=None, enqueue_ops=None, close_op=None, cancel_op=None, queue_closed_exception_types=None, queue_runner_def=None,
                 import_scope=None):
        self._queue = queue
        if queue_runner_def is not None:
            self._from_def(queue_runner_def, import_scope)
        elif not queue or not enqueue_ops:
            raise ValueError("QueueRunner needs a queue and enqueue_ops")
        else:
            self._name, self._enqueue_ops = queue.name, list(enqueue_ops)
            self._close_op = queue.close() if close_op is None else close_op
            self._cancel_op = queue.close(cancel_pending_enqueues=True) if cancel_op is None else cancel_op
            self._closed_types = tuple(queue_closed_exception_types or (errors.OutOfRangeError,))
        self._lock, self._running, self._errors = threading.Lock(), {}, []

    queue = property(lambda self: self._queue)
    enqueue_ops = property(lambda self: self._enqueue_ops)
    close_op = property(lambda self: self._close_op)
    cancel_op = property(lambda self: self._cancel_op)
    queue_closed_exception_types = property(lambda self: self._closed_types)
    exceptions_raised = property(lambda self: self._errors)  # of threads without a coordinator
    name = property(lambda self: self._name)

    def _from_def(self, d, scope):
        def found(name):
            return G.get_default_graph().as_graph_element(scope + "/" + name if scope else name)
        self._name, self._enqueue_ops = found(d.queue_name).name, [found(n) for n in d.enqueue_op_name]
        self._close_op, self._cancel_op = found(d.close_op_name), found(d.cancel_op_name)
        codes = d.queue_closed_exception_types or [errors.OUT_OF_RANGE]
        self._closed_types = tuple(errors.exception_type_from_error_code(c) for c in codes)

    @staticmethod
    def from_proto(queue_runner_def, import_scope=None):
        return QueueRunner(queue_runner_def=queue_runner_def, import_scope=import_scope)

    def to_proto(self, export_scope=None):
        from ..protos import message
        d = message("QueueRunnerDef")()
        d.queue_name, d.close_op_name, d.cancel_op_name = self.name, self._close_op.name, self._cancel_op.name
        d.enqueue_op_name.extend(op.name for op in self._enqueue_ops)
        d.queue_closed_exception_types.extend(errors.error_code_from_exception_type(t) for t in self._closed_types)
        return d

    def create_threads(self, sess, coord=None, daemon=False, start=False):
        """The threads for this session, or none while those of an earlier call run."""
        with self._lock:
            if self._running.get(sess):
                return []
            self._running[sess] = len(self._enqueue_ops)
            self._errors = []
        jobs = [(self._fill, (sess, op, coord), op.name) for op in self._enqueue_ops]
        if coord is not None:
            jobs.append((self._cancel_on_stop, (sess, coord), "close_on_stop"))
        threads = [threading.Thread(target=f, args=a, name="QueueRunnerThread-%s-%s" % (self.name, n), daemon=daemon) for f, a, n in jobs]
        for t in threads:
            if coord is not None:
                coord.register_thread(t)
            if start:
                t.start()
        return threads

    def _fill(self, sess, enqueue_op, coord):
        ended = False
        try:
            step = sess.make_callable(enqueue_op)
            while not (coord and coord.should_stop()):
                try:
                    step()
                except self._closed_types:
                    ended = True
                    break
        except Exception as e:
            if coord is None:
                with self._lock:
                    self._errors.append(e)
                raise
            coord.request_stop(e)
        finally:
            with self._lock:
                self._running[sess] -= 1
                last = self._running[sess] == 0
                if last:
                    del self._running[sess]
            if ended and last:
                self._quietly(sess, self._close_op)

    def _cancel_on_stop(self, sess, coord):
        coord.wait_for_stop()
        self._quietly(sess, self._cancel_op)

    @staticmethod
    def _quietly(sess, op):
        """The session may be closed by now, and with it the queue."""
        with contextlib.suppress(Exception):
            sess.run(op)


def add_queue_runner(qr, collection=G.GraphKeys.QUEUE_RUNNERS):
    G.add_to_collection(collection, qr)


def start_queue_runners(sess=None, coord=None, daemon=True, start=True, collection=G.GraphKeys.QUEUE_RUNNERS):
    """The threads of all runners of the session's graph, started."""
    from ..session import get_default_session
    sess = sess or get_default_session()
    if sess is None:
        raise ValueError("Cannot start queue runners: no default session. Use `with sess.as_default()` or pass tf.train.start_queue_runners(sess=sess)")
    with sess.graph.as_default():
        return [t for runner in G.get_collection(collection) for t in runner.create_threads(sess, coord, daemon, start)]

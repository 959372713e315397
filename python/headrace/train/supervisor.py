# SPDX-License-Identifier: Apache-2.0
"""Supervisor: an initialized or restored session, with threads that write checkpoints and summaries beside the training loop."""
import contextlib
import os
import threading
import time

from .. import graph as G
from .. import logging

from .queue_runners import Coordinator
from .session_manager import SessionManager


class LooperThread(threading.Thread):
    """Calls run_loop, or a function, at once and then every so many seconds until the coordinator stops; its failure stops the others."""

    def __init__(self, coord, timer_interval_secs, target=None, args=None, kwargs=None):
        if not isinstance(coord, Coordinator):
            raise ValueError("'coord' argument must be a Coordinator: %s" % coord)
        super(LooperThread, self).__init__()
        self.daemon = True
        self._coord, self._interval, self._function = coord, timer_interval_secs, target
        self._arguments, self._keywords = args or (), kwargs or {}
        coord.register_thread(self)

    @staticmethod
    def loop(coord, timer_interval_secs, target, args=None, kwargs=None):
        thread = LooperThread(coord, timer_interval_secs, target=target, args=args, kwargs=kwargs)
        thread.start()
        return thread

    def run(self):
        with self._coord.stop_on_exception():
            self.start_loop()
            if self._interval is None:
                while not self._coord.should_stop():
                    self.run_loop()
            else:
                due = time.time()
                while not self._coord.wait_for_stop(max(0, due - time.time())):
                    due += self._interval
                    self.run_loop()
            self.stop_loop()

    def start_loop(self):
        pass

    def stop_loop(self):
        pass

    def run_loop(self):
        if self._function:
            self._function(*self._arguments, **self._keywords)


class _SummaryThread(LooperThread):
    def __init__(self, sv, sess):
        super(_SummaryThread, self).__init__(sv.coord, sv.save_summaries_secs)
        self._sv, self._sess = sv, sess

    def run_loop(self):
        sv = self._sv
        if sv.global_step is not None:
            summary, step = self._sess.run([sv.summary_op, sv.global_step])
        else:
            summary, step = self._sess.run(sv.summary_op), None
        if sv.summary_writer:
            sv.summary_writer.add_summary(summary, step)


class _StepCounterThread(LooperThread):
    def __init__(self, sv, sess):
        super(_StepCounterThread, self).__init__(sv.coord, sv.save_summaries_secs)
        self._sv, self._sess = sv, sess
        self._tag = "%s/sec" % sv.global_step.op.name

    def start_loop(self):
        self._last = time.time(), int(self._sess.run(self._sv.global_step))

    def run_loop(self):
        now, step = time.time(), int(self._sess.run(self._sv.global_step))
        rate = (step - self._last[1]) / max(now - self._last[0], 1e-9)
        self._last = now, step
        if self._sv.summary_writer:
            from ..protos import message
            summary = message("Summary")()
            summary.value.add(tag=self._tag, simple_value=rate)
            self._sv.summary_writer.add_summary(summary, step)
        logging.info("%s: %g", self._tag, rate)


class _CheckpointThread(LooperThread):
    def __init__(self, sv, sess):
        super(_CheckpointThread, self).__init__(sv.coord, sv.save_model_secs)
        self._sv, self._sess = sv, sess

    def run_loop(self):
        self._sv.saver.save(self._sess, self._sv.save_path, global_step=self._sv.global_step)


class Supervisor(object):
    """Chooses what the graph has for what is not given; the chief initializes or restores and saves, others wait."""
    USE_DEFAULT = 0

    def __init__(self, graph=None, ready_op=USE_DEFAULT, ready_for_local_init_op=USE_DEFAULT, is_chief=True, init_op=USE_DEFAULT, init_feed_dict=None,
                 local_init_op=USE_DEFAULT, logdir=None, summary_op=USE_DEFAULT, saver=USE_DEFAULT, global_step=USE_DEFAULT, save_summaries_secs=120,
                 save_model_secs=600, recovery_wait_secs=30, stop_grace_secs=120, checkpoint_basename="model.ckpt", session_manager=None,
                 summary_writer=USE_DEFAULT, init_fn=None, local_init_run_options=None):
        self._graph = graph or G.get_default_graph()
        self._is_chief, self._init_feed_dict, self._init_fn = is_chief, init_feed_dict, init_fn
        self._coord, self._recovery_wait_secs, self._stop_grace_secs = Coordinator(), recovery_wait_secs, stop_grace_secs
        with self._graph.as_default():
            self._choose_operations(ready_op, ready_for_local_init_op, init_op, local_init_op, summary_op, saver, global_step)
        self._save_summaries_secs, self._save_model_secs = save_summaries_secs, save_model_secs
        self._logdir, self._save_path, self._summary_writer = logdir, None, None
        if logdir:
            self._save_path = os.path.join(logdir, checkpoint_basename)
        if is_chief and logdir and summary_writer is Supervisor.USE_DEFAULT:
            from ..summary import FileWriter
            self._summary_writer = FileWriter(logdir)
        elif summary_writer is not Supervisor.USE_DEFAULT:
            self._summary_writer = summary_writer
        self._graph_added = False
        self._session_manager = session_manager or SessionManager(
            local_init_op=self._local_init_op, ready_op=self._ready_op, ready_for_local_init_op=self._ready_for_local_init_op, graph=self._graph,
            recovery_wait_secs=recovery_wait_secs, local_init_run_options=local_init_run_options)
        self._services = []
        self._graph.finalize()

    def _choose_operations(self, ready_op, ready_for_local_init_op, init_op, local_init_op, summary_op, saver, global_step):
        from .. import summary
        from ..control import group, tables_initializer
        from ..saver import Saver
        from ..variables import global_variables, global_variables_initializer, local_variables_initializer, report_uninitialized_variables
        keys, default = G.GraphKeys, Supervisor.USE_DEFAULT

        def choose(given, key, make):
            if given is not default:
                return given
            found = self._graph.get_collection(key)
            if found:
                return found[0]
            made = make()
            if made is not None:
                self._graph.add_to_collection(key, made)
            return made
        self._ready_op = choose(ready_op, keys.READY_OP, report_uninitialized_variables)
        self._ready_for_local_init_op = choose(ready_for_local_init_op, keys.READY_FOR_LOCAL_INIT_OP, lambda: None)
        self._init_op = choose(init_op, keys.INIT_OP, global_variables_initializer)

        def make_local():
            ops = [op for op, has in ((local_variables_initializer, self._graph.get_collection(keys.LOCAL_VARIABLES)),
                                      (tables_initializer, self._graph.get_collection(keys.TABLE_INITIALIZERS))) if has]
            return group(*[op() for op in ops]) if ops else None
        self._local_init_op = choose(local_init_op, keys.LOCAL_INIT_OP, make_local)
        if self._local_init_op is None:
            self._ready_for_local_init_op = None
        self._summary_op = choose(summary_op, keys.SUMMARY_OP, summary.merge_all)
        self._saver = choose(saver, keys.SAVERS, lambda: Saver() if global_variables() else None)
        if global_step is default:
            from .steps import get_global_step
            global_step = get_global_step(self._graph)
        self._global_step = global_step

    is_chief = property(lambda self: self._is_chief)
    session_manager = property(lambda self: self._session_manager)
    coord = property(lambda self: self._coord)
    init_op = property(lambda self: self._init_op)
    init_feed_dict = property(lambda self: self._init_feed_dict)
    ready_op = property(lambda self: self._ready_op)
    ready_for_local_init_op = property(lambda self: self._ready_for_local_init_op)
    local_init_op = property(lambda self: self._local_init_op)
    summary_writer = property(lambda self: self._summary_writer)
    summary_op = property(lambda self: self._summary_op)
    save_summaries_secs = property(lambda self: self._save_summaries_secs)
    global_step = property(lambda self: self._global_step)
    saver = property(lambda self: self._saver)
    save_model_secs = property(lambda self: self._save_model_secs)
    save_path = property(lambda self: self._save_path)

    # --- sessions
    def prepare_or_wait_for_session(self, master="", config=None, wait_for_checkpoint=False, max_wait_secs=7200, start_standard_services=True):
        self._coord.clear_stop()
        if self._summary_writer is not None:
            self._summary_writer.reopen()
        if self._is_chief:
            sess = self._session_manager.prepare_session(master, init_op=self._init_op, saver=self._saver, checkpoint_dir=self._logdir,
                                                         wait_for_checkpoint=wait_for_checkpoint, max_wait_secs=max_wait_secs, config=config,
                                                         init_feed_dict=self._init_feed_dict, init_fn=self._init_fn)
            self._write_graph()
            if start_standard_services:
                logging.info("Starting standard services.")
                self.start_standard_services(sess)
        else:
            sess = self._session_manager.wait_for_session(master, config=config, max_wait_secs=max_wait_secs)
        if start_standard_services:
            logging.info("Starting queue runners.")
            self.start_queue_runners(sess)
        return sess

    PrepareSession = prepare_or_wait_for_session

    def _write_graph(self):
        if self._logdir:
            from .export import write_graph
            write_graph(self._graph, self._logdir, "graph.pbtxt")
        if self._summary_writer and not self._graph_added:
            self._summary_writer.add_graph(self._graph)
            self._graph_added = True

    def start_standard_services(self, sess):
        if not self._is_chief:
            raise RuntimeError("Only chief supervisor can start standard services. Because only chief supervisors can write events.")
        if not self._logdir:
            logging.warning("Standard services need a 'logdir' passed to the SessionManager")
            return None
        if self._global_step is not None and self._summary_writer:
            from ..protos import message
            self._summary_writer.add_session_log(message("SessionLog")(status=1), int(sess.run(self._global_step)))
        threads = []
        if self._save_summaries_secs and self._summary_writer:
            if self._summary_op is not None:
                threads.append(_SummaryThread(self, sess))
            if self._global_step is not None:
                threads.append(_StepCounterThread(self, sess))
        if self.saver and self._save_model_secs:
            threads.append(_CheckpointThread(self, sess))
        for t in threads:
            t.start()
        self._services.extend(threads)
        return threads

    StartStandardServices = start_standard_services

    def start_queue_runners(self, sess, queue_runners=None):
        runners = self._graph.get_collection(G.GraphKeys.QUEUE_RUNNERS) if queue_runners is None else queue_runners
        threads = [t for r in runners for t in r.create_threads(sess, coord=self._coord, daemon=True, start=True)]
        self._services.extend(threads)
        return threads

    StartQueueRunners = start_queue_runners

    def loop(self, timer_interval_secs, target, args=None, kwargs=None):
        thread = LooperThread(self._coord, timer_interval_secs, target=target, args=args, kwargs=kwargs)
        thread.start()
        return thread

    Loop = loop

    # --- the end
    def stop(self, threads=None, close_summary_writer=True, ignore_live_threads=False):
        self._coord.request_stop()
        try:
            self._coord.join(threads, stop_grace_period_secs=self._stop_grace_secs, ignore_live_threads=ignore_live_threads)
        finally:
            if close_summary_writer and self._summary_writer:
                from ..protos import message
                self._summary_writer.add_session_log(message("SessionLog")(status=2))
                self._summary_writer.close()
                self._graph_added = False

    Stop = stop

    def request_stop(self, ex=None):
        self._coord.request_stop(ex=ex)

    RequestStop = request_stop

    def should_stop(self):
        return self._coord.should_stop()

    ShouldStop = should_stop

    def stop_on_exception(self):
        return self._coord.stop_on_exception()

    StopOnException = stop_on_exception

    def wait_for_stop(self):
        return self._coord.wait_for_stop()

    WaitForStop = wait_for_stop

    def summary_computed(self, sess, summary, global_step=None):
        if not self._summary_writer:
            raise RuntimeError("Writing a summary requires a summary writer.")
        if global_step is None and self.global_step is not None:
            global_step = int(sess.run(self.global_step))
        self._summary_writer.add_summary(summary, global_step)

    SummaryComputed = summary_computed

    @contextlib.contextmanager
    def managed_session(self, master="", config=None, start_standard_services=True, close_summary_writer=True):
        """`with sv.managed_session() as sess:` a session that is ready, whose failure or end stops the threads."""
        try:
            sess = self.prepare_or_wait_for_session(master=master, config=config, start_standard_services=start_standard_services)
            yield sess
        except Exception as e:
            self.request_stop(e)
        finally:
            try:
                self.stop(close_summary_writer=close_summary_writer, ignore_live_threads=True)
            finally:
                with contextlib.suppress(Exception, UnboundLocalError):
                    sess.close()

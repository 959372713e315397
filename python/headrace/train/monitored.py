# SPDX-License-Identifier: Apache-2.0
"""MonitoredSession: a session with hooks and queue runners, that comes back by itself when a server it needs was lost."""

from .. import errors
from .. import graph as G
from .. import logging
from . import queue_runners
from .hooks import (CheckpointSaverHook, SessionRunArgs, SessionRunContext, SessionRunValues, StepCounterHook, SummarySaverHook)
from .session_manager import SessionManager

_LOST = (errors.AbortedError, errors.UnavailableError)
USE_DEFAULT = object()


# --- what a graph needs to be trained -----------------------------------
def _concat_reports(variables, resources):
    from ..array import concat
    from ..tensor_util import constant
    if resources:
        raise NotImplementedError("Scaffold: resources other than variables")
    with G.name_scope("report_uninitialized_resources"), G.device("/cpu:0"):
        none = constant([], dtype="string")
    return concat([variables, none], 0)


class Scaffold(object):
    """Operations that initialize, report, save and summarize; what is not given is taken from collections or made when finalized."""

    def __init__(self, init_op=None, init_feed_dict=None, init_fn=None, ready_op=None, ready_for_local_init_op=None, local_init_op=None, summary_op=None,
                 saver=None, copy_from_scaffold=None, local_init_feed_dict=None):
        from_ = copy_from_scaffold
        pick = lambda given, name: given if given is not None or from_ is None else getattr(from_, name)
        self._init_op, self._init_feed_dict = pick(init_op, "_init_op"), pick(init_feed_dict, "_init_feed_dict")
        self._user_init_fn = pick(init_fn, "_user_init_fn")
        self._init_fn = (lambda sess: self._user_init_fn(self, sess)) if self._user_init_fn else None
        self._ready_op = pick(ready_op, "_ready_op")
        self._ready_for_local_init_op = pick(ready_for_local_init_op, "_ready_for_local_init_op")
        self._local_init_op, self._local_init_feed_dict = pick(local_init_op, "_local_init_op"), pick(local_init_feed_dict, "_local_init_feed_dict")
        self._summary_op, self._saver = pick(summary_op, "_summary_op"), pick(saver, "_saver")

    init_op = property(lambda self: self._init_op)
    init_feed_dict = property(lambda self: self._init_feed_dict)
    init_fn = property(lambda self: self._init_fn)
    ready_op = property(lambda self: self._ready_op)
    ready_for_local_init_op = property(lambda self: self._ready_for_local_init_op)
    local_init_op = property(lambda self: self._local_init_op)
    local_init_feed_dict = property(lambda self: self._local_init_feed_dict)
    summary_op = property(lambda self: self._summary_op)
    saver = property(lambda self: self._saver)

    @staticmethod
    def get_or_default(arg_name, collection_key, default_constructor):
        found = G.get_collection(collection_key)
        if len(found) > 1:
            raise RuntimeError("More than one item in the collection %r. Please indicate which one to use by passing it to the tf.Scaffold constructor "
                               "as:  tf.Scaffold(%s=item to use)" % (collection_key, arg_name))
        if found:
            return found[0]
        made = default_constructor()
        if made is not None:
            G.add_to_collection(collection_key, made)
        return made

    @staticmethod
    def default_local_init_op():
        from ..control import group, no_op, tables_initializer
        from ..variables import local_variables_initializer
        return group(local_variables_initializer(), tables_initializer(), no_op(name="init"))

    def finalize(self):
        """Makes what is missing and finalizes the graph."""
        from .. import summary
        from ..control import group, no_op
        from ..variables import global_variables, global_variables_initializer, report_uninitialized_variables
        keys, graph = G.GraphKeys, G.get_default_graph()
        resources = graph.get_collection(keys.RESOURCES)
        if self._init_op is None:
            self._init_op = self.get_or_default("init_op", keys.INIT_OP, lambda: group(
                global_variables_initializer(), no_op(name="init"), *graph.get_collection("saved_model_initializers")))
        if self._ready_op is None:
            self._ready_op = self.get_or_default("ready_op", keys.READY_OP, lambda: _concat_reports(
                report_uninitialized_variables(), resources))
        if self._ready_for_local_init_op is None:
            self._ready_for_local_init_op = self.get_or_default("ready_for_local_init_op", keys.READY_FOR_LOCAL_INIT_OP, lambda: _concat_reports(
                report_uninitialized_variables(global_variables()), resources))
        if self._local_init_op is None:
            self._local_init_op = self.get_or_default("local_init_op", keys.LOCAL_INIT_OP, self.default_local_init_op)
        if self._summary_op is None:
            self._summary_op = self.get_or_default("summary_op", keys.SUMMARY_OP, summary.merge_all)
        if self._saver is None:
            self._saver = _saver_or_default()
        self._saver.build()
        graph.finalize()
        logging.info("Graph was finalized.")
        return self


def _saver_or_default():
    from ..saver import Saver
    found = G.get_collection(G.GraphKeys.SAVERS)
    if len(found) > 1:
        raise RuntimeError("More than one item in collection SAVERS. Please indicate which one to use by passing it to the constructor.")
    if found:
        return found[0]
    saver = Saver(sharded=True, allow_empty=True)
    G.add_to_collection(G.GraphKeys.SAVERS, saver)
    return saver


# --- making sessions ----------------------------------------------------
class SessionCreator(object):
    def create_session(self):
        raise NotImplementedError("create_session is not implemented for %s" % self)


class _Creator(SessionCreator):
    def _get_manager(self):
        if self._session_manager is None:
            s = self._scaffold
            self._session_manager = SessionManager(local_init_op=s.local_init_op, local_init_feed_dict=s.local_init_feed_dict, ready_op=s.ready_op,
                                                   ready_for_local_init_op=s.ready_for_local_init_op, graph=G.get_default_graph(),
                                                   **self._more)
        return self._session_manager


class ChiefSessionCreator(_Creator):
    """Restores or initializes."""

    def __init__(self, scaffold=None, master="", config=None, checkpoint_dir=None, checkpoint_filename_with_path=None):
        self._scaffold, self._master, self._config = scaffold or Scaffold(), master, config
        self._checkpoint_dir, self._checkpoint_filename, self._session_manager, self._more = checkpoint_dir, checkpoint_filename_with_path, None, {}

    def create_session(self):
        self._scaffold.finalize()
        return self._get_manager().prepare_session(self._master, saver=self._scaffold.saver, checkpoint_dir=self._checkpoint_dir,
                                                   checkpoint_filename_with_path=self._checkpoint_filename, config=self._config,
                                                   init_op=self._scaffold.init_op, init_feed_dict=self._scaffold.init_feed_dict,
                                                   init_fn=self._scaffold.init_fn)


class WorkerSessionCreator(_Creator):
    """Waits until the chief has restored or initialized."""

    def __init__(self, scaffold=None, master="", config=None, max_wait_secs=30 * 60):
        self._scaffold, self._master, self._config, self._max_wait_secs = scaffold or Scaffold(), master, config, max_wait_secs
        self._session_manager, self._more = None, {"recovery_wait_secs": 1}

    def create_session(self):
        self._scaffold.finalize()
        return self._get_manager().wait_for_session(self._master, config=self._config, max_wait_secs=self._max_wait_secs)


# --- sessions in layers: hooks, coordinator, recovery -------------------
class _Hooked(object):
    """A session whose steps hooks see."""

    def __init__(self, sess, hooks):
        self.sess, self._hooks, self.stopped = sess, hooks, False

    def run(self, fetches, feed_dict=None, options=None, run_metadata=None):
        if self.stopped:
            raise RuntimeError("Run called even after should_stop requested.")
        context = SessionRunContext(SessionRunArgs(fetches, feed_dict), self.sess)
        wanted, feeds, options = self._ask_hooks(context, {"caller": fetches}, feed_dict, options)
        metadata = run_metadata
        if metadata is None and options is not None:
            from ..protos import message
            metadata = message("RunMetadata")()
        found = self.sess.run(wanted, feeds, options, metadata)
        for hook in self._hooks:
            hook.after_run(context, SessionRunValues(found.get(hook), options, metadata))
        self.stopped = self.stopped or context.stop_requested
        return found["caller"]

    def _ask_hooks(self, context, wanted, feed_dict, options):
        feeds = dict(feed_dict) if feed_dict else {}
        own = set(feeds)
        for hook in self._hooks:
            request = hook.before_run(context)
            if request is None:
                continue
            if request.fetches is not None:
                wanted[hook] = request.fetches
            if request.feed_dict:
                if own & set(request.feed_dict):
                    raise RuntimeError("Same tensor is fed by two hooks." if not feed_dict else
                                       "Same tensor is fed by a SessionRunHook and user.")
                own |= set(request.feed_dict)
                feeds.update(request.feed_dict)
            if request.options is not None:
                from ..protos import message
                merged = message("RunOptions")()
                if options is not None:
                    merged.CopyFrom(options)
                merged.trace_level = max(merged.trace_level, request.options.trace_level)
                merged.timeout_in_ms = max(merged.timeout_in_ms, request.options.timeout_in_ms)
                merged.output_partition_graphs = merged.output_partition_graphs or request.options.output_partition_graphs
                options = merged
        return wanted, feeds or None, options


class _Coordinated(object):
    """... and whose threads stop together with it."""

    def __init__(self, sess, coord, stop_grace_period_secs):
        self._hooked, self._coord, self._grace = sess, coord, stop_grace_period_secs
        self.sess = sess.sess

    def run(self, *args, **kwargs):
        try:
            return self._hooked.run(*args, **kwargs)
        except _LOST:
            raise
        except Exception as e:
            self._raise_cause(e)

    def _raise_cause(self, error):
        """A step that was cut short because a thread failed: that failure counts."""
        try:
            self._coord.raise_requested_exception()
        except _LOST:
            raise
        except Exception:
            pass
        raise error

    def step_fn(self, step_fn):
        return step_fn(_StepContext(self.sess, self._hooked.run))

    def should_stop(self):
        return self._coord.should_stop() or self._hooked.stopped

    def close(self):
        self._coord.request_stop()
        try:
            self._coord.join(stop_grace_period_secs=self._grace, ignore_live_threads=True)
        finally:
            self.sess.close()


class _Factory(object):
    """Makes coordinated sessions, the first and those after a loss."""

    def __init__(self, creator, hooks, stop_grace_period_secs):
        self._creator, self._hooks, self._grace, self.coord, self.tf_sess = creator, hooks, stop_grace_period_secs, None, None

    def make(self):
        self.tf_sess = self._creator.create_session()
        self.coord = queue_runners.Coordinator(clean_stop_exception_types=[])
        if G.get_collection(G.GraphKeys.QUEUE_RUNNERS):
            queue_runners.start_queue_runners(sess=self.tf_sess, coord=self.coord)
        for hook in self._hooks:
            hook.after_create_session(self.tf_sess, self.coord)
        return _Coordinated(_Hooked(self.tf_sess, self._hooks), self.coord, self._grace)


class _Recoverable(object):
    """... and that is made again when a server was lost."""

    def __init__(self, factory):
        self._factory, self._current = factory, None
        self._current = self._make()

    sess = property(lambda self: None if self._current is None else self._current.sess)

    def _make(self):
        while True:
            try:
                return self._factory.make()
            except _LOST as e:
                logging.info("An error was raised while a session was being created. This may be due to a preemption of a connected worker or parameter "
                             "server. A new session will be created. Error: %s", e)

    def _again(self, call):
        while True:
            try:
                if self._current is None:
                    self._current = self._make()
                return call(self._current)
            except _LOST as e:
                logging.info("An error was raised. This may be due to a preemption in a connected worker or parameter server. The current session will be "
                             "closed and a new session will be created. Error: %s", e)
                self._drop()

    def _drop(self):
        current, self._current = self._current, None
        try:
            if current is not None:
                current.close()
        except Exception as e:  # the session is lost already: how it ends says nothing more
            logging.debug("closing a lost session: %s", e)

    def run(self, *args, **kwargs):
        return self._again(lambda current: current.run(*args, **kwargs))

    def step_fn(self, step_fn):
        return self._again(lambda current: current.step_fn(step_fn))

    def should_stop(self):
        return self._current is not None and self._current.should_stop()

    def close(self):
        if self._current is not None:
            current, self._current = self._current, None
            current.close()


class _StepContext(object):
    """For run_step_fn: the bare session, and a step with hooks."""

    def __init__(self, session, run_with_hooks):
        self._session, self._run = session, run_with_hooks

    session = property(lambda self: self._session)

    def run_with_hooks(self, *args, **kwargs):
        return self._run(*args, **kwargs)

    def request_stop(self):
        raise StopIteration("step_fn has requested the iterations to stop.")


class _Monitored(object):
    """What both kinds of monitored sessions do."""

    def __init__(self, session_creator, hooks, should_recover, stop_grace_period_secs=120):
        self._graph_was_finalized = G.get_default_graph().finalized
        self._hooks = hooks or []
        for hook in self._hooks:
            hook.begin()
        self._factory = _Factory(session_creator or ChiefSessionCreator(), self._hooks, stop_grace_period_secs)
        self._sess = _Recoverable(self._factory) if should_recover else self._factory.make()

    @property
    def graph(self):
        session = self._tf_sess()
        return None if session is None else session.graph

    def run(self, fetches, feed_dict=None, options=None, run_metadata=None):
        if self._sess is None:
            raise RuntimeError("Attempted to use a closed Session.")
        return self._sess.run(fetches, feed_dict=feed_dict, options=options, run_metadata=run_metadata)

    def run_step_fn(self, step_fn):
        """Calls step_fn(step_context), which runs what it likes; StopIteration through step_context.request_stop() ends the loop."""
        import inspect
        names = inspect.getfullargspec(step_fn).args
        if names[:1] == ["self"] or inspect.ismethod(step_fn):
            names = names[1:]
        if names != ["step_context"]:
            raise ValueError("`step_fn` may either have one `step_context` argument, or `self` and `step_context` arguments if it's an instance method. "
                             "Got %s instead." % names)
        return self._sess.step_fn(step_fn)

    def should_stop(self):
        return self._sess is None or self._sess.should_stop()

    def close(self):
        self._close(None)

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        if kind in (errors.OutOfRangeError, StopIteration):
            kind = None
        self._close(kind)
        return kind is None

    def _close(self, kind):
        try:
            if kind is None:
                for hook in self._hooks:
                    hook.end(self._factory.tf_sess)
        finally:
            try:
                if self._sess is None:
                    raise RuntimeError("Session is already closed.")
                self._sess.close()
            finally:
                self._sess = self._factory.tf_sess = self._factory.coord = None
                if not self._graph_was_finalized:
                    G.get_default_graph()._unsafe_unfinalize()

    def _is_closed(self):
        return self._factory.tf_sess is None

    def _tf_sess(self):
        return self._factory.tf_sess


class MonitoredSession(_Monitored):
    """Recovers from AbortedError and UnavailableError by making a new session, restored by its creator."""

    def __init__(self, session_creator=None, hooks=None, stop_grace_period_secs=120):
        super(MonitoredSession, self).__init__(session_creator, hooks, True, stop_grace_period_secs)

    class StepContext(_StepContext):
        pass


class SingularMonitoredSession(_Monitored):
    """One session, of which every failure is the script's."""

    def __init__(self, hooks=None, scaffold=None, master="", config=None, checkpoint_dir=None, stop_grace_period_secs=120,
                 checkpoint_filename_with_path=None):
        creator = ChiefSessionCreator(scaffold, master, config, checkpoint_dir, checkpoint_filename_with_path)
        super(SingularMonitoredSession, self).__init__(creator, hooks, False, stop_grace_period_secs)

    def raw_session(self):
        return self._tf_sess()


def MonitoredTrainingSession(master="", is_chief=True, checkpoint_dir=None, scaffold=None, hooks=None, chief_only_hooks=None,
                             save_checkpoint_secs=USE_DEFAULT, save_summaries_steps=USE_DEFAULT, save_summaries_secs=USE_DEFAULT, config=None,
                             stop_grace_period_secs=120, log_step_count_steps=100, max_wait_secs=7200, save_checkpoint_steps=USE_DEFAULT, summary_dir=None,
                             save_graph_def=True):
    """A MonitoredSession for training: the chief restores or initializes and writes checkpoints and summaries, the others wait for it."""
    if save_summaries_steps is USE_DEFAULT and save_summaries_secs is USE_DEFAULT:
        save_summaries_steps, save_summaries_secs = 100, None
    elif save_summaries_secs is USE_DEFAULT:
        save_summaries_secs = None
    elif save_summaries_steps is USE_DEFAULT:
        save_summaries_steps = None
    if save_checkpoint_steps is USE_DEFAULT and save_checkpoint_secs is USE_DEFAULT:
        save_checkpoint_steps, save_checkpoint_secs = None, 600
    elif save_checkpoint_secs is USE_DEFAULT:
        save_checkpoint_secs = None
    elif save_checkpoint_steps is USE_DEFAULT:
        save_checkpoint_steps = None
    scaffold = scaffold or Scaffold()
    if not is_chief:
        return MonitoredSession(WorkerSessionCreator(scaffold, master, config, max_wait_secs), hooks or [], stop_grace_period_secs)
    every = list(chief_only_hooks or [])
    summary_dir = summary_dir or checkpoint_dir
    if summary_dir:
        if log_step_count_steps and log_step_count_steps > 0:
            every.append(StepCounterHook(output_dir=summary_dir, every_n_steps=log_step_count_steps))
        if (save_summaries_steps and save_summaries_steps > 0) or (save_summaries_secs and save_summaries_secs > 0):
            every.append(SummarySaverHook(scaffold=scaffold, save_steps=save_summaries_steps, save_secs=save_summaries_secs, output_dir=summary_dir))
    if checkpoint_dir and ((save_checkpoint_secs and save_checkpoint_secs > 0) or (save_checkpoint_steps and save_checkpoint_steps > 0)):
        every.append(CheckpointSaverHook(checkpoint_dir, save_steps=save_checkpoint_steps, save_secs=save_checkpoint_secs, scaffold=scaffold,
                                         save_graph_def=save_graph_def))
    return MonitoredSession(ChiefSessionCreator(scaffold, master, config, checkpoint_dir), every + list(hooks or []), stop_grace_period_secs)

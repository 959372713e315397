# SPDX-License-Identifier: Apache-2.0
"""What runs beside the steps of a MonitoredSession: hooks see each step before and after, may fetch and feed in it, and stop the session."""
import collections
import os
import time

from .. import graph as G
from .. import logging


class SessionRunArgs(collections.namedtuple("SessionRunArgs", ["fetches", "feed_dict", "options"])):
    """What a hook adds to a step."""

    def __new__(cls, fetches, feed_dict=None, options=None):
        return super(SessionRunArgs, cls).__new__(cls, fetches, feed_dict, options)


SessionRunValues = collections.namedtuple("SessionRunValues", ["results", "options", "run_metadata"])


class SessionRunContext(object):
    """A step under way, for the hooks."""

    def __init__(self, original_args, session):
        self._original_args, self._session, self._stop_requested = original_args, session, False

    original_args = property(lambda self: self._original_args)
    session = property(lambda self: self._session)
    stop_requested = property(lambda self: self._stop_requested)

    def request_stop(self):
        self._stop_requested = True


class SessionRunHook(object):
    """A hook that does nothing."""

    def begin(self):
        """Before the graph is finalized: nodes may be added."""

    def after_create_session(self, session, coord):
        """After a session was made, also after each recovery."""

    def before_run(self, run_context):
        """Gives SessionRunArgs, or None."""
        return None

    def after_run(self, run_context, run_values):
        """Sees what it fetched."""

    def end(self, session):
        """After the last step, if no exception ended it."""


class SecondOrStepTimer(object):
    """Says when so many seconds or steps have passed."""

    def __init__(self, every_secs=None, every_steps=None):
        if every_secs is None and every_steps is None:
            raise ValueError("Either every_secs or every_steps should be provided.")
        if every_secs is not None and every_steps is not None:
            raise ValueError("Can not provide both every_secs and every_steps.")
        self._every_secs, self._every_steps = every_secs, every_steps
        self.reset()

    def reset(self):
        self._step = self._time = None

    def should_trigger_for_step(self, step):
        if self._step is None:
            return True
        if self._step == step:
            return False
        if self._every_secs is not None:
            return time.time() >= self._time + self._every_secs
        return step >= self._step + self._every_steps

    def update_last_triggered_step(self, step):
        """(seconds, steps) since the last time, or (None, None)."""
        now = time.time()
        passed = (None, None) if self._time is None else (now - self._time, step - self._step)
        self._time, self._step = now, step
        return passed

    def last_triggered_step(self):
        return self._step


class _Never(SecondOrStepTimer):
    def __init__(self):
        self.reset()

    def should_trigger_for_step(self, step):
        return False

    def update_last_triggered_step(self, step):
        return None, None


def _global_step_read():
    """The global step, read after what else the step does to it."""
    from .steps import get_global_step
    step = get_global_step()
    if step is None:
        raise RuntimeError("Global step should be created to use this hook.")
    return step


def _element(graph, item):
    return graph.as_graph_element(item)


# --- telling ------------------------------------------------------------
class LoggingTensorHook(SessionRunHook):
    """Logs tensors every so many steps or seconds, or at the end."""

    def __init__(self, tensors, every_n_iter=None, every_n_secs=None, at_end=False, formatter=None):
        only_at_end = at_end and every_n_iter is None and every_n_secs is None
        if not only_at_end and (every_n_iter is None) == (every_n_secs is None):
            raise ValueError("either at_end and/or exactly one of every_n_iter and every_n_secs must be provided.")
        if every_n_iter is not None and every_n_iter <= 0:
            raise ValueError("invalid every_n_iter=%s." % every_n_iter)
        if isinstance(tensors, dict):
            self._order = list(tensors)
        else:
            self._order = list(tensors)
            tensors = dict((t, t) for t in tensors)
        self._tensors, self._formatter, self._at_end = tensors, formatter, at_end
        self._timer = _Never() if only_at_end else SecondOrStepTimer(every_secs=every_n_secs, every_steps=every_n_iter)

    def begin(self):
        self._timer.reset()
        self._count = 0
        self._current = dict((tag, _element(G.get_default_graph(), t)) for tag, t in self._tensors.items())

    def before_run(self, run_context):
        self._wanted = self._timer.should_trigger_for_step(self._count)
        return SessionRunArgs(self._current) if self._wanted else None

    def after_run(self, run_context, run_values):
        if self._wanted:
            self._log(run_values.results)
        self._count += 1

    def end(self, session):
        if self._at_end:
            self._log(session.run(self._current))

    def _log(self, values):
        seconds, _ = self._timer.update_last_triggered_step(self._count)
        if self._formatter:
            logging.info(self._formatter(values))
            return
        text = ", ".join("%s = %s" % (getattr(tag, "name", tag), values[tag]) for tag in self._order)
        logging.info("%s (%.3f sec)" % (text, seconds) if seconds is not None else text)


class StepCounterHook(SessionRunHook):
    """Steps a second, as a summary `global_step/sec` and in the log."""

    def __init__(self, every_n_steps=100, every_n_secs=None, output_dir=None, summary_writer=None):
        if (every_n_steps is None) == (every_n_secs is None):
            raise ValueError("exactly one of every_n_steps and every_n_secs should be provided.")
        self._timer = SecondOrStepTimer(every_steps=every_n_steps, every_secs=every_n_secs)
        self._writer, self._dir = summary_writer, output_dir
        self._steps_per_run = 1

    def begin(self):
        if self._writer is None and self._dir:
            from ..summary import FileWriterCache
            self._writer = FileWriterCache.get(self._dir)
        self._step = _global_step_read()
        self._tag = self._step.op.name + "/sec"

    def before_run(self, run_context):
        return SessionRunArgs(self._step)

    def after_run(self, run_context, run_values):
        stale = run_values.results
        if not self._timer.should_trigger_for_step(stale + self._steps_per_run):
            return
        step = run_context.session.run(self._step)
        if self._timer.should_trigger_for_step(step):
            seconds, steps = self._timer.update_last_triggered_step(step)
            if seconds is not None:
                self._log_and_record(seconds, steps, step)

    def _log_and_record(self, elapsed_time, elapsed_steps, global_step):
        rate = elapsed_steps / max(elapsed_time, 1e-9)
        if self._writer is not None:
            from ..protos import message
            summary = message("Summary")()
            summary.value.add(tag=self._tag, simple_value=rate)
            self._writer.add_summary(summary, global_step)
        logging.info("%s: %g", self._tag, rate)


class SummarySaverHook(SessionRunHook):
    """Writes summaries every so many steps or seconds."""

    def __init__(self, save_steps=None, save_secs=None, output_dir=None, summary_writer=None, scaffold=None, summary_op=None):
        if (scaffold is None) == (summary_op is None):
            raise ValueError("Exactly one of scaffold or summary_op must be provided.")
        self._op, self._scaffold, self._writer, self._dir = summary_op, scaffold, summary_writer, output_dir
        self._timer = SecondOrStepTimer(every_secs=save_secs, every_steps=save_steps)

    def begin(self):
        if self._writer is None and self._dir:
            from ..summary import FileWriterCache
            self._writer = FileWriterCache.get(self._dir)
        self._next, self._step = None, _global_step_read()

    def _ops(self):
        op = self._op if self._op is not None else self._scaffold.summary_op
        return None if op is None else op if isinstance(op, list) else [op]

    def before_run(self, run_context):
        self._wanted = self._next is None or self._timer.should_trigger_for_step(self._next)
        fetches = {"global_step": self._step}
        if self._wanted and self._ops() is not None:
            fetches["summary"] = self._ops()
        return SessionRunArgs(fetches)

    def after_run(self, run_context, run_values):
        if self._writer is None:
            return
        step = run_values.results["global_step"] + 1
        if self._next is None or self._wanted:
            step = run_context.session.run(self._step)
        if self._next is None:
            from ..protos import message
            self._writer.add_session_log(message("SessionLog")(status=1), step)
        if self._wanted:
            self._timer.update_last_triggered_step(step)
            for summary in run_values.results.get("summary", ()):
                self._writer.add_summary(summary, step)
        self._next = step + 1

    def end(self, session=None):
        if self._writer is not None:
            self._writer.flush()


class ProfilerHook(SessionRunHook):
    """Writes a Chrome trace (timeline-<step>.json) every so many steps or seconds."""

    def __init__(self, save_steps=None, save_secs=None, output_dir="", show_dataflow=True, show_memory=False):
        self._path = os.path.join(output_dir, "timeline-{}.json")
        self._show_dataflow, self._show_memory = show_dataflow, show_memory
        self._timer = SecondOrStepTimer(every_secs=save_secs, every_steps=save_steps)

    def begin(self):
        self._next, self._step = None, _global_step_read()

    def before_run(self, run_context):
        from ..protos import message
        self._wanted = self._next is not None and self._timer.should_trigger_for_step(self._next)
        options = message("RunOptions")(trace_level=3) if self._wanted else None
        return SessionRunArgs({"global_step": self._step}, options=options)

    def after_run(self, run_context, run_values):
        step = run_values.results["global_step"]
        if self._next is None:
            self._timer.update_last_triggered_step(step)
        if self._wanted:
            from ..timeline import Timeline
            step = run_context.session.run(self._step)
            self._timer.update_last_triggered_step(step)
            with open(self._path.format(step), "w") as f:
                f.write(Timeline(run_values.run_metadata.step_stats).generate_chrome_trace_format(self._show_dataflow, self._show_memory))
        self._next = step + 1


# --- saving -------------------------------------------------------------
class CheckpointSaverListener(object):
    """Called around each checkpoint."""

    def begin(self):
        pass

    def before_save(self, session, global_step_value):
        pass

    def after_save(self, session, global_step_value):
        """True asks for the session's end."""

    def end(self, session, global_step_value):
        pass


class CheckpointSaverHook(SessionRunHook):
    """Writes checkpoints: when the session begins, every so many steps or seconds, and at the end."""

    def __init__(self, checkpoint_dir, save_secs=None, save_steps=None, saver=None, checkpoint_basename="model.ckpt", scaffold=None, listeners=None,
                 save_graph_def=True):
        if saver is not None and scaffold is not None:
            raise ValueError("You cannot provide both saver and scaffold.")
        self._saver, self._scaffold, self._dir, self._save_graph_def = saver, scaffold, checkpoint_dir, save_graph_def
        self._path = os.path.join(checkpoint_dir, checkpoint_basename)
        self._timer = SecondOrStepTimer(every_secs=save_secs, every_steps=save_steps)
        self._listeners = listeners or []

    def begin(self):
        from ..summary import FileWriterCache
        self._writer = FileWriterCache.get(self._dir)
        self._step = _global_step_read()
        for listener in self._listeners:
            listener.begin()

    def after_create_session(self, session, coord):
        step = session.run(self._step)
        if self._save_graph_def:
            from .export import write_graph
            write_graph(G.get_default_graph(), self._dir, "graph.pbtxt")
        saver_def = self._get_saver().saver_def if self._get_saver() else None
        self._writer.add_graph(session.graph)
        if saver_def is not None:
            from .export import export_meta_graph
            self._writer.add_meta_graph(export_meta_graph(graph=session.graph, saver_def=saver_def))
        self._save(session, step)
        self._timer.update_last_triggered_step(step)

    def before_run(self, run_context):
        return SessionRunArgs(self._step)

    def after_run(self, run_context, run_values):
        if not self._timer.should_trigger_for_step(run_values.results + 1):
            return
        step = run_context.session.run(self._step)
        if self._timer.should_trigger_for_step(step):
            self._timer.update_last_triggered_step(step)
            if self._save(run_context.session, step):
                run_context.request_stop()

    def end(self, session):
        step = session.run(self._step)
        if step != self._timer.last_triggered_step():
            self._save(session, step)
        for listener in self._listeners:
            listener.end(session, step)

    def _save(self, session, step):
        logging.info("Saving checkpoints for %d into %s.", step, self._path)
        for listener in self._listeners:
            listener.before_save(session, step)
        self._get_saver().save(session, self._path, global_step=int(step), write_meta_graph=self._save_graph_def)
        from ..protos import message
        self._writer.add_session_log(message("SessionLog")(status=3, checkpoint_path=self._path), step)
        wants_end = False
        for listener in self._listeners:
            if listener.after_save(session, step):
                logging.info("A CheckpointSaverListener requested that training be stopped. listener: %s", listener)
                wants_end = True
        return wants_end

    def _get_saver(self):
        if self._saver is not None:
            return self._saver
        if self._scaffold is not None:
            return self._scaffold.saver
        found = G.get_collection(G.GraphKeys.SAVERS)
        if len(found) != 1:
            raise RuntimeError("%s items in collection SAVERS. Please add one saver or provide a saver or scaffold." % ("More than one" if found else "No"))
        self._saver = found[0]
        return self._saver


# --- stopping -----------------------------------------------------------
class StopAtStepHook(SessionRunHook):
    """Ends the session at a step, or after so many."""

    def __init__(self, num_steps=None, last_step=None):
        if (num_steps is None) == (last_step is None):
            raise ValueError("Exactly one of num_steps or last_step must be specified.")
        self._num_steps, self._last_step = num_steps, last_step

    def begin(self):
        self._step = _global_step_read()

    def after_create_session(self, session, coord):
        if self._last_step is None:
            self._last_step = session.run(self._step) + self._num_steps

    def before_run(self, run_context):
        return SessionRunArgs(self._step)

    def after_run(self, run_context, run_values):
        # what was fetched may be of before this step's update
        if run_values.results + 1 >= self._last_step and run_context.session.run(self._step) >= self._last_step:
            run_context.request_stop()


class NanLossDuringTrainingError(RuntimeError):
    def __str__(self):
        return "NaN loss during training."


class NanTensorHook(SessionRunHook):
    """Ends the session, or fails, when a loss is not a number."""

    def __init__(self, loss_tensor, fail_on_nan_loss=True):
        self._loss, self._fail = loss_tensor, fail_on_nan_loss

    def before_run(self, run_context):
        return SessionRunArgs(self._loss)

    def after_run(self, run_context, run_values):
        import numpy as np
        if not np.isnan(run_values.results).any():
            return
        text = "Model diverged with loss = NaN."
        if self._fail:
            logging.error(text)
            raise NanLossDuringTrainingError
        logging.warning(text)
        run_context.request_stop()


class GlobalStepWaiterHook(SessionRunHook):
    """Holds the first step back until the global step has come so far."""

    def __init__(self, wait_until_step):
        self._wait_until_step = wait_until_step

    def begin(self):
        self._done, self._step = False, _global_step_read()

    def before_run(self, run_context):
        if self._done or self._wait_until_step <= 0:
            self._done = True
            return None
        logging.info("Waiting for global step %d before starting training.", self._wait_until_step)
        while run_context.session.run(self._step) < self._wait_until_step:
            time.sleep(0.5)
        self._done = True
        return None


class FinalOpsHook(SessionRunHook):
    """Computes something when the session ends."""

    def __init__(self, final_ops, final_ops_feed_dict=None):
        self._final_ops, self._feed_dict, self._values = final_ops, final_ops_feed_dict, None

    final_ops_values = property(lambda self: self._values)

    def end(self, session):
        if self._final_ops is not None:
            self._values = session.run(self._final_ops, feed_dict=self._feed_dict)


class FeedFnHook(SessionRunHook):
    """Feeds each step what feed_fn gives."""

    def __init__(self, feed_fn):
        self.feed_fn = feed_fn

    def before_run(self, run_context):
        return SessionRunArgs(fetches=None, feed_dict=self.feed_fn())

# SPDX-License-Identifier: Apache-2.0
"""MonitoredSession, hooks, SessionManager, Supervisor and queue input: the loop of a training script, its files, its recovery."""
import glob
import os
import threading

import numpy as np
import pytest

import headrace as tf


def _model(rate=0.1):
    """w goes to 3; returns (train_op, loss, step)."""
    step = tf.train.get_or_create_global_step()
    w = tf.get_variable("w", [], initializer=tf.zeros_initializer())
    loss = tf.square(w - 3.0, name="loss")
    tf.summary.scalar("loss", loss)
    return tf.train.GradientDescentOptimizer(rate).minimize(loss, global_step=step), loss, step


class Recorder(tf.train.SessionRunHook):
    def __init__(self, fetch=None):
        self.calls, self.fetch, self.seen = [], fetch, []

    def begin(self):
        self.calls.append("begin")

    def after_create_session(self, session, coord):
        self.calls.append("create")

    def before_run(self, context):
        self.calls.append("before")
        return None if self.fetch is None else tf.train.SessionRunArgs(self.fetch)

    def after_run(self, context, values):
        self.calls.append("after")
        self.seen.append(values.results)

    def end(self, session):
        self.calls.append("end")


def test_training_script(tmp_path):
    folder = str(tmp_path)
    for last, first in ((20, 0), (35, 20)):
        with tf.Graph().as_default():
            train, loss, step = _model()
            recorder = Recorder({"loss": loss})
            with tf.train.MonitoredTrainingSession(checkpoint_dir=folder, save_checkpoint_steps=7, save_summaries_steps=5, log_step_count_steps=10,
                                                   hooks=[tf.train.StopAtStepHook(last_step=last), recorder]) as session:
                assert session.run(step) in (first, first)
                while not session.should_stop():
                    session.run(train)
            assert recorder.calls[:2] == ["begin", "create"] and recorder.calls[-1] == "end"
            assert recorder.seen[-1]["loss"] < recorder.seen[0]["loss"]
        assert tf.train.latest_checkpoint(folder).endswith("model.ckpt-%d" % last)
    assert os.path.exists(os.path.join(folder, "graph.pbtxt"))
    tags = set()
    tf.summary.FileWriterCache.clear()
    for path in glob.glob(os.path.join(folder, "events*")):
        for event in tf.train.summary_iterator(path):
            tags.update(v.tag for v in event.summary.value)
    assert "loss_1" in tags and "global_step/sec" in tags


def test_hooks_feed_log_and_stop(caplog):
    with tf.Graph().as_default():
        x = tf.placeholder_with_default(0.0, [], name="x")
        y = tf.multiply(x, 2.0, name="y")
        tf.train.get_or_create_global_step()
        final = tf.train.FinalOpsHook(y, {x: 10.0})
        hooks = [tf.train.FeedFnHook(lambda: {x: 4.0}), tf.train.LoggingTensorHook({"twice": y}, every_n_iter=1, formatter=lambda d: "twice %g" % d["twice"]),
                 final]
        tf.logging.set_verbosity(tf.logging.INFO)
        with tf.train.SingularMonitoredSession(hooks=hooks) as session:
            assert session.run(y) == 8.0
            with pytest.raises(RuntimeError):
                session.run(y, {x: 1.0})
            assert session.raw_session().run(y) == 0.0
        assert final.final_ops_values == 20.0
        with pytest.raises(RuntimeError):
            session.run(y)
    assert "twice 8" in caplog.text


def test_nan_hook():
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [])
        with pytest.raises(tf.train.NanLossDuringTrainingError):
            with tf.train.MonitoredSession(hooks=[tf.train.NanTensorHook(x)]) as session:
                session.run(x, {x: 1.0})
                session.run(x, {x: float("nan")})


class Lossy(tf.train.SessionRunHook):
    """Fails like a lost server at some steps."""

    def __init__(self, at):
        self.at, self.step, self.made = at, 0, 0

    def after_create_session(self, session, coord):
        self.made += 1

    def before_run(self, context):
        self.step += 1
        if self.step in self.at:
            raise self.at[self.step](None, None, "gone")


def test_recovery_from_lost_servers(tmp_path):
    with tf.Graph().as_default():
        train, _, step = _model()
        lossy = Lossy({5: tf.errors.AbortedError, 9: tf.errors.UnavailableError})
        with tf.train.MonitoredTrainingSession(checkpoint_dir=str(tmp_path), save_checkpoint_steps=2, save_summaries_steps=0, log_step_count_steps=0,
                                               hooks=[tf.train.StopAtStepHook(last_step=12), lossy]) as session:
            while not session.should_stop():
                session.run(train)
        assert lossy.made == 3
    with tf.Graph().as_default():
        lossy = Lossy({2: tf.errors.InternalError})
        with pytest.raises(tf.errors.InternalError):
            with tf.train.MonitoredSession(hooks=[lossy]) as session:
                for _ in range(3):
                    session.run(tf.constant(1) if session.graph is None else session.graph.get_operations()[0])


def test_step_functions():
    with tf.Graph().as_default():
        train, _, step = _model()
        with tf.train.MonitoredSession(hooks=[tf.train.StopAtStepHook(num_steps=3)]) as session:
            def step_fn(step_context):
                step_context.session.run(step)
                return step_context.run_with_hooks(train)
            while not session.should_stop():
                session.run_step_fn(step_fn)
            assert session._tf_sess().run(step) == 3
            with pytest.raises(ValueError):
                session.run_step_fn(lambda a, b: None)


def test_queue_runners_run_and_end_the_loop():
    with tf.Graph().as_default():
        value = tf.train.range_input_producer(4, num_epochs=2, shuffle=False).dequeue()
        batch = tf.train.batch([value], 3, allow_smaller_final_batch=True)
        found = []
        with tf.train.MonitoredSession() as session:
            while not session.should_stop():
                found.append(session.run(batch).tolist())
    assert [len(b) for b in found] == [3, 3, 2] and sorted(sum(found, [])) == [0, 0, 1, 1, 2, 2, 3, 3]


def test_input_pipelines():
    with tf.Graph().as_default(), tf.Session() as session:
        a, b = tf.train.slice_input_producer([tf.constant([1, 2, 3, 4]), tf.constant([10.0, 20.0, 30.0, 40.0])], num_epochs=3, seed=1)
        shuffled = tf.train.shuffle_batch({"a": a, "b": b}, 4, capacity=12, min_after_dequeue=4, num_threads=2)
        names = tf.train.string_input_producer(["x", "y"], shuffle=False).dequeue()
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coord)
        for _ in range(3):
            got = session.run(shuffled)
            assert np.array_equal(got["a"] * 10, got["b"].astype(int))
        assert [session.run(names) for _ in range(3)] == [b"x", b"y", b"x"]
        with pytest.raises(tf.errors.OutOfRangeError):
            session.run(shuffled)
        coord.request_stop()
        coord.join(threads)
    with pytest.raises(ValueError):
        tf.train.string_input_producer([])


def test_supervisor(tmp_path):
    for last in (10, 15):
        with tf.Graph().as_default():
            train, _, step = _model()
            supervisor = tf.train.Supervisor(logdir=str(tmp_path), save_model_secs=0, save_summaries_secs=0)
            with supervisor.managed_session() as session:
                assert session.run(step) == last - 10 if last == 10 else session.run(step) == 10
                while not supervisor.should_stop() and session.run(step) < last:
                    session.run(train)
                supervisor.saver.save(session, supervisor.save_path, global_step=supervisor.global_step)
    assert tf.train.latest_checkpoint(str(tmp_path)).endswith("-15")
    with tf.Graph().as_default():
        _model()
        supervisor = tf.train.Supervisor(logdir=None)
        with pytest.raises(ZeroDivisionError):
            with supervisor.managed_session() as session:
                1 // 0


def test_session_manager_waits_for_the_chief():
    with tf.Graph().as_default() as graph:
        v = tf.Variable(1.0, name="v")
        ready = tf.report_uninitialized_variables()
        init = tf.global_variables_initializer()
        manager = tf.train.SessionManager(ready_op=ready, graph=graph, recovery_wait_secs=0.05)
        with pytest.raises(tf.errors.DeadlineExceededError):
            manager.wait_for_session("", max_wait_secs=0.2)
        session, done = manager.recover_session("")
        assert not done
        session = manager.prepare_session("", init_op=init)
        assert session.run(v) == 1.0
        with pytest.raises(RuntimeError, match="not initialized"):
            manager.prepare_session("")


def test_looper_threads_begin_at_once():
    coord, begun = tf.train.Coordinator(), threading.Event()
    tf.train.LooperThread.loop(coord, 3600, begun.set)
    assert begun.wait(10)
    coord.request_stop()
    coord.join()


def test_a_supervisor_saves_when_training_begins(tmp_path):
    step = tf.train.get_or_create_global_step()
    sv = tf.train.Supervisor(logdir=str(tmp_path), save_model_secs=3600, global_step=step)
    with sv.managed_session() as sess:
        for _ in range(200):
            if tf.train.latest_checkpoint(str(tmp_path)):
                break
            sv.coord.wait_for_stop(0.05)
        assert int(sess.run(step)) == 0
    assert tf.train.latest_checkpoint(str(tmp_path)) == str(tmp_path / "model.ckpt-0")


def test_looper_threads_stop_together():
    coord, count, enough = tf.train.Coordinator(), [], threading.Event()

    def tick():
        count.append(1)
        if len(count) == 3:
            enough.set()
    tf.train.LooperThread.loop(coord, 0.01, tick)
    assert enough.wait(10)
    coord.request_stop()
    coord.join()

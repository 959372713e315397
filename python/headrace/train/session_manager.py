# SPDX-License-Identifier: Apache-2.0
"""Sessions that are ready to train: initialized, or restored from a checkpoint, or waited for until another process has done so."""
import time

from .. import errors
from .. import graph as G
from .. import logging
from . import checkpoints


def _is_ready(op, sess, what):
    """(True, None), or (False, what is missing). `op` lists uninitialized variables, or fails."""
    if op is None:
        return True, None
    try:
        missing = sess.run(op)
    except errors.FailedPreconditionError as e:
        if "uninitialized" not in str(e):
            logging.warning("%s: unexpected failure %s", what, e)
        return False, what + " failed: " + str(e)
    if missing is None or not len(missing):
        return True, None
    return False, "Variables not initialized: " + ", ".join(m.decode("utf-8") for m in missing)


class SessionManager(object):
    """Makes sessions from a checkpoint, an init_op, or another process's work."""

    def __init__(self, local_init_op=None, ready_op=None, ready_for_local_init_op=None, graph=None, recovery_wait_secs=30, local_init_run_options=None,
                 local_init_feed_dict=None):
        if ready_for_local_init_op is not None and local_init_op is None:
            raise ValueError("If you pass a ready_for_local_init_op you must also pass a local_init_op, ready_for_local_init_op [%s]" %
                             ready_for_local_init_op)
        self._local_init_op, self._ready_op, self._ready_for_local_init_op = local_init_op, ready_op, ready_for_local_init_op
        self._graph = graph or G.get_default_graph()
        self._recovery_wait_secs, self._local_init_run_options = recovery_wait_secs, local_init_run_options
        self._local_init_feed_dict, self._target = local_init_feed_dict, None

    def _open(self, master, config):
        from ..session import Session
        self._target = master
        return Session(master, graph=self._graph, config=config)

    def _restore(self, master, saver, checkpoint_dir, checkpoint_filename_with_path, wait_for_checkpoint, max_wait_secs, config):
        """(session, whether a checkpoint was restored)"""
        sess = self._open(master, config)
        if checkpoint_dir and checkpoint_filename_with_path:
            raise ValueError("Can not provide both checkpoint_dir and checkpoint_filename_with_path.")
        if not saver or not (checkpoint_dir or checkpoint_filename_with_path):
            return sess, False
        if checkpoint_filename_with_path:
            saver.restore(sess, checkpoint_filename_with_path)
            return sess, True
        waited, state = 0, checkpoints.get_checkpoint_state(checkpoint_dir)
        while not state or not state.model_checkpoint_path:
            if not wait_for_checkpoint or waited >= max_wait_secs:
                return sess, False
            logging.info("Waiting for checkpoint to be available.")
            time.sleep(self._recovery_wait_secs)
            waited += self._recovery_wait_secs
            state = checkpoints.get_checkpoint_state(checkpoint_dir)
        saver.restore(sess, state.model_checkpoint_path)
        saver.recover_last_checkpoints(state.all_model_checkpoint_paths)
        return sess, True

    def prepare_session(self, master, init_op=None, saver=None, checkpoint_dir=None, checkpoint_filename_with_path=None, wait_for_checkpoint=False,
                        max_wait_secs=7200, config=None, init_feed_dict=None, init_fn=None):
        """A session restored from the checkpoint, or else initialized."""
        sess, restored = self._restore(master, saver, checkpoint_dir, checkpoint_filename_with_path, wait_for_checkpoint, max_wait_secs, config)
        if not restored:
            if init_op is None and not init_fn and self._local_init_op is None:
                raise RuntimeError("Model is not initialized and no init_op or init_fn or local_init_op was given")
            if init_op is not None:
                sess.run(init_op, feed_dict=init_feed_dict)
            if init_fn:
                init_fn(sess)
        done, why = self._try_local_init(sess)
        if not done:
            raise RuntimeError("Init operations did not make model ready for local_init.  Init op: %s, init fn: %s, error: %s" %
                               (getattr(init_op, "name", init_op), init_fn, why))
        ready, why = _is_ready(self._ready_op, sess, "Model not ready")
        if not ready:
            raise RuntimeError("Init operations did not make model ready.  Init op: %s, init fn: %s, local_init_op: %s, error: %s" %
                               (getattr(init_op, "name", init_op), init_fn, self._local_init_op, why))
        return sess

    def recover_session(self, master, saver=None, checkpoint_dir=None, checkpoint_filename_with_path=None, wait_for_checkpoint=False, max_wait_secs=7200,
                        config=None):
        """(session, whether it is ready): restored if there is a checkpoint."""
        sess, restored = self._restore(master, saver, checkpoint_dir, checkpoint_filename_with_path, wait_for_checkpoint, max_wait_secs, config)
        done, why = self._try_local_init(sess)
        if not done:
            logging.info("Restoring model from %s did not make model ready for local init: %s", checkpoint_dir, why)
            return sess, False
        ready, why = _is_ready(self._ready_op, sess, "Model not ready")
        if not ready:
            logging.info("Restoring model from %s did not make model ready: %s", checkpoint_dir, why)
            return sess, False
        return sess, restored

    def wait_for_session(self, master, config=None, max_wait_secs=float("Inf")):
        """A session on variables that another process initializes, once it has."""
        end = time.monotonic() + (max_wait_secs or float("Inf"))
        while True:
            sess = self._open(master, config)
            done, why = self._try_local_init(sess)
            if done:
                ready, why = _is_ready(self._ready_op, sess, "Model not ready")
                if ready:
                    return sess
            sess.close()
            left = end - time.monotonic()
            if left <= self._recovery_wait_secs:
                raise errors.DeadlineExceededError(None, None, "Session was not ready after waiting %d secs." % max_wait_secs)
            logging.info("Waiting for model to be ready.  %s", why)
            time.sleep(self._recovery_wait_secs)

    def _try_local_init(self, sess):
        if self._local_init_op is None:
            return True, None
        ready, why = _is_ready(self._ready_for_local_init_op, sess, "Model not ready for local init")
        if not ready:
            return False, why
        sess.run(self._local_init_op, feed_dict=self._local_init_feed_dict, options=self._local_init_run_options)
        return True, None

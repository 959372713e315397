# SPDX-License-Identifier: Apache-2.0
"""basic_train_loop: calls a training function until the supervisor stops, anew after a lost server."""
from .. import errors


def basic_train_loop(supervisor, train_step_fn, args=None, kwargs=None, master=""):
    """train_step_fn(session, *args, **kwargs), again and again."""
    args, kwargs = args or (), kwargs or {}
    should_retry = True
    while should_retry:
        try:
            should_retry = False
            with supervisor.managed_session(master) as sess:
                while not supervisor.should_stop():
                    train_step_fn(sess, *args, **kwargs)
        except errors.AbortedError:
            should_retry = True

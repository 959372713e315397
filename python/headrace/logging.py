# SPDX-License-Identifier: Apache-2.0
"""tf.logging: Python's logging, with the lines and levels of TensorFlow's."""
DEBUG, INFO, WARN, WARNING, ERROR, FATAL = 10, 20, 30, 30, 40, 50
_logger = None


def get_logger():
    global _logger
    if _logger is None:
        import logging
        _logger = logging.getLogger("tensorflow")
        if not _logger.handlers and not logging.getLogger().handlers:
            handler = logging.StreamHandler()
            handler.setFormatter(logging.Formatter("%(levelname)s:%(name)s:%(message)s"))
            _logger.addHandler(handler)
        if _logger.level == 0:
            _logger.setLevel(WARN)
    return _logger


def set_verbosity(v):
    get_logger().setLevel(v)


def get_verbosity():
    return get_logger().getEffectiveLevel()


def log(level, msg, *args, **kwargs):
    get_logger().log(level, msg, *args, **kwargs)


def debug(msg, *args, **kwargs):
    log(DEBUG, msg, *args, **kwargs)


def info(msg, *args, **kwargs):
    log(INFO, msg, *args, **kwargs)


def warning(msg, *args, **kwargs):
    log(WARN, msg, *args, **kwargs)


warn = warning


def error(msg, *args, **kwargs):
    log(ERROR, msg, *args, **kwargs)


def fatal(msg, *args, **kwargs):
    log(FATAL, msg, *args, **kwargs)


_counts = {}


def log_every_n(level, msg, n, *args):
    _counts[msg] = _counts.get(msg, -1) + 1
    if _counts[msg] % n == 0:
        log(level, msg, *args)


def log_first_n(level, msg, n, *args):
    _counts[msg] = _counts.get(msg, 0) + 1
    if _counts[msg] <= n:
        log(level, msg, *args)


def log_if(level, msg, condition, *args):
    if condition:
        log(level, msg, *args)


def flush():
    for handler in get_logger().handlers:
        handler.flush()


def vlog(level, msg, *args, **kwargs):
    log(DEBUG if level > 0 else INFO, msg, *args, **kwargs)

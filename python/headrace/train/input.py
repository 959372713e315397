# SPDX-License-Identifier: Apache-2.0
"""Input pipelines of queues: producers of file names and indices, and batches, each with the QueueRunner that fills it."""
from .. import dtypes, summary
from .. import graph as G
from ..control import Assert, no_op
from ..flow import smart_cond
from ..op_gen import gen
from ..queues import FIFOQueue, PaddingFIFOQueue, RandomShuffleQueue
from ..tensor_shape import TensorShape
from ..tensor_util import constant, convert_to_tensor
from .queue_runners import QueueRunner, add_queue_runner


def match_filenames_once(pattern, name=None):
    """File names that match, found when local variables are initialized."""
    from ..variables import Variable
    with G.name_scope(name, "matching_filenames", [pattern]) as scope:
        return Variable(gen.MatchingFiles(pattern), name=scope, trainable=False, validate_shape=False, collections=[G.GraphKeys.LOCAL_VARIABLES])


def limit_epochs(tensor, num_epochs=None, name=None):
    """The tensor so many times, then OutOfRangeError. The count is a local variable."""
    from ..array import identity
    from ..variables import Variable
    if num_epochs is None:
        return tensor
    if num_epochs <= 0:
        raise ValueError("num_epochs must be > 0 not %d." % num_epochs)
    with G.name_scope(name, "limit_epochs", [tensor]) as scope:
        epochs = Variable(constant(0, dtype=dtypes.int64), name="epochs", trainable=False, collections=[G.GraphKeys.LOCAL_VARIABLES])
        counter = epochs.count_up_to(num_epochs)
        with G.control_dependencies([counter]):
            return identity(tensor, name=scope)


def input_producer(input_tensor, element_shape=None, num_epochs=None, shuffle=True, seed=None, capacity=32, shared_name=None, summary_name=None,
                   name=None, cancel_op=None):
    """A queue of the rows of a tensor."""
    from ..math import cast
    from ..random import random_shuffle
    with G.name_scope(name, "input_producer", [input_tensor]) as scope:
        rows = convert_to_tensor(input_tensor, name="input_tensor")
        element_shape = rows.shape[1:].merge_with(TensorShape(element_shape))
        if not element_shape.is_fully_defined():
            raise ValueError("Either `input_tensor` must have a fully defined shape or `element_shape` must be specified")
        if shuffle:
            rows = random_shuffle(rows, seed=seed)
        rows = limit_epochs(rows, num_epochs)
        queue = FIFOQueue(capacity=capacity, dtypes=[rows.dtype.base_dtype], shapes=[element_shape], shared_name=shared_name, name=scope)
        add_queue_runner(QueueRunner(queue, [queue.enqueue_many([rows])], cancel_op=cancel_op))
        if summary_name is not None:
            summary.scalar(summary_name, cast(queue.size(), dtypes.float32) * (1. / capacity))
        return queue


def string_input_producer(string_tensor, num_epochs=None, shuffle=True, seed=None, capacity=32, shared_name=None, name=None, cancel_op=None):
    """A queue of strings, file names above all."""
    from ..array import identity, size
    empty = "string_input_producer requires a non-null input tensor"
    if not hasattr(string_tensor, "op") and not len(string_tensor):
        raise ValueError(empty)
    with G.name_scope(name, "input_producer", [string_tensor]) as scope:
        strings = convert_to_tensor(string_tensor, dtype=dtypes.string)
        with G.control_dependencies([Assert(gen.Greater(size(strings), 0), [empty])]):
            strings = identity(strings)
        return input_producer(strings, [], num_epochs, shuffle, seed, capacity, shared_name, "fraction_of_%d_full" % capacity, scope, cancel_op)


def range_input_producer(limit, num_epochs=None, shuffle=True, seed=None, capacity=32, shared_name=None, name=None):
    """A queue of the numbers below a limit."""
    from ..math import range
    with G.name_scope(name, "input_producer", [limit]) as scope:
        return input_producer(range(limit), [], num_epochs, shuffle, seed, capacity, shared_name, "fraction_of_%d_full" % capacity, scope)


def slice_input_producer(tensor_list, num_epochs=None, shuffle=True, seed=None, capacity=32, shared_name=None, name=None):
    """One row of each tensor at a time."""
    from ..array import gather, shape
    with G.name_scope(name, "input_producer", tensor_list):
        tensors = [convert_to_tensor(t) for t in tensor_list]
        if not tensors:
            raise ValueError("Expected at least one tensor in slice_input_producer().")
        queue = range_input_producer(shape(tensors[0])[0], num_epochs, shuffle, seed, capacity, shared_name)
        index = queue.dequeue()
        return [gather(t, index) for t in tensors]


# --- batches ------------------------------------------------------------

def _as_list(tensors):
    items = [tensors[k] for k in sorted(tensors)] if isinstance(tensors, dict) else list(tensors) if isinstance(tensors, (list, tuple)) else [tensors]
    if not items:
        raise ValueError("Expected at least one tensor in batch().")
    if any(hasattr(t, "dense_shape") for t in items):
        raise NotImplementedError("batch: sparse tensors")
    return [convert_to_tensor(t) for t in items]


def _like(original, tensors):
    if isinstance(original, dict):
        return dict(zip(sorted(original), tensors))
    return tensors if len(tensors) > 1 else tensors[0]


def _shapes(lists, shapes, enqueue_many):
    """The shape of each component, as far as all the lists agree."""
    if shapes is not None:
        return [TensorShape(s) for s in shapes]
    found = []
    for column in zip(*lists):
        own = [t.shape[1:] if enqueue_many else t.shape for t in column]
        shape = own[0]
        for other in own[1:]:
            if shape.rank is None or other.rank != shape.rank:
                shape = TensorShape(None)
                break
            shape = TensorShape([a if a == b else None for a, b in zip(shape._dims, other._dims)])
        found.append(shape)
    return found


def _checked(shapes, dynamic_pad):
    if not dynamic_pad and not all(s.is_fully_defined() for s in shapes):
        raise ValueError("All shapes must be fully defined: %s" % [str(s) for s in shapes])
    return shapes


def _fill(queue, lists, threads, enqueue_many, keep):
    ops = []
    for tensors in lists:
        put = queue.enqueue_many if enqueue_many else queue.enqueue
        if keep.shape.rank == 1:
            from ..array import boolean_mask
            op = queue.enqueue_many([boolean_mask(t, keep) for t in tensors])
        else:
            op = smart_cond(keep, lambda: put(tensors), no_op)
        ops += [op] * threads
    add_queue_runner(QueueRunner(queue, ops))


def _take(queue, batch_size, allow_smaller_final_batch, original, scope):
    take = queue.dequeue_up_to if allow_smaller_final_batch else queue.dequeue_many
    taken = take(batch_size, name=scope)
    return _like(original, taken if isinstance(taken, (list, tuple)) else [taken])


def _batch(sources, original, batch_size, keep_input, threads, capacity, enqueue_many, shapes, dynamic_pad, smaller, shared_name, name, default):
    from ..math import cast
    lists = [_as_list(s) for s in sources]
    with G.name_scope(name, default, [t for tensors in lists for t in tensors]) as scope:
        keep = convert_to_tensor(keep_input)
        shapes = _checked(_shapes(lists, shapes, enqueue_many), dynamic_pad)
        kind = PaddingFIFOQueue if dynamic_pad else FIFOQueue
        queue = kind(capacity=capacity, dtypes=[t.dtype.base_dtype for t in lists[0]], shapes=shapes, shared_name=shared_name)
        _fill(queue, lists, threads, enqueue_many, keep)
        summary.scalar("fraction_of_%d_full" % capacity, cast(queue.size(), dtypes.float32) * (1. / capacity))
        return _take(queue, batch_size, smaller, original, scope)


def batch(tensors, batch_size, num_threads=1, capacity=32, enqueue_many=False, shapes=None, dynamic_pad=False, allow_smaller_final_batch=False,
          shared_name=None, name=None):
    """Batches of the tensors' values from one step after another."""
    return _batch([tensors], tensors, batch_size, True, num_threads, capacity, enqueue_many, shapes, dynamic_pad, allow_smaller_final_batch, shared_name,
                  name, "batch")


def maybe_batch(tensors, keep_input, batch_size, num_threads=1, capacity=32, enqueue_many=False, shapes=None, dynamic_pad=False,
                allow_smaller_final_batch=False, shared_name=None, name=None):
    """batch of those that keep_input says."""
    return _batch([tensors], tensors, batch_size, keep_input, num_threads, capacity, enqueue_many, shapes, dynamic_pad, allow_smaller_final_batch,
                  shared_name, name, "batch")


def batch_join(tensors_list, batch_size, capacity=32, enqueue_many=False, shapes=None, dynamic_pad=False, allow_smaller_final_batch=False,
               shared_name=None, name=None):
    """batch of several sources, a thread each."""
    return _batch(tensors_list, tensors_list[0], batch_size, True, 1, capacity, enqueue_many, shapes, dynamic_pad, allow_smaller_final_batch, shared_name,
                  name, "batch_join")


def _shuffle_batch(sources, original, batch_size, capacity, min_after_dequeue, keep_input, threads, seed, enqueue_many, shapes, smaller, shared_name, name,
                   default):
    from ..math import cast
    lists = [_as_list(s) for s in sources]
    with G.name_scope(name, default, [t for tensors in lists for t in tensors]) as scope:
        if capacity <= min_after_dequeue:
            raise ValueError("capacity %d must be bigger than min_after_dequeue %d." % (capacity, min_after_dequeue))
        keep = convert_to_tensor(keep_input)
        queue = RandomShuffleQueue(capacity=capacity, min_after_dequeue=min_after_dequeue, seed=seed, dtypes=[t.dtype.base_dtype for t in lists[0]],
                                   shapes=_checked(_shapes(lists, shapes, enqueue_many), False), shared_name=shared_name)
        _fill(queue, lists, threads, enqueue_many, keep)
        over = capacity - min_after_dequeue
        full = cast(gen.Maximum(0, queue.size() - min_after_dequeue), dtypes.float32) * (1. / over)
        summary.scalar("fraction_over_%d_of_%d_full" % (min_after_dequeue, over), full)
        return _take(queue, batch_size, smaller, original, scope)


def shuffle_batch(tensors, batch_size, capacity, min_after_dequeue, num_threads=1, seed=None, enqueue_many=False, shapes=None,
                  allow_smaller_final_batch=False, shared_name=None, name=None):
    """Batches in random order, of at least min_after_dequeue values."""
    return _shuffle_batch([tensors], tensors, batch_size, capacity, min_after_dequeue, True, num_threads, seed, enqueue_many, shapes,
                          allow_smaller_final_batch, shared_name, name, "shuffle_batch")


def maybe_shuffle_batch(tensors, batch_size, capacity, min_after_dequeue, keep_input, num_threads=1, seed=None, enqueue_many=False, shapes=None,
                        allow_smaller_final_batch=False, shared_name=None, name=None):
    """shuffle_batch of those that keep_input says."""
    return _shuffle_batch([tensors], tensors, batch_size, capacity, min_after_dequeue, keep_input, num_threads, seed, enqueue_many, shapes,
                          allow_smaller_final_batch, shared_name, name, "shuffle_batch")


def shuffle_batch_join(tensors_list, batch_size, capacity, min_after_dequeue, seed=None, enqueue_many=False, shapes=None,
                       allow_smaller_final_batch=False, shared_name=None, name=None):
    """shuffle_batch of several sources, a thread each."""
    return _shuffle_batch(tensors_list, tensors_list[0], batch_size, capacity, min_after_dequeue, True, 1, seed, enqueue_many, shapes,
                          allow_smaller_final_batch, shared_name, name, "shuffle_batch_join")

# SPDX-License-Identifier: Apache-2.0
"""Queues of tuples of tensors that steps put in and take out, waiting for one another."""
from headrace import dtypes
from headrace.graph import device, init_scope, name_scope
from headrace.op_gen import gen
from headrace.tensor_shape import TensorShape, as_shape
from headrace.tensor_util import convert_to_tensor


class QueueBase(object):
    """A queue by its resource or reference; elements are tuples, named when the queue has names."""

    def __init__(self, types, shapes, names, queue_ref):
        self._dtypes, self._names, self._queue_ref = types, names, queue_ref
        self._shapes = [TensorShape(None)] * len(types) if shapes is None else shapes

    queue_ref = property(lambda self: self._queue_ref)
    dtypes = property(lambda self: self._dtypes)
    shapes = property(lambda self: self._shapes)
    names = property(lambda self: self._names)
    name = property(lambda self: self._queue_ref.op.name)
    _name = property(lambda self: self.name.split("/")[-1])

    def _components(self, values):
        if isinstance(values, dict):
            if self._names is None or sorted(values) != sorted(self._names):
                raise ValueError("Keys in dictionary to enqueue do not match names of Queue components.  Dictionary: %s, Queue: %s" %
                                 (sorted(values), self._names))
            values = [values[n] for n in self._names]
        elif not isinstance(values, (list, tuple)):
            values = [values]
        if len(values) != len(self._dtypes):
            raise ValueError("Expected %d components, got %d" % (len(self._dtypes), len(values)))
        return [convert_to_tensor(v, d, "component_%d" % i) for i, (v, d) in enumerate(zip(values, self._dtypes))]

    def _elements(self, tensors, leading):
        """leading: dims before an element's own."""
        for t, s in zip(tensors, self._shapes):
            t.set_shape(TensorShape(leading).concatenate(s))
        if self._names is not None:
            return dict(zip(self._names, tensors))
        return tensors if len(tensors) != 1 else tensors[0]

    def enqueue(self, vals, name=None):
        with name_scope(name, "%s_enqueue" % self._name, None if not isinstance(vals, (list, tuple)) else vals) as scope:
            parts = self._components(vals)
            for t, s in zip(parts, self._shapes):
                t.shape.assert_is_compatible_with(s)
            return gen.QueueEnqueueV2(self._queue_ref, parts, name=scope)

    def enqueue_many(self, vals, name=None):
        with name_scope(name, "%s_EnqueueMany" % self._name, None if not isinstance(vals, (list, tuple)) else vals) as scope:
            parts = self._components(vals)
            for t, s in zip(parts, self._shapes):
                t.shape[1:].assert_is_compatible_with(s)
            return gen.QueueEnqueueManyV2(self._queue_ref, parts, name=scope)

    def dequeue(self, name=None):
        return self._elements(gen.QueueDequeueV2(self._queue_ref, self._dtypes, name=name or "%s_Dequeue" % self._name), [])

    def dequeue_many(self, n, name=None):
        return self._elements(gen.QueueDequeueManyV2(self._queue_ref, n, self._dtypes, name=name or "%s_DequeueMany" % self._name),
                              [n if isinstance(n, int) else None])

    def dequeue_up_to(self, n, name=None):
        tensors = gen.QueueDequeueUpToV2(self._queue_ref, n, self._dtypes, name=name or "%s_DequeueUpTo" % self._name)
        return dict(zip(self._names, tensors)) if self._names is not None else tensors if len(tensors) != 1 else tensors[0]

    def close(self, cancel_pending_enqueues=False, name=None):
        return gen.QueueCloseV2(self._queue_ref, cancel_pending_enqueues, name or "%s_Close" % self._name)

    def size(self, name=None):
        return gen.QueueSizeV2(self._queue_ref, name or "%s_Size" % self._name)

    def is_closed(self, name=None):
        return gen.QueueIsClosedV2(self._queue_ref, name or "%s_Is_Closed" % self._name)


def _lists(types, shapes, names):
    types = [dtypes.as_dtype(t).base_dtype for t in (types if isinstance(types, (list, tuple)) else [types])]
    if shapes is not None:
        if not isinstance(shapes, (list, tuple)) or (len(types) == 1 and not (shapes and isinstance(shapes[0], (list, tuple, TensorShape)))):
            shapes = [shapes]
        shapes = [as_shape(s) for s in shapes]
        if len(shapes) != len(types):
            raise ValueError("Queue shapes must have the same length as dtypes, received len(shapes)=%d, len(dtypes)=%d" %
                             (len(shapes), len(types)))
    if names is not None:
        names = [names] if isinstance(names, str) else list(names)
    return types, shapes, names


class FIFOQueue(QueueBase):
    """First in, first out."""

    def __init__(self, capacity, dtypes, shapes=None, names=None, shared_name=None, name="fifo_queue"):
        types, shapes, names = _lists(dtypes, shapes, names)
        with init_scope(), device("CPU"):
            ref = gen.FIFOQueueV2(types, shapes or [], capacity, shared_name=shared_name or "", name=name)
        super(FIFOQueue, self).__init__(types, shapes, names, ref)


class RandomShuffleQueue(QueueBase):
    """Out in random order, of at least min_after_dequeue elements."""

    def __init__(self, capacity, min_after_dequeue, dtypes, shapes=None, names=None, seed=None, shared_name=None,
                 name="random_shuffle_queue"):
        from headrace.graph import get_seed
        types, shapes, names = _lists(dtypes, shapes, names)
        seed1, seed2 = get_seed(seed)
        ref = gen.RandomShuffleQueueV2(types, shapes or [], capacity, min_after_dequeue, seed1 or 0, seed2 or 0,
                                       shared_name=shared_name or "", name=name)
        super(RandomShuffleQueue, self).__init__(types, shapes, names, ref)


class PaddingFIFOQueue(QueueBase):
    """First in, first out; batches are padded to the largest of each dim that the shapes leave open."""

    def __init__(self, capacity, dtypes, shapes, names=None, shared_name=None, name="padding_fifo_queue"):
        types, shapes, names = _lists(dtypes, shapes, names)
        ref = gen.PaddingFIFOQueueV2(types, shapes, capacity, shared_name=shared_name or "", name=name)
        super(PaddingFIFOQueue, self).__init__(types, shapes, names, ref)

# SPDX-License-Identifier: Apache-2.0
"""Functions of a graph: `@Defun(tf.float32, ...)` makes a Python function's operations a function of the library, and each call one
operation. What the function reads of the graph around it becomes further arguments. With grad_func (another Defun) or python_grad_func
(f(op, *grads)) it has a gradient of its own, else that of its body."""
from headrace import _headrace, dtypes
from headrace.graph import Graph, get_default_graph

__all__ = ["Defun", "Declare"]


class _Body(Graph):
    """The graph of a function's body."""

    def __init__(self, outer):
        super(_Body, self).__init__()
        self._captures = True
        self._outer, self._taken, self._arguments, self.extra_inputs = outer, {}, [], []
        self._seed = outer.seed

    building_function = property(lambda self: True)

    def _argument(self, dtype, name):
        op = self._create("Placeholder", [], {"dtype": dtype}, self.unique_name(name))
        self._arguments.append(op.outputs[0])
        return op.outputs[0]

    def _capture(self, tensor):
        """The argument that stands for another graph's tensor."""
        if tensor not in self._taken:
            if tensor.dtype._is_ref_dtype:
                raise ValueError("a function cannot read the reference %s of the graph around it" % tensor.name)
            with self.name_scope(None), self.control_dependencies(None):
                argument = self._argument(tensor.dtype, tensor.op.name.rpartition("/")[2])
            argument.set_shape(tensor.shape)
            self._taken[tensor] = argument
            self.extra_inputs.append(tensor)
        return self._taken[tensor]


def _flat(value):
    if value is None:
        return []
    return list(value) if isinstance(value, (list, tuple)) else [value]


class _Function(object):
    """One Python function with types: made when first called or named."""

    def __init__(self, f, types, names, func_name, grad_func, python_grad_func, out_names, shape_func, capture_by_value, noinline):
        self._f, self._types, self._names = f, types, names
        self._wanted, self._grad_func, self._python_grad_func = func_name, grad_func, python_grad_func
        self._out_names, self._shape_func = out_names, shape_func
        self._definition = None
        self.__name__ = getattr(f, "__name__", "function")
        self.__doc__ = f.__doc__

    def _make(self):
        if self._definition is not None:
            return
        from headrace.tensor_util import convert_to_tensor
        body = _Body(get_default_graph())
        with body.as_default():
            arguments = [body._argument(t, n) for t, n in zip(self._types, self._names)]
            results = [convert_to_tensor(r) for r in _flat(self._f(*arguments))]
            results = [r if r.graph is body else body._capture(r) for r in results]
        given = set(t.op for t in body._arguments)
        operations = [op for op in body.get_operations() if op not in given]
        for name, definition in body._state.get("functions", {}).items():
            get_default_graph()._state.setdefault("functions", {})[name] = definition
        name, self._definition = _headrace.graph_to_function(
            body, self._wanted or self.__name__, not self._wanted, operations, body._arguments, results, self._out_names)
        self._name, self._extra = name, body.extra_inputs
        self._output_types = [r.dtype for r in results]

    @property
    def name(self):
        self._make()
        return self._name

    @property
    def definition(self):
        from headrace.protos import message
        self._make()
        return message("FunctionDef").FromString(self._definition)

    @property
    def captured_inputs(self):
        self._make()
        return self._extra

    @property
    def declared_input_types(self):
        return list(self._types)

    def add_to_graph(self, graph):
        """The function, those that it calls and its gradient, into a graph's library."""
        self._make()
        for definition in list(graph._state.get("functions", {}).values()):
            _headrace.add_function(graph, definition)
        if not _headrace.has_function(graph, self._name):
            _headrace.add_function(graph, self._definition)
            graph._state.setdefault("functions", {})[self._name] = self._definition
        if self._grad_func is not None:
            gradient = _concrete(self._grad_func)
            gradient.add_to_graph(graph)
            _headrace.set_function_gradient(graph, self._name, gradient.name)
        if self._python_grad_func is not None:
            from headrace.gradients import _functions
            _functions[self._name] = self._python_grad_func

    def __call__(self, *args, **kwargs):
        from headrace.tensor_util import convert_to_tensor
        name = kwargs.pop("name", None)
        kwargs.pop("noinline", None)
        if kwargs:
            raise ValueError("Unknown keyword arguments: %s" % ", ".join(kwargs))
        if len(args) != len(self._types):
            raise ValueError("Expected number of arguments: %d, received: %d" % (len(self._types), len(args)))
        graph = get_default_graph()
        inputs = [convert_to_tensor(a, t) for a, t in zip(args, self._types)]
        self.add_to_graph(graph)
        op = graph.create_op(self._name, inputs + list(self._extra), name=name or self._name)
        if self._shape_func is not None:
            for tensor, shape in zip(op.outputs, self._shape_func(op)):
                tensor.set_shape(shape)
        outputs = op.outputs
        return op if not outputs else outputs[0] if len(outputs) == 1 else list(outputs)


class _Untyped(object):
    """A Defun without types: each call's arguments choose them."""

    def __init__(self, make):
        self._make_for, self._by_types = make, {}

    def __call__(self, *args, **kwargs):
        from headrace.tensor_util import convert_to_tensor
        args = [convert_to_tensor(a) for a in args]
        types = tuple(a.dtype.base_dtype for a in args)
        if types not in self._by_types:
            self._by_types[types] = self._make_for(types)
        return self._by_types[types](*args, **kwargs)


def _concrete(f):
    if isinstance(f, (_Function, _Declared)):
        return f
    raise TypeError("a gradient function must be a Defun with types, not %r" % (f,))


class Defun(object):
    """`@Defun(tf.float32, tf.float32, func_name="F")`"""

    def __init__(self, *input_types, **kwargs):
        self._types = [dtypes.as_dtype(t) for t in input_types]
        self._options = dict(func_name=kwargs.pop("func_name", None), grad_func=kwargs.pop("grad_func", None),
                             python_grad_func=kwargs.pop("python_grad_func", None), out_names=kwargs.pop("out_names", None),
                             shape_func=kwargs.pop("shape_func", None), capture_by_value=kwargs.pop("capture_by_value", False),
                             noinline=kwargs.pop("noinline", False))
        kwargs.pop("experimental_compile", None)
        if kwargs:
            raise ValueError("Unknown keyword arguments: %s" % ", ".join(kwargs))

    def __call__(self, f):
        import inspect
        if not callable(f):
            raise ValueError("function %s must be callable" % (f,))
        parameters = inspect.signature(f).parameters.values()
        names = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        least = sum(1 for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) and p.default is p.empty)
        any_number = any(p.kind == p.VAR_POSITIONAL for p in parameters)

        def make(types):
            numbered = names + ["arg%d" % i for i in range(len(names), len(types))]
            return _Function(f, list(types), numbered, **self._options)
        if not self._types and least:
            return _Untyped(make)
        if len(self._types) < least or (len(self._types) > len(names) and not any_number):
            raise ValueError("The function has %d arguments, but %d argument types are given" % (len(names), len(self._types)))
        return make(self._types)


class _Declared(object):
    """A function known by name and types alone: its body comes later (recursion)."""

    def __init__(self, name, inputs, outputs):
        self.name, self._inputs, self._outputs = name, inputs, outputs

    def add_to_graph(self, graph):
        pass

    def __call__(self, *args, **kwargs):
        from headrace.tensor_util import convert_to_tensor
        inputs = [convert_to_tensor(a, t) for a, (_, t) in zip(args, self._inputs)]
        if len(args) != len(self._inputs):
            raise ValueError("Expected number of arguments: %d" % len(self._inputs))
        from headrace.op_gen import gen
        out = gen.StatefulPartitionedCall(inputs, Tout=[t for _, t in self._outputs], f=_named(self.name), name=kwargs.get("name") or self.name)
        out = _flat(out)
        return out[0] if len(out) == 1 else out


def _named(name):
    from headrace.protos import message
    return message("NameAttrList")(name=name)


def Declare(func_name, inputs, outputs):
    """A function to be defined later under that name: lists of (name, type)."""
    return _Declared(func_name, [(n, dtypes.as_dtype(t)) for n, t in inputs], [(n, dtypes.as_dtype(t)) for n, t in outputs])

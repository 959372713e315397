# SPDX-License-Identifier: Apache-2.0
"""tf.nest: nested lists, tuples, namedtuples and dicts as flat lists and back. Dicts go in the order of their keys."""


def is_nested(structure):
    return isinstance(structure, (list, tuple, dict))


def flatten(structure):
    if isinstance(structure, dict):
        return [leaf for key in sorted(structure) for leaf in flatten(structure[key])]
    if is_nested(structure):
        return [leaf for item in structure for leaf in flatten(item)]
    return [structure]


def _rebuild(structure, leaves):
    if isinstance(structure, dict):
        made = dict((key, _rebuild(structure[key], leaves)) for key in sorted(structure))
        return type(structure)((key, made[key]) for key in structure)
    if is_nested(structure):
        items = [_rebuild(item, leaves) for item in structure]
        return type(structure)(*items) if hasattr(structure, "_fields") else type(structure)(items)
    return next(leaves)


def pack_sequence_as(structure, flat_sequence):
    flat = list(flat_sequence) if is_nested(flat_sequence) else [flat_sequence]
    if len(flat) != len(flatten(structure)):
        raise ValueError("Structure had %d elements, but flat_sequence had %d elements: %r" % (len(flatten(structure)), len(flat), flat))
    return _rebuild(structure, iter(flat))


def map_structure(func, *structure, **kwargs):
    if not structure:
        raise ValueError("Must provide at least one structure")
    for other in structure[1:]:
        assert_same_structure(structure[0], other, kwargs.get("check_types", True))
    return pack_sequence_as(structure[0], [func(*leaves) for leaves in zip(*(flatten(s) for s in structure))])


def assert_same_structure(nest1, nest2, check_types=True, expand_composites=False):
    if is_nested(nest1) != is_nested(nest2):
        raise ValueError("The two structures don't have the same nested structure: %r, %r" % (nest1, nest2))
    if not is_nested(nest1):
        return
    if check_types and type(nest1) is not type(nest2):
        raise TypeError("The two structures don't have the same sequence type: %s, %s" % (type(nest1), type(nest2)))
    if len(nest1) != len(nest2) or (isinstance(nest1, dict) and set(nest1) != set(nest2)):
        raise ValueError("The two structures don't have the same number of elements or keys: %r, %r" % (nest1, nest2))
    pairs = [(nest1[k], nest2[k]) for k in nest1] if isinstance(nest1, dict) else zip(nest1, nest2)
    for a, b in pairs:
        assert_same_structure(a, b, check_types)

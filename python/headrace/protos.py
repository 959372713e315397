# SPDX-License-Identifier: Apache-2.0
"""Protobuf messages, from the descriptors that the build writes. They live in a pool of their own: TensorFlow, which registers messages of the
same names, can be imported in the same process. protobuf is imported with this module and by nothing else."""
import os

from google.protobuf import descriptor_pb2, descriptor_pool

_pool = None
_classes = {}


def _load():
    global _pool
    if _pool is None:
        with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "descriptors.pb"), "rb") as f:
            files = descriptor_pb2.FileDescriptorSet.FromString(f.read())
        pool = descriptor_pool.DescriptorPool()
        for file in files.file:
            pool.AddSerializedFile(file.SerializeToString())
        _pool = pool
    return _pool


def _class_of(descriptor):
    from google.protobuf import message_factory
    if hasattr(message_factory, "GetMessageClass"):
        return message_factory.GetMessageClass(descriptor)
    return message_factory.MessageFactory(_load()).GetPrototype(descriptor)


def message(name):
    """The class of a message: "GraphDef" or "tensorflow.GraphDef"."""
    cls = _classes.get(name)
    if cls is None:
        pool = _load()
        try:
            descriptor = pool.FindMessageTypeByName(name if "." in name and not name[0].isupper() else "tensorflow." + name)
        except KeyError:
            raise AttributeError("no message is called %r" % name) from None
        cls = _classes[name] = _class_of(descriptor)
    return cls


def enum(name):
    """The wrapper of an enum, with a member for each value."""
    from google.protobuf.internal import enum_type_wrapper
    return enum_type_wrapper.EnumTypeWrapper(_load().FindEnumTypeByName(name if name.startswith("tensorflow.") else "tensorflow." + name))


def in_file(file, name):
    """What a generated module of that file would have under the name: a message's class, an enum's wrapper, the value of an enum's member;
    None: nothing."""
    try:
        descriptor = _load().FindFileByName(file)
    except KeyError:
        return None
    if name in descriptor.message_types_by_name:
        return message(descriptor.message_types_by_name[name].full_name)
    if name in descriptor.enum_types_by_name:
        return enum(descriptor.enum_types_by_name[name].full_name)
    return next((e.values_by_name[name].number for e in descriptor.enum_types_by_name.values() if name in e.values_by_name), None)


def attr_field(data, field):
    """A field of a serialized AttrValue."""
    return getattr(message("AttrValue").FromString(data), field)


def op_def(name):
    """The OpDef of a registered op."""
    from headrace import _headrace
    return message("OpDef").FromString(_headrace.op_def(name))

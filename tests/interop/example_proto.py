"""`tensorflow.train.Example` from its official definition (tensorflow/core/example/{feature,example}.proto), without TensorFlow.

The message class comes from a descriptor built here, so parsing is protobuf's own, not ours.
"""
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_T = descriptor_pb2.FieldDescriptorProto


def _message(holder, name, *fields):
    message = holder.add(name=name)
    for number, (field, kind, repeated, type_name) in enumerate(fields, 1):
        label = _T.LABEL_REPEATED if repeated else _T.LABEL_OPTIONAL
        message.field.add(name=field, number=number, type=kind, label=label, **({"type_name": type_name} if type_name else {}))
    return message


def example_class():
    """The class of `tensorflow.Example`."""
    feature = descriptor_pb2.FileDescriptorProto(name="tensorflow/core/example/feature.proto", package="tensorflow", syntax="proto3")
    _message(feature.message_type, "BytesList", ("value", _T.TYPE_BYTES, True, None))
    _message(feature.message_type, "FloatList", ("value", _T.TYPE_FLOAT, True, None))
    _message(feature.message_type, "Int64List", ("value", _T.TYPE_INT64, True, None))
    kind = _message(feature.message_type, "Feature", ("bytes_list", _T.TYPE_MESSAGE, False, ".tensorflow.BytesList"),
                    ("float_list", _T.TYPE_MESSAGE, False, ".tensorflow.FloatList"), ("int64_list", _T.TYPE_MESSAGE, False, ".tensorflow.Int64List"))
    kind.oneof_decl.add(name="kind")
    for field in kind.field:
        field.oneof_index = 0
    features = _message(feature.message_type, "Features", ("feature", _T.TYPE_MESSAGE, True, ".tensorflow.Features.FeatureEntry"))
    entry = _message(features.nested_type, "FeatureEntry", ("key", _T.TYPE_STRING, False, None),
                     ("value", _T.TYPE_MESSAGE, False, ".tensorflow.Feature"))
    entry.options.map_entry = True
    example = descriptor_pb2.FileDescriptorProto(name="tensorflow/core/example/example.proto", package="tensorflow", syntax="proto3",
                                                 dependency=[feature.name])
    _message(example.message_type, "Example", ("features", _T.TYPE_MESSAGE, False, ".tensorflow.Features"))
    pool = descriptor_pool.DescriptorPool()
    pool.Add(feature)
    pool.Add(example)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("tensorflow.Example"))

// Converts messages to bytes and back. Streams use raw buffers for two reasons: a malformed message
// can be distinguished from the end of the stream, and a message can be reused before its write has
// finished.
#pragma once

#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/support/byte_buffer.h>

namespace muster::proto {

/// Parses `buffer` into `message` and empties `buffer`. Returns false if the bytes are not a valid
/// Message.
template <class Message>
[[nodiscard]] bool decode(grpc::ByteBuffer& buffer, Message& message) {
  return grpc::SerializationTraits<Message>::Deserialize(&buffer, &message).ok();
}

/// Serializes `message` into `buffer`. Returns false if `message` is larger than 2 GiB.
template <class Message>
[[nodiscard]] bool encode(Message const& message, grpc::ByteBuffer& buffer) {
  buffer.Clear();
  bool own = false;
  return grpc::SerializationTraits<Message>::Serialize(message, &buffer, &own).ok();
}

}  // namespace muster::proto

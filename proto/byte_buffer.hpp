// Messages to bytes and back. Streams read and write raw buffers, so that bytes which are no
// message can be told apart from the end of a stream, and a message is free again before its write
// is through.
#pragma once

#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/support/byte_buffer.h>

namespace muster::proto {

/// False: the bytes are not a Message. `buffer` is emptied.
template <class Message>
[[nodiscard]] bool decode(grpc::ByteBuffer& buffer, Message& message) {
  return grpc::SerializationTraits<Message>::Deserialize(&buffer, &message).ok();
}

/// False: the message is larger than 2 GiB.
template <class Message>
[[nodiscard]] bool encode(Message const& message, grpc::ByteBuffer& buffer) {
  buffer.Clear();
  bool own = false;
  return grpc::SerializationTraits<Message>::Serialize(message, &buffer, &own).ok();
}

}  // namespace muster::proto

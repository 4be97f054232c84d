// Parses the messages that records consist of. Pure; any thread.
#pragma once

#include <google/protobuf/message_lite.h>

#include <cstddef>
#include <string_view>

namespace muster::server {

/// Parses a damaged message field by field into `to`, so that an unreadable row costs only itself.
/// Returns how many fields could not be read; what follows a cut counts as one.
std::size_t read_fields(std::string_view bytes, google::protobuf::MessageLite& to);

/// Parses a record whose rows do not refer to each other. Adds the number of rows that cannot be
/// read to `unreadable`, where that is not null.
template <class Message>
Message rows_of(std::string_view bytes, std::size_t* unreadable) {
  Message m;
  if (m.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return m;
  m.Clear();
  auto const lost = read_fields(bytes, m);
  if (unreadable) *unreadable += lost;
  return m;
}

/// Parses a record that only means something as a whole. Returns an empty message and adds 1 to
/// `unreadable`, where that is not null, when it cannot be read.
template <class Message>
Message whole_of(std::string_view bytes, std::size_t* unreadable) {
  Message m;
  if (m.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return m;
  if (unreadable) ++*unreadable;
  m.Clear();
  return m;
}

}  // namespace muster::server

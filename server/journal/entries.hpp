// Table of the kinds of store entries, for tools that list entries without interpreting them. Pure
// and thread-safe functions.
#pragma once

#include <vector>

#include "server/journal/store.hpp"

namespace google::protobuf {
class Message;
}
namespace muster::journal::v1 {
class Format;
}

namespace muster::server::journal {

constexpr unsigned format_known = 5;
constexpr auto format_key = "format";
/// Returns version 0 if the store is empty.
/// @return FAILED_PRECONDITION if the format entry is unreadable, or is missing in a store with
///   other entries
muster::result<muster::journal::v1::Format> read_format(store const& s);

struct entry_kind {
  /// Prefix of the keys, followed by `\0`. The key "format" consists only of the tag.
  std::string_view tag;
  std::string_view name;
  /// Names of the key's further parts, separated by `\0`. The last part extends to the key's end. A
  /// part without a name must be empty.
  std::vector<std::string_view> parts;
  google::protobuf::Message const& (*form)();
};

std::vector<entry_kind> const& entry_kinds();

struct named_part {
  std::string_view name, value;
};

/// Parts of a key. The key must outlive the object.
struct entry_name {
  entry_kind const* kind = nullptr;  ///< null for an unknown kind
  std::vector<named_part> parts;

  std::string_view const* part(std::string_view name) const;
  /// Returns text for messages, such as `key "a/b" of cluster 'train'`. Control characters are
  /// escaped.
  std::string text() const;
};
entry_name name_of(std::string_view key);

bool is_readable(entry_kind const& kind, std::string_view value);
/// Returns Protobuf JSON with the declared field names, or nothing if the entry is unreadable.
std::optional<std::string> as_json(entry_kind const& kind, std::string_view value);

}  // namespace muster::server::journal

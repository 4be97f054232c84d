// Table of the kinds of entries in a store, for tools that list all entries without interpreting
// them. Pure functions, any thread.
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

/// Highest Format version that this program reads.
constexpr unsigned format_known = 5;
constexpr auto format_key = "format";
/// Reads the format entry. Version 0: the store is empty.
/// @return FAILED_PRECONDITION: other entries exist without a format entry, or it is unreadable.
muster::result<muster::journal::v1::Format> read_format(store const& s);

struct entry_kind {
  /// Prefix of the keys, followed by `\0`. The key "format" is the tag itself and has no parts.
  std::string_view tag;
  std::string_view name;
  /// Names of the key's further parts, separated by `\0`; the last part takes the rest. An empty
  /// name: the part must be empty.
  std::vector<std::string_view> parts;
  google::protobuf::Message const& (*form)();
};

std::vector<entry_kind> const& entry_kinds();

struct named_part {
  std::string_view name, value;
};

/// Parts of a key, as views that must not outlive it.
struct entry_name {
  entry_kind const* kind = nullptr;  ///< null: unknown kind
  std::vector<named_part> parts;

  std::string_view const* part(std::string_view name) const;
  /// Returns text for messages: `key "a/b" of cluster 'train'`.
  std::string text() const;
};
entry_name name_of(std::string_view key);

/// Returns whether the value is a valid entry of this kind.
bool is_readable(entry_kind const& kind, std::string_view value);
/// Returns the entry as Protobuf JSON with the declared field names.
std::optional<std::string> as_json(entry_kind const& kind, std::string_view value);

}  // namespace muster::server::journal

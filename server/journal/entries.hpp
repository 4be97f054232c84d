// What kinds of entries a store has, in one table, for whoever walks all of it without knowing what
// they mean: the command line that looks after a directory. Pure functions, any thread.
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

/// The highest version of Format that this program reads.
constexpr unsigned format_known = 5;
/// Its key.
constexpr auto format_key = "format";
/// What a store says of its format; version 0: nothing stands in it, as no server has seen it.
/// FAILED_PRECONDITION: there is no such entry beside others, or it cannot be read.
muster::result<muster::journal::v1::Format> read_format(store const& s);

struct entry_kind {
  /// Its keys begin with this and `\0`. The entry "format" has the whole word and no parts.
  std::string_view tag;
  std::string_view name;
  /// What stands behind that, `\0` between them; the last takes the rest. Without a name: empty.
  std::vector<std::string_view> parts;
  google::protobuf::Message const& (*form)();
};

std::vector<entry_kind> const& entry_kinds();

struct named_part {
  std::string_view name, value;
};

/// Views of a key, which has to outlive them.
struct entry_name {
  entry_kind const* kind = nullptr;  ///< null: this program does not know it
  std::vector<named_part> parts;

  /// Null: it has no such part.
  std::string_view const* part(std::string_view name) const;
  /// For people: `key "a/b" of cluster 'train'`.
  std::string text() const;
};
entry_name name_of(std::string_view key);

/// Whether this can be read as an entry of that kind.
bool is_readable(entry_kind const& kind, std::string_view value);
/// Its message in Protobuf's JSON, with the names of its fields as they are declared.
std::optional<std::string> as_json(entry_kind const& kind, std::string_view value);

}  // namespace muster::server::journal

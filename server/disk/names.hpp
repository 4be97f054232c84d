// What servers call what they keep on a disk, for who keeps it, copies it or must know it. Any
// thread.
#pragma once

#include <string_view>

namespace muster::server {

/// Below --data-dir, or --spill-dir: one file for each blob, by its name.
constexpr auto blob_folder = "blobs";
/// Files of values in --spill-dir.
constexpr std::string_view value_files = "muster-values-";

/// A SHA-256: 64 hexadecimal digits in lower case.
inline bool is_blob_name(std::string_view name) {
  return name.size() == 64 && name.find_first_not_of("0123456789abcdef") == name.npos;
}

}  // namespace muster::server

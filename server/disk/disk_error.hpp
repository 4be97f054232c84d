// What is said of a disk that refuses something: `error` is errno's number. Any thread.
#pragma once

#include <cerrno>
#include <filesystem>
#include <string>
#include <system_error>

#include "base/no_room.hpp"

namespace muster::server {

inline bool is_full(int error) {
  return error == ENOSPC || error == EDQUOT;
}
inline std::string reason_of(int error) {
  return std::generic_category().message(error);
}

/// no_room, where the disk is full: in the directory of `path`. Else INTERNAL: "path: what: why".
inline muster::status disk_error(std::filesystem::path const& path, int error,
                                 std::string const& what = {}) {
  if (is_full(error)) return no_room(path.parent_path().string(), reason_of(error));
  return {code::internal,
          path.string() + ": " + (what.empty() ? what : what + ": ") + reason_of(error)};
}

}  // namespace muster::server

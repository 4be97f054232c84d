// A tree that nobody changes, once more: to somebody who may. Any thread; waits for the disk.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <utility>

namespace muster {

/// Copies what lies in `from` (files, directories, symbolic links as they are) into `to`, which is
/// made. Contents are shared with the copy where the file system can have one changed without the
/// other. `owner`: to whom all of it belongs then; takes root. Errors: std::system_error,
/// std::filesystem::filesystem_error.
void copy_tree(std::filesystem::path const& from, std::filesystem::path const& to,
               std::optional<std::pair<uid_t, gid_t>> owner = {});

}  // namespace muster

// Copies directory trees. Thread-safe; blocks on disk access.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <utility>

namespace muster {

/// Copies files, directories and symbolic links from `from` to `to`, which must not exist. `from`
/// must not change during the copy. Shares the contents if the file system supports copy-on-write.
/// @param owner New owner of the copy; requires root.
/// @throws std::system_error, std::filesystem::filesystem_error
void copy_tree(std::filesystem::path const& from, std::filesystem::path const& to,
               std::optional<std::pair<uid_t, gid_t>> owner = {});

}  // namespace muster

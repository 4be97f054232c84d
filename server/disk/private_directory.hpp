// Directories that only their owner can access, regardless of the umask. RocksDB chooses the modes
// of its own files, so the directory must protect them. Thread-safe. Errors are errno values; 0
// means success.
#pragma once

#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

namespace muster::server {

constexpr mode_t others_bits = S_IRWXG | S_IRWXO;

/// Returns the permission bits; 0 if the directory does not exist.
inline mode_t mode_of(std::filesystem::path const& directory) {
  struct stat s {};
  return ::stat(directory.c_str(), &s) == 0 ? s.st_mode & 07777 : 0;
}

inline int make_private(std::filesystem::path const& directory) {
  auto const mode = mode_of(directory);
  if ((mode & others_bits) == 0) return 0;
  return ::chmod(directory.c_str(), mode & ~others_bits) == 0 ? 0 : errno;
}

/// Creates the directory with owner-only permissions, and any missing parents. Does not change an
/// existing directory.
inline int make_private_directory(std::filesystem::path const& directory) {
  auto const path = directory.has_filename() ? directory : directory.parent_path();
  std::error_code error;
  if (path.has_parent_path()) std::filesystem::create_directories(path.parent_path(), error);
  if (error) return error.value();
  if (::mkdir(path.c_str(), S_IRWXU) == 0) return 0;
  if (errno != EEXIST) return errno;
  return std::filesystem::is_directory(path, error) ? 0 : ENOTDIR;
}

}  // namespace muster::server

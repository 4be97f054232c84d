// Private temporary directory, such as muster-programs-XXXXXX. The owner holds the directory's file
// `lock`. Directories of killed processes are unlocked and are removed when the next directory is
// created. One thread must create and destroy the directory.
#pragma once

#include <filesystem>
#include <string>

#include "base/process/file_descriptor.hpp"

namespace muster {

/// Removes this user's directories whose owners were killed: directories whose name begins with
/// `name`, and directories of the Python package.
void remove_orphaned_directories(std::string const& name);

class private_temp_directory {
 public:
  /// Creates a directory whose name begins with `name`, after remove_orphaned_directories.
  /// @throws std::system_error
  explicit private_temp_directory(std::string const& name);
  ~private_temp_directory();
  private_temp_directory(private_temp_directory const&) = delete;

  std::filesystem::path const& path() const { return path_; }

 private:
  std::filesystem::path path_;
  file_descriptor lock_;
};

}  // namespace muster

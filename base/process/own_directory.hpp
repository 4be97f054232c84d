// A directory of one's own among temporary files, which goes with this object. One that a killed
// process has left is found by its lock, which nobody holds any more, and goes when the next one is
// made. Made and ended by one thread.
//
//   muster-programs-XXXXXX/lock    held by its owner while it lives
#pragma once

#include <filesystem>
#include <string>

#include "base/process/file_descriptor.hpp"

namespace muster {

/// Removes directories of this user whose owners were killed: those whose names begin with `name`,
/// and those of workers and local clusters of the Python package. A living owner holds a lock, so
/// its directory stays.
void remove_left_directories(std::string const& name);

class own_directory {
 public:
  /// Makes one whose name begins with `name`, after remove_left_directories.
  /// Errors: std::system_error.
  explicit own_directory(std::string const& name);
  ~own_directory();
  own_directory(own_directory const&) = delete;

  std::filesystem::path const& path() const { return path_; }

 private:
  std::filesystem::path path_;
  file_descriptor lock_;
};

}  // namespace muster

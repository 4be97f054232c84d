// A directory of one's own among temporary files, which goes with this object. One that a killed
// process has left is found by its lock, which nobody holds any more, and goes when the next one is
// made. Made and ended by one thread.
//
//   muster-programs-XXXXXX/lock    held by its owner while it lives
#pragma once

#include <filesystem>
#include <string>

#include "process/file_descriptor.hpp"

namespace muster {

class own_directory {
 public:
  /// Removes what others of this user and name have left, then makes one. `name` begins the name.
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

// Restricts directories that others can enter, created by earlier servers, to their owner at the
// start. Logs each. Main thread.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <vector>

#include "app/configuration.hpp"

namespace muster::server {

class private_directories {
 public:
  /// Reads the directories' modes before they are opened. `c` must outlive this object.
  explicit private_directories(configuration const& c);
  /// Restricts the directories.
  /// @pre They were opened, which shows that they belong to this server.
  void close_to_others() const;

 private:
  struct directory {
    char const* flag;
    std::filesystem::path path;
    mode_t was;        // 0: did not exist
    bool with_others;  // can contain foreign files; then it is not changed
    bool blobs;        // contains this server's blobs
  };
  std::vector<directory> all_;
};

}  // namespace muster::server

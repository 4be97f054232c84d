// At startup, restricts directories that earlier servers created, and that other users can enter,
// to their owner. Logs each. Main thread.
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
  /// @pre The directories were opened, so they belong to this server.
  void close_to_others() const;

 private:
  struct directory {
    char const* flag;
    std::filesystem::path path;
    mode_t was;        // 0: did not exist
    bool with_others;  // can contain other users' files, so it is not changed
    bool blobs;        // contains this server's blobs
  };
  std::vector<directory> all_;
};

}  // namespace muster::server

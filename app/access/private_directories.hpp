// At startup, restricts directories that earlier servers created, and that other users can enter,
// to their owner. Used only on the main thread.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <vector>

#include "app/configuration.hpp"

namespace muster::server {

class private_directories {
 public:
  /// `c` must outlive this object.
  explicit private_directories(configuration const& c);
  /// @pre The directories were opened, so they belong to this server.
  void close_to_others() const;

 private:
  struct directory {
    char const* flag;
    std::filesystem::path path;
    mode_t was;        // previous mode, or 0 if the directory did not exist
    bool with_others;  // can contain other users' files, so the directory is not changed
    bool blobs;
  };
  std::vector<directory> all_;
};

}  // namespace muster::server

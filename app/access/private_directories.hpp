// Directories that others could enter, as earlier servers made them, become their owner's alone at
// the start, with a line of the log each. Main thread.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <vector>

#include "app/configuration.hpp"

namespace muster::server {

class private_directories {
 public:
  /// Looks at their modes, before anything is opened. `c` outlives this.
  explicit private_directories(configuration const& c);
  /// REQUIRES: they were opened, so that they are this server's; what is refused stays as it was.
  void close_to_others() const;

 private:
  struct directory {
    char const* flag;
    std::filesystem::path path;
    mode_t was;        // 0: it was not there
    bool with_others;  // it may have files that are not ours, and is then left alone
    bool blobs;        // this server's are in it
  };
  std::vector<directory> all_;
};

}  // namespace muster::server

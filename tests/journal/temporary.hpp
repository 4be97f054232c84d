// A directory that goes with its test.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <string>

namespace muster::server {

class temporary {
 public:
  temporary() {
    auto name = (std::filesystem::temp_directory_path() / "muster-journal-XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  temporary(temporary const&) = delete;
  ~temporary() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::filesystem::path operator/(std::string const& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

}  // namespace muster::server

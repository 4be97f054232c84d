// A directory that is removed at the end of its test.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>

namespace muster::test {

/// Returns an empty string if the file does not exist.
inline std::string read_file(std::filesystem::path const& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

class temporary_directory {
 public:
  temporary_directory() {
    auto name = (std::filesystem::temp_directory_path() / "muster-test-XXXXXX").string();
    if (!mkdtemp(name.data())) throw std::runtime_error("no temporary directory");
    path_ = name;
  }
  ~temporary_directory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  temporary_directory(temporary_directory const&) = delete;

  std::filesystem::path operator/(std::string const& name) const {
    return std::filesystem::path(path_) / name;
  }
  std::string const& path() const { return path_; }
  std::string write(std::string const& name, std::string const& text) const {
    std::ofstream(*this / name) << text;
    return *this / name;
  }

 private:
  std::string path_;
};

}  // namespace muster::test

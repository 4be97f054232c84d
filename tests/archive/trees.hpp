// Trees of files for tests of archives.
#pragma once

#include <sys/stat.h>

#include <set>

#include "base/archive/unpack.hpp"
#include "tests/support/temporary_directory.hpp"

namespace muster::test {

namespace fs = std::filesystem;
using names = std::set<std::string>;

inline unsigned mode(fs::path const& path) {
  struct stat about {};
  return ::lstat(path.c_str(), &about) == 0 ? about.st_mode & 07777 : 0;
}

/// Returns the message of the exception that `call` throws; empty if it throws none.
template <class Call>
std::string error_of(Call call) {
  try {
    call();
  } catch (std::exception const& e) {
    return e.what();
  }
  return {};
}

struct tree {
  tree() { fs::create_directories(root); }

  void write(std::string const& name, std::string const& text, unsigned bits = 0644) const {
    fs::create_directories((root / name).parent_path());
    std::ofstream(root / name, std::ios::binary) << text;
    fs::permissions(root / name, fs::perms(bits));
  }
  /// Unpacks an archive, and returns the directory.
  fs::path unpacked(std::string const& archive, tree_limits const& limits = {}) {
    auto const number = std::to_string(++unpacked_);
    at.write("archive" + number, archive);
    fs::create_directories(at / ("out" + number));
    about = unpack(at / ("archive" + number), at / ("out" + number), limits);
    return at / ("out" + number);
  }
  static names names_in(fs::path const& of) {
    names all;
    for (auto const& e : fs::recursive_directory_iterator(of))
      all.insert(e.path().lexically_relative(of).string());
    return all;
  }

  temporary_directory at;
  fs::path const root = at / "root";
  unpacked_tree about;

 private:
  int unpacked_ = 0;
};

}  // namespace muster::test

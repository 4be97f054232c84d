// A small file system in memory. Needs permission to mount, usually root.
#pragma once

#include <sys/mount.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/support/temporary_directory.hpp"

namespace muster::test {

class small_disk {
 public:
  explicit small_disk(std::size_t mib) {
    if (!mount(mib, 0)) problem_ = std::string("cannot mount a file system: ") + strerror(errno);
  }
  ~small_disk() {
    if (problem_.empty()) ::umount2(path_.c_str(), MNT_DETACH);
  }
  small_disk(small_disk const&) = delete;

  /// Returns an empty string if the file system is mounted.
  std::string const& problem() const { return problem_; }
  std::filesystem::path const& path() const { return path_; }
  bool resize(std::size_t mib) { return mount(mib, MS_REMOUNT); }
  void fill() const {
    std::ofstream file(filling(), std::ios::binary);
    std::string const zeros(1 << 16, '\0');
    while (file.write(zeros.data(), static_cast<std::streamsize>(zeros.size())).flush()) {
    }
  }
  void free() const { std::filesystem::remove(filling()); }

 private:
  bool mount(std::size_t mib, unsigned long flags) {
    auto const size = "size=" + std::to_string(mib) + "m";
    return ::mount("none", path_.c_str(), "tmpfs", flags, size.c_str()) == 0;
  }

  std::filesystem::path filling() const { return path_ / "filling"; }

  temporary_directory const directory_;
  std::filesystem::path const path_ = directory_.path();
  std::string problem_;
};

}  // namespace muster::test

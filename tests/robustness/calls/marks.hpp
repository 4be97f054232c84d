// Traces of calls that have run.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <system_error>

namespace robustness {

/// Counts in a file how often each call has run, in one byte for each number of a call. The file
/// is mapped, so a mark costs no system call and outlives the process, also one that is killed.
class marks {
 public:
  /// Numbers of calls. Pages without a mark take no room on the disk.
  static constexpr std::size_t size = std::size_t{1} << 24;

  explicit marks(std::string const& path) {
    int const fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0 || ftruncate(fd, size) != 0) fail(path);
    auto* const at = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED) fail(path);
    close(fd);
    counts_ = static_cast<std::uint8_t*>(at);
  }
  ~marks() { munmap(counts_, size); }
  marks(marks const&) = delete;
  marks& operator=(marks const&) = delete;

  void add(std::uint64_t number) {
    if (number >= size) throw std::out_of_range("number of a call: " + std::to_string(number));
    std::atomic_ref(counts_[number]).fetch_add(1);
  }

 private:
  [[noreturn]] static void fail(std::string const& path) {
    throw std::system_error(errno, std::generic_category(), path);
  }

  std::uint8_t* counts_ = nullptr;
};

}  // namespace robustness

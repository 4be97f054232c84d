// The limits of the control group of this process, version 1 or 2: the tightest of it and of those
// around it, and how much of what is limited is in use. Reads files of /proc and /sys.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace muster {

class control_group {
 public:
  /// `root` stands before /proc and /sys, for tests.
  explicit control_group(std::string const& root);

  /// Bytes. Empty: there is no limit.
  std::optional<std::uint64_t> memory_limit() const { return memory_limit_; }
  /// Without what the kernel gives back at once.
  std::optional<std::uint64_t> memory() const;
  /// Cores. Empty: there is no limit.
  std::optional<double> cpu_limit() const { return cpu_limit_; }
  /// Seconds of cores so far.
  std::optional<double> cpu_seconds() const;

 private:
  void find_memory(std::string const& mount, std::string path, bool second);
  void find_cpu(std::string const& mount, std::string path, bool second);

  bool memory_v2_ = false, cpu_v2_ = false;
  std::string memory_at_, cpu_at_;  // directories of the groups with the limits
  std::optional<std::uint64_t> memory_limit_;
  std::optional<double> cpu_limit_;
};

}  // namespace muster

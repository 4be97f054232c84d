// Limits and usage of this process's control group, version 1 or 2. The tightest limit of the group
// and its ancestors applies.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace muster {

class control_group {
 public:
  /// @param root Prefix of /proc and /sys; set by tests.
  explicit control_group(std::string const& root);

  /// In bytes, if there is a limit.
  std::optional<std::uint64_t> memory_limit() const { return memory_limit_; }
  /// Returns the bytes in use, excluding memory that the kernel can reclaim immediately.
  std::optional<std::uint64_t> memory() const;
  /// In cores, if there is a limit.
  std::optional<double> cpu_limit() const { return cpu_limit_; }
  std::optional<double> cpu_seconds() const;

 private:
  void find_memory(std::string const& mount, std::string path, bool second);
  void find_cpu(std::string const& mount, std::string path, bool second);

  bool memory_v2_ = false, cpu_v2_ = false;
  std::string memory_at_, cpu_at_;
  std::optional<std::uint64_t> memory_limit_;
  std::optional<double> cpu_limit_;
};

}  // namespace muster

// Limits and usage of this process's control group, version 1 or 2. Among the limits of the group
// and its ancestors, the lowest applies.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace muster {

class control_group {
 public:
  /// @param root prefix of /proc and /sys, which only tests set
  explicit control_group(std::string const& root);

  /// Returns the limit in bytes, if any.
  std::optional<std::uint64_t> memory_limit() const { return memory_limit_; }
  /// Returns the bytes in use, excluding memory that the kernel can reclaim immediately.
  std::optional<std::uint64_t> memory() const;
  /// Returns the limit in cores, if any.
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

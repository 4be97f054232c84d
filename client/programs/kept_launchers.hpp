// Launchers of programs with `preload`, kept for the next attempt because they have imported the
// modules. Does no I/O; not thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>

namespace muster {

class kept_launchers {
 public:
  using clock = std::chrono::steady_clock;
  static constexpr std::size_t kept_max = 4;

  /// Removes and returns the program's launcher if its lease lasts until `at`.
  std::optional<std::uint64_t> take(std::uint64_t program, clock::time_point at) {
    auto const it = by_program_.find(program);
    if (it == by_program_.end()) return {};
    auto const k = it->second;
    if (k.until < at) return {};
    by_program_.erase(it);
    return k.launcher;
  }
  /// Keeps a launcher and returns the launcher to dismiss: the program's previous launcher, or the
  /// oldest program's launcher if there are too many.
  std::optional<std::uint64_t> keep(std::uint64_t program, std::uint64_t launcher,
                                    clock::time_point until) {
    auto out = by_program_.find(program);
    if (out == by_program_.end() && by_program_.size() == kept_max) out = by_program_.begin();
    std::optional<std::uint64_t> goes;
    if (out != by_program_.end()) goes = by_program_.extract(out).mapped().launcher;
    by_program_[program] = {launcher, until};
    return goes;
  }
  /// Must be called when a launcher has exited.
  void gone(std::uint64_t launcher) {
    std::erase_if(by_program_, [&](auto const& k) { return k.second.launcher == launcher; });
  }

 private:
  struct kept {
    std::uint64_t launcher = 0;
    clock::time_point until{};
  };
  std::map<std::uint64_t, kept> by_program_;  // oldest first
};

}  // namespace muster

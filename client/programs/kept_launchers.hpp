// Launchers whose ranks have all ended and that stay for the next attempt of their program, each
// until the lease that it knows of runs out: those of programs with `preload`, whose modules they
// have imported. Pure; one thread.
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

  /// One whose lease runs out no sooner than `at`.
  std::optional<std::uint64_t> take(std::uint64_t program, clock::time_point at) {
    auto const it = by_program_.find(program);
    if (it == by_program_.end()) return {};
    auto const k = it->second;
    if (k.until < at) return {};
    by_program_.erase(it);
    return k.launcher;
  }
  /// Which one is to go for it: it had one, or there are too many.
  std::optional<std::uint64_t> keep(std::uint64_t program, std::uint64_t launcher,
                                    clock::time_point until) {
    auto out = by_program_.find(program);
    if (out == by_program_.end() && by_program_.size() == kept_max) out = by_program_.begin();
    std::optional<std::uint64_t> goes;
    if (out != by_program_.end()) goes = by_program_.extract(out).mapped().launcher;
    by_program_[program] = {launcher, until};
    return goes;
  }
  /// The launcher has ended: nothing is kept for it.
  void gone(std::uint64_t launcher) {
    std::erase_if(by_program_, [&](auto const& k) { return k.second.launcher == launcher; });
  }

 private:
  struct kept {
    std::uint64_t launcher = 0;
    clock::time_point until{};
  };
  std::map<std::uint64_t, kept> by_program_;  // the oldest program first
};

}  // namespace muster

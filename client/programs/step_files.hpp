// Files through which ranks report their steps (base/process/steps/step_layout.hpp). A rank can
// write anything into its file, and can truncate or replace the file. Therefore, files are read and
// never mapped, and implausible content is ignored. Thread-safe.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "client/programs/rank_table.hpp"

namespace muster {

struct rank_mark {
  std::uint64_t step = 0, us = 0;  // `us` is a CLOCK_MONOTONIC time
};

struct seen_steps {
  std::uint64_t count = 0;       // number of all reported steps; passed to the next read
  std::vector<rank_mark> marks;  // newest steps, in order
  std::uint32_t left_out = 0;    // number of steps before `marks` that were omitted
};

class step_files {
 public:
  static constexpr std::size_t marks_max = 64;

  /// `owner` is the ranks' user and group, if they differ from this process's user and group.
  /// @throws std::system_error, std::filesystem::filesystem_error
  step_files(std::filesystem::path directory, std::optional<std::pair<uid_t, gid_t>> owner);

  std::filesystem::path of(rank_key const& key) const;
  /// Returns the attempt's file path without the rank.
  std::string prefix(std::uint64_t program, std::uint32_t attempt) const;
  /// @throws std::system_error
  void make(rank_key const& key) const;
  void remove(rank_key const& key) const;
  void tidy(std::set<std::pair<std::uint64_t, std::uint32_t>> const& in_use) const;
  /// Returns nullopt if there are no steps after `since`, or if the content is implausible.
  std::optional<seen_steps> read(rank_key const& key, std::uint64_t since) const;
  void order(rank_key const& key, std::uint64_t word) const;

 private:
  std::filesystem::path const directory_;
  std::optional<std::pair<uid_t, gid_t>> const owner_;
};

}  // namespace muster

// The files by which ranks say their steps (base/process/steps/step_layout.hpp). A rank may write
// anything into its own, cut it or put something else in its place: it is read, never mapped here,
// and only what makes sense is taken.
//
// Any thread.
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
  std::uint64_t step = 0, us = 0;  // by CLOCK_MONOTONIC
};

/// What a rank has done since it was last looked at.
struct seen_steps {
  std::uint64_t count = 0;       // of all steps that it has said, to begin from next time
  std::vector<rank_mark> marks;  // the newest, in order; the last one is where it is
  std::uint32_t left_out = 0;    // before them
};

class step_files {
 public:
  static constexpr std::size_t marks_max = 64;

  /// `owner`: whose processes the ranks are, unless they are this one's. Errors: std::system_error,
  /// std::filesystem::filesystem_error.
  step_files(std::filesystem::path directory, std::optional<std::pair<uid_t, gid_t>> owner);

  std::filesystem::path of(rank_key const& key) const;
  /// That with the rank's number behind it.
  std::string prefix(std::uint64_t program, std::uint32_t attempt) const;
  /// An empty one. Errors: std::system_error.
  void make(rank_key const& key) const;
  void remove(rank_key const& key) const;
  /// All but those of these attempts.
  void tidy(std::set<std::pair<std::uint64_t, std::uint32_t>> const& in_use) const;
  /// Nothing: it has said none since, or what is there makes no sense.
  std::optional<seen_steps> read(rank_key const& key, std::uint64_t since) const;
  void order(rank_key const& key, std::uint64_t word) const;

 private:
  std::filesystem::path const directory_;
  std::optional<std::pair<uid_t, gid_t>> const owner_;
};

}  // namespace muster

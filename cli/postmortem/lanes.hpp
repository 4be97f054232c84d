// Timelines: lanes of inline SVG above a common axis. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace muster::cli::postmortem {

constexpr std::size_t lanes_max = 64;

enum class shade : char {
  ok = 'o',
  failed = 'f',
  stopped = 'x',
  running = 'r',
  late = 'l',
  gap = ' '
};

struct lane {
  struct bar {
    std::int64_t from = 0, to = 0;
    shade of = shade::ok;
  };
  std::string label;        // HTML
  std::vector<bar> bars{};  // in drawing order: each bar covers the bars before it
  bool first = false;       // preferred if there are too many lanes to draw
};

struct chart {
  std::int64_t from = 0, to = 0, units_a_ms = 1;
  std::vector<lane> lanes{};
  std::vector<lane::bar> across{};  // drawn in every lane
  /// Returns HTML with an axis. `key` explains the colours, for example "o=succeeded|f=failed".
  std::string text(std::string_view key) const;
};

/// Values from 0 to `most`; the times of points are in ms. A point without a sample has no value.
struct curve {
  double most = 1, peak = 0;
  std::vector<std::pair<std::int64_t, std::optional<double>>> points{};
  /// Returns HTML, or an empty string without samples in this time. `label` is HTML.
  std::string text(std::string const& label, std::int64_t from, std::int64_t to) const;
};

std::string axis(std::int64_t from_ms, std::int64_t to_ms);

}  // namespace muster::cli::postmortem

// What happened over time, as lanes of inline SVG below one axis. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace muster::cli::postmortem {

constexpr std::size_t lanes_max = 64;

/// The classes of the page's style: ran well, failed, was stopped, goes on, was late; a gap.
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
  std::vector<bar> bars{};  // a later one lies over those before it
  bool first = false;       // where not all have room
};

struct chart {
  std::int64_t from = 0, to = 0, units_a_ms = 1;
  std::vector<lane> lanes{};
  std::vector<lane::bar> across{};  // in every lane
  /// With an axis; `key` says what the colours mean, as "o=ended well|f=failed".
  std::string text(std::string_view key) const;
};

/// Values from 0 to `most` by ms; none where there was no sample.
struct curve {
  double most = 1, peak = 0;
  std::vector<std::pair<std::int64_t, std::optional<double>>> points{};
  /// Empty: there is nothing in this time. `label` is HTML.
  std::string text(std::string const& label, std::int64_t from, std::int64_t to) const;
};

std::string axis(std::int64_t from_ms, std::int64_t to_ms);

}  // namespace muster::cli::postmortem

#include "cli/postmortem/lanes.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/text.hpp"
#include "cli/postmortem/html_text.hpp"
#include "launch/cluster/resolver_text.hpp"

namespace muster::cli::postmortem {
namespace {

constexpr int width = 1000;
constexpr int narrowest = 3;

struct scale {
  std::int64_t from, to;
  int column(std::int64_t at) const {
    auto const length = static_cast<double>(std::max<std::int64_t>(1, to - from));
    auto const share = static_cast<double>(at - from) / length;
    return static_cast<int>(std::lround(std::clamp(share, 0.0, 1.0) * width));
  }
};

void fill(std::array<char, width>& cells, scale const& x, lane::bar const& b) {
  auto const begin = std::min(x.column(b.from), width - narrowest);
  auto const end = std::clamp(x.column(b.to), begin + narrowest, width);
  std::fill(cells.begin() + begin, cells.begin() + end, static_cast<char>(b.of));
}

std::string paths(std::array<char, width> const& cells) {
  std::string out;
  for (char const of : {'o', 'r', 'x', 'l', 'f'}) {
    std::string path;
    for (auto it = cells.begin(); it != cells.end();) {
      auto const begin = std::find(it, cells.end(), of);
      it = std::find_if(begin, cells.end(), [of](char c) { return c != of; });
      if (begin != it)
        path += "M" + std::to_string(begin - cells.begin()) + " 0h" + std::to_string(it - begin) +
                "v10h-" + std::to_string(it - begin) + "z";
    }
    if (!path.empty()) out += std::string("<path class=") + of + " d=\"" + path + "\"/>";
  }
  return out;
}

std::string strip(std::string const& label, std::string const& content, int height,
                  char const* more = "") {
  return "<div class=lane><span>" + label + "</span><svg" + more + " viewBox=\"0 0 1000 " +
         std::to_string(height) + "\" preserveAspectRatio=none aria-hidden=true>" + content +
         "</svg></div>\n";
}

}  // namespace

std::string axis(std::int64_t from_ms, std::int64_t to_ms) {
  bool const short_time = to_ms - from_ms < 10'000;
  std::string out =
      "<div class=lane><span>" + utc(from_ms).substr(0, 10) + ", UTC</span><div class=axis>";
  for (int i = 0; i <= 4; ++i) {
    auto const at = clock_of(from_ms + (to_ms - from_ms) * i / 4);
    out += "<span>" + (short_time ? at : at.substr(0, 8)) + "</span>";
  }
  return out + "</div></div>\n";
}

std::string chart::text(std::string_view key) const {
  if (lanes.empty()) return {};
  scale const x{from, to};
  std::string out = axis(from / units_a_ms, to / units_a_ms);
  std::size_t shown = 0;
  for (bool const first : {true, false})
    for (auto const& l : lanes) {
      if ((l.first || lanes.size() <= lanes_max) != first || shown == lanes_max) continue;
      ++shown;
      std::array<char, width> cells{};
      for (auto const& b : l.bars) fill(cells, x, b);
      for (auto const& b : across) fill(cells, x, b);
      out += strip(l.label, paths(cells), 10);
    }
  if (lanes.size() > lanes_max)
    out += "<p><small>" + counted(lanes.size() - lanes_max, "more lane") +
           " omitted; lanes with failures are shown first.</small></p>";
  out += "<p class=key>";
  for (auto const one : cluster::split(key, '|'))
    out += "<svg viewBox=\"0 0 9 9\"><path class=" + std::string(one.substr(0, 1)) +
           " d=\"M0 0h9v9h-9z\"/></svg>" + std::string(one.substr(2));
  return out + "</p>\n";
}

std::string curve::text(std::string const& label, std::int64_t from, std::int64_t to) const {
  scale const x{from, to};
  std::string path;
  std::optional<int> begun, last;
  auto const end = [&] {
    if (begun)
      path += "L" + std::to_string(std::max(*last, *begun + 2)) + " 30L" + std::to_string(*begun) +
              " 30z";
    begun = {};
  };
  for (auto const& [at, value] : points) {
    if (at < from || at > to) continue;
    if (!value) {
      end();
      continue;
    }
    last = x.column(at);
    auto const height =
        static_cast<int>(std::lround(30 - 29 * std::clamp(*value / most, 0.0, 1.0)));
    auto const point = std::to_string(*last) + " " + std::to_string(height);
    path += begun ? "L" + point : "M" + point;
    if (!begun) begun = last;
  }
  end();
  return path.empty() ? path : strip(label, "<path class=r d=\"" + path + "\"/>", 30, " class=c");
}

}  // namespace muster::cli::postmortem

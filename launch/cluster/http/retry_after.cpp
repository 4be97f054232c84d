#include "launch/cluster/http/retry_after.hpp"

#include <algorithm>
#include <ctime>
#include <string>

#include "launch/cluster/resolver_text.hpp"

namespace muster::cluster {

namespace {

using std::chrono::system_clock;

constexpr int seconds_max = 1'000'000'000;

// A date can have any year. Half of the clock's range keeps differences of two times in its range.
system_clock::time_point in_utc(std::tm& parts) {
  using std::chrono::seconds;
  constexpr auto most = std::chrono::floor<seconds>(system_clock::duration::max()) / 2;
  return system_clock::time_point(std::clamp(seconds(timegm(&parts)), -most, most));
}

/// Parses "+01:30", "-08:00" or "Z". Returns nullopt if the text is malformed.
std::optional<std::chrono::minutes> parse_offset(std::string_view text) {
  if (text == "Z" || text == "z") return std::chrono::minutes(0);
  if (text.size() != 6 || text[3] != ':' || (text[0] != '+' && text[0] != '-')) return {};
  auto const hours = parse_count(text.substr(1, 2), 23), minutes = parse_count(text.substr(4), 59);
  if (!hours || !minutes) return {};
  return std::chrono::minutes((*hours * 60 + *minutes) * (text[0] == '-' ? -1 : 1));
}

}  // namespace

std::optional<std::chrono::milliseconds> retry_after(std::string_view header,
                                                     system_clock::time_point now) {
  auto const text = std::string(trimmed(header));
  if (auto const seconds = parse_count(text, seconds_max)) return std::chrono::seconds(*seconds);
  std::tm parts{};
  auto const* end = strptime(text.c_str(), "%a, %d %b %Y %H:%M:%S GMT", &parts);
  if (!end || *end) return {};
  auto const left = std::chrono::ceil<std::chrono::milliseconds>(in_utc(parts) - now);
  return std::max(left, std::chrono::milliseconds(0));
}

std::optional<system_clock::time_point> parse_timestamp(std::string_view text) {
  auto const copy = std::string(text);
  std::tm parts{};
  auto const* end = strptime(copy.c_str(), "%Y-%m-%dT%H:%M:%S", &parts);
  if (!end) return {};
  std::string_view rest(end);
  if (rest.starts_with('.')) {
    auto const digits = std::min(rest.find_first_not_of("0123456789", 1), rest.size());
    if (digits == 1) return {};
    rest.remove_prefix(digits);
  }
  auto const offset = parse_offset(rest);
  if (!offset) return {};
  return in_utc(parts) - *offset;
}

}  // namespace muster::cluster

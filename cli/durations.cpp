#include "cli/durations.hpp"

#include <array>
#include <charconv>

#include "cli/command.hpp"

namespace muster::cli {
namespace {

struct unit {
  std::string_view name;
  std::int64_t microseconds;
};
// Longer unit names come before their prefixes ("ms" before "m").
constexpr std::array units{
    unit{"us", 1},         unit{"ms", 1'000},        unit{"s", 1'000'000},
    unit{"m", 60'000'000}, unit{"h", 3'600'000'000}, unit{"d", 86'400'000'000}};

duration parse_or_throw(std::string const& text) {
  if (auto const d = parse_duration(text)) return *d;
  throw CLI::ValidationError("'" + text + "' is not a duration; write 30s, 250ms or 1m30s");
}

}  // namespace

std::optional<duration> parse_duration(std::string_view text) {
  if (text == "0") return duration::zero();
  if (text.empty()) return std::nullopt;
  std::int64_t total = 0;
  while (!text.empty()) {
    double number = 0;
    auto const [end, error] =
        std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
    if (error != std::errc{} || !(number >= 0)) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    auto const letters = text.substr(0, text.find_first_of("0123456789."));
    text.remove_prefix(letters.size());
    auto const* found =
        std::find_if(units.begin(), units.end(), [&](unit const& u) { return u.name == letters; });
    if (found == units.end()) return std::nullopt;
    auto const amount = number * static_cast<double>(found->microseconds);
    if (amount + static_cast<double>(total) > 4e17) return std::nullopt;  // 12,000 years
    total += static_cast<std::int64_t>(amount + 0.5);
  }
  return duration(total);
}

std::string to_string(duration d) {
  if (d == duration::zero()) return "0s";
  auto left = d.count();
  std::string text;
  for (auto u = units.rbegin(); u != units.rend(); ++u) {
    if (left < u->microseconds) continue;
    text += std::to_string(left / u->microseconds) + std::string(u->name);
    left %= u->microseconds;
  }
  return text;
}

std::string rounded(duration d) {
  auto const seconds = static_cast<double>(d.count()) / 1e6;
  char text[32];
  if (seconds < 10)
    std::snprintf(text, sizeof text, "%.1f s", seconds);
  else if (seconds < 120)
    std::snprintf(text, sizeof text, "%.0f s", seconds);
  else if (seconds < 7200)
    std::snprintf(text, sizeof text, "%.0f min", seconds / 60);
  else if (seconds < 48 * 3600)
    std::snprintf(text, sizeof text, "%.0f h", seconds / 3600);
  else
    std::snprintf(text, sizeof text, "%.0f d", seconds / 86400);
  return text;
}

CLI::Option* add_duration(CLI::App& verb, std::string const& name, duration& value,
                          std::string const& help) {
  return add_read(verb, name, "TIME", help,
                  [&value](std::string const& text) { value = parse_or_throw(text); })
      ->default_str(to_string(value));
}

CLI::Option* add_duration(CLI::App& verb, std::string const& name, std::optional<duration>& value,
                          std::string const& help) {
  return add_read(verb, name, "TIME", help,
                  [&value](std::string const& text) { value = parse_or_throw(text); });
}

}  // namespace muster::cli

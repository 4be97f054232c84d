#include "web/live/heartbeat_ages.hpp"

#include <algorithm>

#include "web/json/members.hpp"

namespace muster::web {
namespace {

constexpr std::string_view digits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr int units_of_timeout = 48;

}  // namespace

void heartbeat_ages::add(std::string const& cluster, std::string const& job, core::time_point seen,
                         core::time_point now, core::duration timeout) {
  auto& c = clusters_[cluster];
  c.unit = std::max<core::duration>(timeout / units_of_timeout, std::chrono::milliseconds(1));
  auto& ages = c.jobs[job];
  if (seen == core::time_point{}) return ages.push_back('-');
  auto const age = std::clamp<std::int64_t>((now - seen) / c.unit, 0, digits.size() - 1);
  ages.push_back(digits[static_cast<std::size_t>(age)]);
}

std::string heartbeat_ages::json() const {
  return object_text([this](member_list const& m) {
    for (auto const& [name, c] : clusters_)
      m.object(name, [&cluster = c](member_list const& of) {
        of("unit_ms", cluster.unit);
        of("jobs", cluster.jobs);
      });
  });
}

}  // namespace muster::web

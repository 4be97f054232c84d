#include "web/live/heartbeat_ages.hpp"

#include <algorithm>

#include "web/json/json_out.hpp"

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
  return json_text([this](json_out& out) {
    auto const object = out.object();
    for (auto const& [name, c] : clusters_) {
      out.key(name).begin_object();
      out.key("unit_ms").number(
          std::chrono::duration_cast<std::chrono::milliseconds>(c.unit).count());
      out.key("jobs").begin_object();
      for (auto const& [job, ages] : c.jobs) out.key(job).string(ages);
      out.end_object().end_object();
    }
  });
}

}  // namespace muster::web

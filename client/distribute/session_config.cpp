// Merges objects by key, and replaces all other settings as a whole.
#include "muster/session_config.hpp"

#include <utility>

#include "client/distribute/inputs.hpp"

namespace muster {
namespace {

void merge_objects(boost::json::object& into, boost::json::object const& from) {
  for (auto const& [key, value] : from) {
    auto& slot = into[key];
    if (slot.is_object() && value.is_object())
      merge_objects(slot.get_object(), value.get_object());
    else
      slot = value;
  }
}

}  // namespace

void session_config::merge(session_config const& other) {
  merge_objects(settings, other.settings);
  device_filters.insert(device_filters.end(), other.device_filters.begin(),
                        other.device_filters.end());
  if (!other.collective_group_leader.empty())
    collective_group_leader = other.collective_group_leader;
}

std::string distribute::text_of(session_config const& c) {
  constexpr std::size_t shown_bytes_max = 2'000;
  auto all = c.settings;
  boost::json::array filters;
  for (auto const& f : c.device_filters) filters.emplace_back(boost::json::string_view(f));
  if (!filters.empty()) all["device_filters"] = std::move(filters);
  if (!c.collective_group_leader.empty())
    all["collective_group_leader"] = c.collective_group_leader;
  auto text = boost::json::serialize(all);
  return text.size() <= shown_bytes_max ? text : "with " + std::to_string(text.size()) + " bytes";
}

}  // namespace muster

// Merging: objects key by key, all else as a whole.
#include "muster/session_config.hpp"

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

}  // namespace muster

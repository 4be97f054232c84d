#include "server/core/coordination/service_registry.hpp"

namespace muster::core::coordination {

status service_registry::add(std::string name, factory make) {
  if (name.empty()) return {code::invalid_argument, "a service type needs a name"};
  auto const [it, added] = factories_.try_emplace(std::move(name), std::move(make));
  if (!added) return {code::already_exists, "there is a service type '" + it->first + "' already"};
  return {};
}

status service_registry::known(std::string_view name) const {
  if (factories_.contains(name)) return {};
  std::string names;
  for (auto const& [n, f] : factories_) names += (names.empty() ? "'" : ", '") + n + "'";
  return {code::invalid_argument,
          "type: there is no service type '" + std::string(name) + "'; there is " + names};
}

result<std::unique_ptr<service>> service_registry::make(cluster_spec const& spec, limits const& l,
                                                        generation g, time_point now) const {
  auto const it = factories_.find(spec.service_type);
  if (it == factories_.end()) return known(spec.service_type);
  return it->second(spec, l, g, now);
}

}  // namespace muster::core::coordination

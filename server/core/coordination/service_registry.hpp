// Which kinds of coordination service there are: factories by name. Filled once by the composition
// root, then read only.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "server/core/coordination/service.hpp"

namespace muster::core::coordination {

struct generation {
  std::uint64_t number = 1;
  core::incarnation incarnation{};
};

class service_registry {
 public:
  using factory = std::function<std::unique_ptr<service>(cluster_spec const&, limits const&,
                                                         generation, time_point now)>;

  /// ALREADY_EXISTS when the name is taken, INVALID_ARGUMENT when it is empty.
  status add(std::string name, factory make);
  /// INVALID_ARGUMENT lists the names there are.
  result<std::unique_ptr<service>> make(cluster_spec const& spec, limits const& l, generation g,
                                        time_point now) const;
  status known(std::string_view name) const;

 private:
  std::map<std::string, factory, std::less<>> factories_;
};

/// "standalone": everything in this process.
status add_standalone(service_registry& registry);

}  // namespace muster::core::coordination

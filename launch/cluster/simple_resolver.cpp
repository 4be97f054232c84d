#include "muster/simple_resolver.hpp"

namespace muster {

simple_resolver::simple_resolver(muster::cluster_spec spec, options o)
    : spec_(std::move(spec)),
      master_(std::move(o.master)),
      accelerators_(std::move(o.num_accelerators)) {
  task_type_ = std::move(o.task_type);
  task_id_ = o.task_id;
  environment_ = std::move(o.environment);
  rpc_layer_ = std::move(o.rpc_layer);
}

std::string simple_resolver::master(std::optional<std::string> type, std::optional<int> id,
                                    std::optional<std::string> layer) {
  auto const address = type && id ? spec_.task_address(*type, *id) : master_;
  return address.empty() ? address : format_master(layer ? *layer : rpc_layer(), address);
}

}  // namespace muster

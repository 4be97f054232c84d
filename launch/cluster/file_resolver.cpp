#include "muster/file_resolver.hpp"

#include "launch/cluster/text_file.hpp"

namespace muster {

file_resolver::file_resolver(std::filesystem::path file, options o) : file_(std::move(file)) {
  task_type_ = std::move(o.task_type);
  task_id_ = o.task_id;
  environment_ = std::move(o.environment);
  rpc_layer_ = std::move(o.rpc_layer);
}

muster::cluster_spec file_resolver::cluster_spec() {
  return muster::cluster_spec::from_json(cluster::read_text_file(file_), file_.string());
}

}  // namespace muster

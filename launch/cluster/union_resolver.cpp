#include "muster/union_resolver.hpp"

#include <algorithm>

#include "launch/cluster/resolver_text.hpp"

namespace muster {
namespace {

using parts = std::vector<muster::cluster_spec>;

bool dense_in_all(parts const& specs, std::string const& job) {
  // An empty job is compatible with both dense and sparse jobs.
  return std::all_of(specs.begin(), specs.end(), [&](muster::cluster_spec const& s) {
    return !s.has_job(job) || s.is_dense(job);
  });
}

void append(cluster_spec::tasks const& from, cluster_spec::tasks& to) {
  for (auto const& [index, address] : from)
    to.emplace_hint(to.end(), static_cast<int>(to.size()), address);
}

void merge(std::string const& job, cluster_spec::tasks const& from, cluster_spec::tasks& to) {
  for (auto const& [index, address] : from)
    if (!to.emplace(index, address).second)
      throw cluster::invalid("job " + cluster::quoted(job) + ", task " + std::to_string(index) +
                             " is defined by two resolvers (" + cluster::quoted(to.at(index)) +
                             " and " + cluster::quoted(address) +
                             "); indices of a sparse job must differ");
}

}  // namespace

union_resolver::union_resolver(std::vector<std::shared_ptr<cluster_resolver>> resolvers,
                               overrides o)
    : resolvers_(std::move(resolvers)), layer_(std::move(o.rpc_layer)) {
  if (resolvers_.empty()) throw cluster::invalid("a union needs at least one resolver");
  if (std::count(resolvers_.begin(), resolvers_.end(), nullptr) != 0)
    throw cluster::invalid("a union of resolvers contains a null resolver");
  task_type_ = std::move(o.task_type);
  task_id_ = o.task_id;
}

muster::cluster_spec union_resolver::cluster_spec() {
  parts specs;
  for (auto const& r : resolvers_) specs.push_back(r->cluster_spec());
  std::map<std::string, muster::cluster_spec::tasks> merged;
  for (auto const& spec : specs)
    for (auto const& [job, tasks] : spec.by_job())
      if (dense_in_all(specs, job))
        append(tasks, merged[job]);
      else
        merge(job, tasks, merged[job]);
  return muster::cluster_spec(std::move(merged));
}

std::string union_resolver::master(std::optional<std::string> type, std::optional<int> id,
                                   std::optional<std::string> layer) {
  if (!layer) layer = rpc_layer();
  if (!type || !id) return resolvers_.front()->master({}, {}, layer);
  return format_master(*layer, cluster_spec().task_address(*type, *id));
}

std::map<std::string, int> union_resolver::num_accelerators(std::optional<std::string> type,
                                                            std::optional<int> id) {
  return resolvers_.front()->num_accelerators(type, id);
}

}  // namespace muster

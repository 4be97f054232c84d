// From what a resolver knows to what the core declares.
#include "server/app/cluster_source.hpp"

#include <algorithm>

namespace muster::server {

muster::result<core::coordination::cluster_spec> declared(cluster_source const& source,
                                                          cluster_spec const& found) {
  auto spec = source.declaration;
  auto const& recoverable = source.recoverable_jobs;
  for (auto const& [name, tasks] : found.by_job())
    if (!tasks.empty())
      spec.jobs.push_back(
          {name, static_cast<std::uint32_t>(tasks.rbegin()->first) + 1,
           std::find(recoverable.begin(), recoverable.end(), name) != recoverable.end()});
  if (auto const valid = validate(spec); !valid.ok()) return valid;
  return spec;
}

}  // namespace muster::server

// Hosts with their workers, from the current state of the clusters. Used on the engine thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/machine.hpp"
#include "server/core/api/views.hpp"
#include "server/history/workers/worker_durations.hpp"
#include "web/engine/engine_link.hpp"

namespace muster::web {

struct worker_on_host {
  core::task_view task;
  std::optional<std::uint64_t> value_bytes;  // unknown if workers of two clusters have this name
  std::uint64_t failed_last_hour = 0;
  history::slowness_view slowness;
  std::optional<std::uint64_t> process_memory;
};

struct host_view {
  std::string host;
  std::optional<machine> seen;
  std::vector<worker_on_host> workers;  // ordered by cluster, job and index
  std::uint64_t more = 0;
};

struct host_page {
  std::vector<host_view> hosts;  // ordered by name
  std::optional<std::uint64_t> next;
};

struct host_query {
  /// Workers in a page. A page ends before the host that would exceed the limit; a host with more
  /// workers lists the first of them.
  static constexpr std::size_t workers_max = 1'000;

  std::string host, task;  // all if empty
  std::uint64_t after = 0;
  std::size_t limit = 0;
};

/// Returns the hosts on which workers of these clusters have registered, including lost workers.
host_page list_hosts(engine_services& services, std::vector<server::hub*> const& shown,
                     host_query const& q);

}  // namespace muster::web

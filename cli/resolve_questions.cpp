// Questions that only some resolvers can answer, and their answers as tables and JSON.
#include "cli/resolve_questions.hpp"

#include <iomanip>

#include "cli/table.hpp"
#include "cluster/text.hpp"
#include "muster/cluster_rules.hpp"
#include "muster/tpu_resolver.hpp"

namespace muster::cli {
namespace {

constexpr auto healthy = "HEALTHY";

tpu_resolver& tpu_of(cluster_resolver& r) {
  auto* const tpu = dynamic_cast<tpu_resolver*>(&r);
  if (!tpu) throw cluster::invalid("health is known of a TPU alone, as in 'tpu:name=NAME'");
  return *tpu;
}

std::chrono::milliseconds in_ms(duration d) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(d);
}

using lines = std::vector<std::pair<std::string, std::string>>;

/// "state        READY"; what is empty reads "none".
void print_lines(lines const& all) {
  for (auto const& [name, value] : all)
    std::cout << std::left << std::setw(13) << name
              << (value.empty() ? "none" : for_terminal(value)) << '\n';
}

struct coordinator {
  std::string address, leader;
};

coordinator coordinator_beside(tpu_resolver& tpu) {
  auto const address = tpu.coordinator_address();
  if (address.empty())
    throw cluster::missing("no coordinator is named for the TPU: coordinator_name=NAME");
  return {address, tpu.coordination_leader()};
}

coordinator leading_task(cluster_spec const& spec) {
  auto const leader = coordination_leader(spec);
  if (leader.empty()) throw cluster::missing("there is no cluster, so nobody leads it");
  auto const begin = leader.find(':') + 1;
  return {spec.task_address(leader.substr(begin, leader.find('/', begin) - begin), 0), leader};
}

}  // namespace

exit_status print_health(cluster_resolver& resolver, output_format output) {
  auto& tpu = tpu_of(resolver).tpu();
  auto const node = tpu.node();
  auto const recoverable = tpu.recoverable(node);
  json::object out{{"name", tpu.name().name},
                   {"state", node.state},
                   {"health", node.health},
                   {"health_description", node.health_description},
                   {"recoverable", recoverable},
                   {"accelerator_type", node.accelerator_type},
                   {"runtime_version", node.runtime_version},
                   {"endpoints", json::array(node.endpoints.begin(), node.endpoints.end())}};
  if (!printed_as_json(output, out))
    print_lines({{"tpu", tpu.name().name},
                 {"state", node.state},
                 {"health", node.health},
                 {"because", node.health_description},
                 {"recoverable", recoverable ? "yes" : "no"},
                 {"accelerator", node.accelerator_type},
                 {"runtime", node.runtime_version},
                 {"endpoints", std::to_string(node.endpoints.size())}});
  return node.health == healthy ? exit_ok : exit_failed;
}

void wait_until_healthy(cluster_resolver& resolver, duration timeout, duration interval) {
  tpu_of(resolver).tpu().wait_for_healthy(in_ms(timeout), in_ms(interval));
}

void print_accelerators(cluster_resolver& resolver, output_format output) {
  auto const found = resolver.num_accelerators();
  json::object out;
  for (auto const& [kind, count] : found) out[kind] = count;
  if (printed_as_json(output, out)) return;
  table rows({{"KIND"}, {"COUNT", true}});
  for (auto const& [kind, count] : found) rows.add({for_terminal(kind), std::to_string(count)});
  rows.print(std::cout);
}

void print_coordinator(cluster_resolver& resolver, output_format output) {
  auto* const tpu = dynamic_cast<tpu_resolver*>(&resolver);
  auto const found = tpu ? coordinator_beside(*tpu) : leading_task(resolver.cluster_spec());
  json::object const out{{"coordinator", found.address}, {"leader", found.leader}};
  if (!printed_as_json(output, out))
    print_lines({{"coordinator", found.address}, {"leader", found.leader}});
}

}  // namespace muster::cli

// Replaces parts that were disabled at build time (MUSTER_WITH_…=OFF). Their commands and resolvers
// report that this build does not include them.
#include "cli/cloud_resolvers.hpp"
#include "cli/command.hpp"
#include "launch/cluster/resolver_text.hpp"

namespace muster::cli {
namespace {

std::string left_out(std::string const& option) {
  return "this build of Muster does not include it, because it was configured with " + option +
         "=OFF";
}

[[maybe_unused]] void add_left_out(CLI::App& app, choice& chosen, std::string const& name,
                                   std::string const& option) {
  auto* const verb = app.add_subcommand(name, "Not in this build (" + option + "=OFF)");
  verb->allow_extras();
  verb->callback([&chosen, option] {
    chosen.run = [option]() -> int { throw command_error(exit_usage, left_out(option)); };
  });
}

}  // namespace

#ifdef MUSTER_WITHOUT_CLOUD_RESOLVERS
void add_cloud_kinds(resolver_kinds& to) {
  auto const why = left_out("MUSTER_WITH_CLOUD_RESOLVERS");
  for (auto const* name : {"kubernetes", "gce", "tpu"})
    to.add({name, "(not in this build)", "", {}, nullptr, why});
}

tpu_health health_of(cluster_resolver&) {
  throw cluster::invalid("--health works only for a TPU; " +
                         left_out("MUSTER_WITH_CLOUD_RESOLVERS"));
}

void wait_until_healthy(cluster_resolver& resolver, std::chrono::milliseconds,
                        std::chrono::milliseconds) {
  static_cast<void>(health_of(resolver));
}

std::optional<found_coordinator> coordinator_beside_tpu(cluster_resolver&) {
  return {};
}
#endif

#ifdef MUSTER_WITHOUT_POSTMORTEM
void add_postmortem(CLI::App& app, choice& chosen) {
  add_left_out(app, chosen, "postmortem", "MUSTER_WITH_POSTMORTEM");
}
#endif

#ifdef MUSTER_WITHOUT_RELAY
void add_proxy(CLI::App& app, choice& chosen) {
  add_left_out(app, chosen, "proxy", "MUSTER_WITH_RELAY");
}
#endif

#ifdef MUSTER_WITHOUT_TLS
void add_tls(CLI::App& app, choice& chosen) {
  add_left_out(app, chosen, "tls", "MUSTER_WITH_TLS");
}
#endif

#ifdef MUSTER_WITHOUT_TOP
void add_top(CLI::App& app, choice& chosen) {
  add_left_out(app, chosen, "top", "MUSTER_WITH_TOP");
}
#endif

#ifdef MUSTER_WITHOUT_TORCH_STORE
void add_torch(CLI::App& app, choice& chosen) {
  add_left_out(app, chosen, "torch", "MUSTER_WITH_TORCH_STORE");
}
#endif

}  // namespace muster::cli

#include "cli/resolver_kinds.hpp"

#include "cli/cloud_resolvers.hpp"

namespace muster::cli {

resolver_kinds const& known_resolvers() {
  static auto const kinds = [] {
    auto all = local_resolver_kinds();
    add_cloud_kinds(all);
    return all;
  }();
  return kinds;
}

std::shared_ptr<cluster_resolver> make_known_resolver(std::string const& flag,
                                                      std::string const& text) {
  try {
    return known_resolvers().make(text);
  } catch (cluster_error const& e) {
    throw command_error(exit_usage, flag + ": " + e.what());
  }
}

exit_status status_of(cluster_error const& e) {
  switch (e.kind()) {
    case cluster_error::code::invalid:
      return exit_usage;
    case cluster_error::code::unreachable:
      return exit_unreachable;
    default:
      return exit_failed;
  }
}

std::string resolvers_help() {
  std::string text = "Kinds, written KIND:key=value;key=value (several joined by '+'):\n";
  for (auto const& kind : known_resolvers().all()) {
    text +=
        "  " + kind.name + (kind.value.empty() ? "" : ":" + kind.value) + "  " + kind.help + "\n";
    std::string keys;
    for (auto const& key : kind.keys) keys += (keys.empty() ? "" : ", ") + key.name;
    if (!keys.empty()) text += "      keys: " + keys + "\n";
  }
  return text;
}

}  // namespace muster::cli

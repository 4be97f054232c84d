// Words into networks, sorted by cluster.
#include "server/app/doors/agent_networks.hpp"

#include <utility>

namespace muster::server {

muster::result<agent_networks> agent_networks::from(std::vector<std::string> const& words) {
  std::vector<std::string> all;
  std::map<std::string, std::vector<std::string>, std::less<>> own;
  for (auto const& word : words) {
    auto const equals = word.find('=');
    if (equals == 0)
      return muster::status{code::invalid_argument,
                            "'" + word + "' names no cluster: write CLUSTER=NET, or NET for all"};
    auto& into = equals == std::string::npos ? all : own[word.substr(0, equals)];
    auto network = equals == std::string::npos ? word : word.substr(equals + 1);
    if (!network.empty()) into.push_back(std::move(network));
  }
  agent_networks n;
  auto parsed = parse_networks(all);
  if (!parsed) return parsed.error();
  n.all_ = std::move(*parsed);
  for (auto const& [cluster, texts] : own) {
    parsed = parse_networks(texts);
    if (!parsed)
      return muster::status{code::invalid_argument, cluster + "=: " + parsed.error().message};
    n.own_[cluster] = std::move(*parsed);
  }
  return n;
}

std::vector<network> const& agent_networks::of(std::string_view cluster) const {
  auto const it = own_.find(cluster);
  return it == own_.end() ? all_ : it->second;
}

}  // namespace muster::server

#include "client/link/server_list.hpp"

#include <map>
#include <mutex>
#include <vector>

namespace muster {

std::vector<std::string> split_servers(std::string const& servers) {
  std::vector<std::string> all;
  for (std::size_t from = 0; from <= servers.size();) {
    auto const end = std::min(servers.find(',', from), servers.size());
    if (end > from) all.push_back(servers.substr(from, end - from));
    from = end + 1;
  }
  if (all.empty()) all.push_back(servers);
  return all;
}

namespace {

std::mutex mutex;
std::map<std::string, std::size_t> positions;  // of current servers; protected by `mutex`

}  // namespace

std::string chosen_server(std::string const& servers) {
  if (!is_list(servers)) return servers;
  auto const all = split_servers(servers);
  std::lock_guard const lock(mutex);
  return all[positions[servers] % all.size()];
}

void pass_over(std::string const& servers, std::string const& server) {
  if (!is_list(servers)) return;
  auto const all = split_servers(servers);
  std::lock_guard const lock(mutex);
  auto& position = positions[servers];
  if (all[position % all.size()] == server) position = (position + 1) % all.size();
}

}  // namespace muster

// Server lists such as "a:8476,b:8476", in which one server is active. The process stores the
// current server of each list, so that all its sessions switch together. Thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace muster {

/// Returns the addresses of the list. A string without any address is returned as the only element.
std::vector<std::string> split_servers(std::string const& servers);
/// Returns the current server, initially the first. A string without a comma is returned unchanged.
std::string chosen_server(std::string const& servers);
/// Switches to the next server, because `server` did not answer, unless another thread has already
/// switched.
void pass_over(std::string const& servers, std::string const& server);
inline bool is_list(std::string_view servers) {
  return servers.find(',') != std::string_view::npos;
}

}  // namespace muster

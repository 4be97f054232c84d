// "a:8476,b:8476": servers of which one serves. A process remembers for each such text which one it
// dials, so that all its sessions go on to the next one together. Any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace muster {

/// Splits a text at its commas. A text without any address is returned as its only element.
std::vector<std::string> split_servers(std::string const& servers);
/// The one to be dialled now: the first at first. A text without a comma is its own.
std::string chosen_server(std::string const& servers);
/// Nothing came from `server`: the next one in turn is chosen, unless somebody has moved on before.
void pass_over(std::string const& servers, std::string const& server);
/// More than one.
inline bool is_list(std::string_view servers) {
  return servers.find(',') != std::string_view::npos;
}

}  // namespace muster

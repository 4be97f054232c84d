#include "muster/tpu_name.hpp"

#include "launch/cluster/http/addresses.hpp"
#include "launch/cluster/http/json_place.hpp"
#include "launch/cluster/json_text.hpp"
#include "launch/cluster/resolver_text.hpp"

namespace muster::cluster {

namespace {

constexpr auto gke_variable = "KUBE_GOOGLE_CLOUD_TPU_ENDPOINTS";
constexpr std::string_view scheme = "grpc://";

std::vector<std::string> parse_endpoints(std::string const& text, std::string const& origin) {
  std::vector<std::string> all;
  for (auto const part : split(text, ',')) all.push_back(parse_endpoint(part, tpu_port, origin));
  if (all.size() > tpu_endpoints_max)
    throw invalid(origin + ": more than " + std::to_string(tpu_endpoints_max) + " endpoints");
  return all;
}

tpu_name from_text(std::string const& text, std::string const& origin) {
  if (text == "local") return {text, true, {}, {}, {}};
  if (text.starts_with("localhost:") || text.starts_with("/bns/")) {
    if (has_control_character(text))
      throw invalid(origin + ": " + quoted(text) + " is not an address");
    return {text, false, {}, {}, {}, text};
  }
  if (text.starts_with(scheme)) return {text, false, parse_endpoints(text, origin), {}, {}};
  // A full name is projects/p/locations/z/nodes/n.
  auto const parts = split(text, '/');
  if (parts.size() == 6 && parts[0] == "projects" && parts[2] == "locations" && parts[4] == "nodes")
    return {std::string(parts[5]), false, {}, std::string(parts[1]), std::string(parts[3])};
  constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  auto const strange = text.find_first_not_of(std::string(letters) + "0123456789-_");
  if (strange == std::string::npos) return {text, false, {}, {}, {}};
  if (text.find_first_of(".:,") != std::string::npos)
    throw invalid(origin + ": " + quoted(text) + " is not the name of a TPU; write addresses as " +
                  "grpc://HOST:PORT,HOST:PORT");
  throw invalid(origin + ": " + quoted(text) + " is not the name of a TPU");
}

tpu_name from_config(std::string const& text) {
  auto const config = parse_json(text, "TPU_CONFIG");
  json_place const top(config, "TPU_CONFIG");
  auto found = from_text(top.at("tpu_node_name").text(), "TPU_CONFIG: tpu_node_name");
  found.project = top.text_of("project");
  found.zone = top.text_of("zone");
  return found;
}

}  // namespace

tpu_name find_tpu(std::optional<std::vector<std::string>> const& given,
                  environment_lookup const& environment) {
  if (given && given->empty()) throw invalid("At least one TPU must be specified.");
  if (given && given->size() > 1)
    throw invalid("Using multiple TPUs at once is not possible: " + listed(*given) +
                  "; pass only one of them");
  if (given && !given->front().empty()) return from_text(given->front(), "tpu");
  auto const variable = [&](char const* name) { return environment(name).value_or(""); };
  if (auto const endpoints = variable(gke_variable); !endpoints.empty())
    return {endpoints, false, parse_endpoints(endpoints, gke_variable), {}, {}};
  if (auto const name = variable("TPU_NAME"); !name.empty()) return from_text(name, "TPU_NAME");
  if (auto const config = variable("TPU_CONFIG"); !config.empty()) return from_config(config);
  throw missing(
      "Please provide a TPU Name to connect to: pass a name, or set TPU_NAME, TPU_CONFIG or "
      "KUBE_GOOGLE_CLOUD_TPU_ENDPOINTS");
}

}  // namespace muster::cluster

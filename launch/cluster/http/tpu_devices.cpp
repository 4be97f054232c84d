#include "launch/cluster/http/tpu_devices.hpp"

#include "launch/cluster/resolver_text.hpp"

namespace muster::cluster {

namespace {

/// The largest pods have about ten thousand chips.
constexpr int cores_max = 1'000'000;
constexpr int number_max = 1'000'000'000;

std::optional<int> number_after(std::string const& text, std::string const& label, char end) {
  auto const at = text.rfind(label);
  if (at == std::string::npos) return {};
  auto const from = at + label.size();
  return parse_count(std::string_view(text).substr(from, text.find(end, from) - from), number_max);
}

}  // namespace

tpu_devices find_tpu_devices(std::vector<std::string> const& names) {
  tpu_devices found;
  for (auto const& name : names) {
    auto const host = number_after(name, "/task:", '/');
    auto const core = number_after(name, "/device:TPU:", '\0');
    if (!host || !core) continue;
    found.cores_of_host[*host].push_back(*core);
    ++found.total;
  }
  return found;
}

int tpu_devices::per_host() const {
  if (cores_of_host.empty()) return 0;
  auto const& [first, cores] = *cores_of_host.begin();
  for (auto const& [host, others] : cores_of_host)
    if (others.size() != cores.size())
      throw invalid("hosts have different numbers of TPU cores: task " + std::to_string(first) +
                    " has " + std::to_string(cores.size()) + ", task " + std::to_string(host) +
                    " has " + std::to_string(others.size()));
  return static_cast<int>(cores.size());
}

int cores_of_type(std::string const& type, std::string const& origin) {
  auto const cores = parse_count(std::string_view(type).substr(type.rfind('-') + 1), cores_max);
  if (type.find('-') == std::string::npos || !cores || *cores == 0)
    throw invalid(origin + " is " + quoted(type) + "; expected a number of cores as in v3-8");
  return *cores;
}

int cores_of_topology(std::string const& generation, std::string const& topology,
                      std::string const& origin) {
  std::int64_t chips = 1;
  for (auto const part : split(topology, 'x')) {
    auto const side = parse_count(part, cores_max);
    if (!side || *side == 0 || (chips *= *side) > cores_max)
      throw invalid(origin + " is " + quoted(topology) + "; expected sides as in 2x2x4");
  }
  // "Lite" chips since the fifth generation have one core per chip; earlier chips and V5P have two.
  bool const single = generation == "V5LITE_POD" || generation.starts_with("V6");
  return static_cast<int>(chips) * (single ? 1 : 2);
}

int cores_per_host(int cores, std::size_t hosts, std::string const& origin) {
  if (hosts == 0 || static_cast<std::size_t>(cores) % hosts != 0)
    throw invalid(origin + ": " + std::to_string(cores) +
                  " cores cannot be divided equally among " + std::to_string(hosts) + " hosts");
  return cores / static_cast<int>(hosts);
}

}  // namespace muster::cluster

#include "muster/gce_resolver.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "launch/cluster/http/addresses.hpp"
#include "launch/cluster/http/google_credentials.hpp"
#include "launch/cluster/http/json_place.hpp"
#include "launch/cluster/http/natural_order.hpp"
#include "launch/cluster/resolver_text.hpp"

namespace muster {

using cluster::api_client;
using cluster::invalid;
using cluster::json_place;
using cluster::quoted;

struct gce_resolver::machine {
  std::string name;
  std::string path;
};

gce_resolver::gce_resolver(environment_lookup environment, options o)
    : environment_lookup_(std::move(environment)), options_(std::move(o)) {
  if (options_.instance_group.empty()) throw invalid("gce: the instance group is missing");
  if (options_.task_type.empty()) throw invalid("gce: the job name is missing");
  if (!options_.zone.empty() && !options_.region.empty())
    throw invalid("gce: give either the zone or the region of the group, not both");
  cluster::host_port("machine", options_.port, "gce");
  task_type_ = options_.task_type;
  if (!options_.find_own) task_id_ = options_.task_id;
  rpc_layer_ = options_.rpc_layer;
}

void gce_resolver::task_type(std::optional<std::string> type) {
  if (type == task_type_) return;
  throw invalid("gce: all machines belong to job " + options_.task_type +
                "; to use another job, pass it when you create the resolver");
}

std::optional<int> gce_resolver::task_id() {
  if (task_id_ || !options_.find_own) return task_id_;
  if (!own_id_) cluster_spec();
  return own_id_;
}

std::vector<gce_resolver::machine> gce_resolver::running(api_client& api,
                                                         std::string const& project,
                                                         std::string const& place) const {
  auto const first = options_.api_url + "/projects/" + muster::percent_encoded(project) + "/" +
                     place + "/instanceGroups/" + muster::percent_encoded(options_.instance_group) +
                     "/listInstances?orderBy=name&maxResults=" + std::to_string(page_size);
  std::vector<machine> all;
  std::string next;
  for (int page = 0; page < pages_max; ++page) {
    auto const url = next.empty() ? first : first + "&pageToken=" + muster::percent_encoded(next);
    auto const body = api.ask({"POST", url, R"({"instanceState":"RUNNING"})"});
    json_place const top(body, url);
    for (auto const& item : top.items_of("items")) {
      if (auto const status = item.text_of("status"); !status.empty() && status != "RUNNING")
        continue;
      auto const link = item.at("instance");
      auto const text = link.text();
      auto const begin = text.find("/projects/"), end = text.rfind("/instances/");
      if (begin == std::string::npos || end == std::string::npos || end < begin ||
          text.find_first_of("?#") != std::string::npos || text.find("..") != std::string::npos)
        throw invalid(link.where() + " is " + quoted(text) + ", not an instance's URL");
      all.push_back({text.substr(text.rfind('/') + 1), text.substr(begin + 1)});
    }
    next = top.text_of("nextPageToken");
    if (next.empty()) return all;
    if (all.size() > muster::cluster_spec::tasks_max)
      throw invalid(first + ": the group contains more machines than " +
                    std::to_string(muster::cluster_spec::tasks_max));
  }
  throw invalid(first + ": the list is longer than " + std::to_string(pages_max) + " pages");
}

muster::cluster_spec gce_resolver::cluster_spec() {
  cluster::google_metadata metadata(environment_lookup_, options_.limits, options_.time);
  cluster::google_credentials credentials(environment_lookup_, metadata, options_.limits,
                                          options_.time);
  auto const project = options_.project.empty() ? metadata.project() : options_.project;
  auto const place = options_.region.empty()
                         ? "zones/" + muster::percent_encoded(
                                          options_.zone.empty() ? metadata.zone() : options_.zone)
                         : "regions/" + muster::percent_encoded(options_.region);
  api_client api(credentials.sign_in(options_.token_file,
                                     "compute.instanceGroups.list and compute.instances.get"));

  auto machines = running(api, project, place);
  if (machines.empty())
    throw cluster_error(cluster_error::code::not_ready,
                        "instance group " + options_.instance_group + " of " + place +
                            " in project " + project + " has no running machine");
  if (options_.tasks > 0 && machines.size() != static_cast<std::size_t>(options_.tasks))
    throw cluster_error(cluster_error::code::not_ready,
                        "instance group " + options_.instance_group + ": " +
                            std::to_string(machines.size()) + " machines are running, " +
                            std::to_string(options_.tasks) + " are expected");
  std::sort(machines.begin(), machines.end(), [](machine const& a, machine const& b) {
    return a.name == b.name ? a.path < b.path : cluster::natural_less(a.name, b.name);
  });
  if (options_.find_own) {
    auto const self = metadata.get("instance/name");
    auto const own = std::find_if(machines.begin(), machines.end(),
                                  [&](machine const& m) { return m.name == self; });
    if (own == machines.end())
      throw cluster::missing("this machine, " + self + ", is not running in instance group " +
                             options_.instance_group);
    own_id_ = static_cast<int>(own - machines.begin());
  }
  muster::cluster_spec::tasks tasks;
  for (auto const& m : machines) {
    auto const url = options_.api_url + "/" + m.path;
    auto const body = api.get(url);
    auto const interface = json_place(body, url).at("networkInterfaces").at(std::size_t{0});
    auto ip = interface.text_of("networkIP");
    if (ip.empty()) ip = interface.text_of("ipv6Address");
    if (ip.empty()) ip = interface.at("networkIP").text();
    tasks.emplace(static_cast<int>(tasks.size()), cluster::host_port(ip, options_.port, url));
  }
  return muster::cluster_spec({{options_.task_type, std::move(tasks)}});
}

}  // namespace muster

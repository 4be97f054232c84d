// One listing of pods, page by page.
#include "cluster/http/kubernetes_pods.hpp"

#include "base/text.hpp"
#include "cluster/http/json_place.hpp"
#include "cluster/text.hpp"
#include "muster/cluster_spec.hpp"

namespace muster::cluster {

namespace {

/// Accelerators of one container.
constexpr std::int64_t accelerators_max = 10'000;

/// "nvidia.com/gpu" and "google.com/tpu" are GPU and TPU; other resources are none.
std::string accelerator_of(std::string const& resource) {
  if (resource.ends_with("/gpu")) return "GPU";
  if (resource.ends_with("/tpu")) return "TPU";
  return {};
}

std::map<std::string, int> accelerators_of(json_place const& spec) {
  std::map<std::string, int> all;
  for (auto const& container : spec.items_of("containers")) {
    auto const resources = container.find("resources");
    if (!resources) continue;
    for (auto const& [resource, amount] : resources->members_of("limits")) {
      auto const kind = accelerator_of(resource);
      if (kind.empty()) continue;
      auto const count = amount.number();
      if (count < 0 || count > accelerators_max)
        throw invalid(amount.where() + " is " + std::to_string(count) + ", not from 0 to " +
                      std::to_string(accelerators_max));
      all[kind] += static_cast<int>(count);
    }
  }
  return all;
}

/// Listings go stale while they are read page by page; then they are begun again so often.
constexpr int restarts_max = 3;
constexpr unsigned gone = 410;

}  // namespace

std::vector<kubernetes_pod> list_kubernetes_pods(api_client& api, std::string const& server,
                                                 std::string const& name_space,
                                                 std::string const& selector) {
  auto const scope = name_space == "*" ? "" : "/namespaces/" + muster::percent_encoded(name_space);
  auto const first = server + "/api/v1" + scope +
                     "/pods?labelSelector=" + muster::percent_encoded(selector) +
                     "&limit=" + std::to_string(pods_of_a_page);
  std::vector<kubernetes_pod> all;
  std::string next;
  int restarts = 0;
  for (int page = 0; page < pod_pages_max; ++page) {
    auto const url = next.empty() ? first : first + "&continue=" + muster::percent_encoded(next);
    api_request const request{"GET", url};
    auto const answer = api.send(request);
    if (answer.status == gone && !next.empty() && ++restarts <= restarts_max) {
      all.clear();
      next.clear();
      continue;
    }
    auto const body = api.read(request, answer);
    json_place const top(body, url);
    for (auto const& item : top.at("items").items()) {
      auto const meta = item.at("metadata");
      auto const status = item.at("status");
      all.push_back({meta.text_of("namespace"), meta.at("name").text(), status.text_of("phase"),
                     status.text_of("podIP"), status.text_of("hostIP"),
                     meta.find("deletionTimestamp").has_value()});
      if (auto const spec = item.find("spec")) {
        all.back().hostname = spec->text_of("hostname");
        all.back().accelerators = accelerators_of(*spec);
      }
    }
    auto const meta = top.find("metadata");
    next = meta ? meta->text_of("continue") : std::string();
    if (next.empty()) return all;
    if (all.size() > cluster_spec::tasks_max)
      throw invalid(first + ": more pods than " + std::to_string(cluster_spec::tasks_max));
  }
  throw invalid(first + ": the listing does not end within " + std::to_string(pod_pages_max) +
                " pages");
}

}  // namespace muster::cluster

// A route that is not listed requires `view` (GET) or `submit` (all other methods).
#include <algorithm>
#include <map>

#include "web/rest/handlers.hpp"

namespace muster::web {

namespace {

using enum core::permission;

std::map<std::string_view, core::permission> const special = {
    {"livez", nothing},
    {"readyz", nothing},
    {"healthz", nothing},
    {"getVersion", nothing},
    {"getOpenapi", nothing},
    {"getOpenapiV1", nothing},
    {"getSession", nothing},
    {"signIn", nothing},
    {"signOut", nothing},
    {"putBlob", share},
    {"getBlob", share},
    {"getKey", read_keys},
    {"listKeys", read_keys},
    {"getTorchStore", read_keys},
    {"putKey", coordinate},
    {"deleteKey", coordinate},
    {"waitAtBarrier", coordinate},
    {"cancelBarrier", administer},
    {"failCluster", coordinate},
    {"reportTaskError", coordinate},
    {"beginTorchAttempt", coordinate},
    {"createCluster", administer},
    {"deleteCluster", administer},
    {"drainTask", administer},
    {"cordonTask", administer},
    {"uncordonTask", administer},
    {"listTokens", administer},
    {"createToken", administer},
    {"rotateToken", administer},
    {"revokeToken", administer},
};

constexpr std::string_view routes_over_all_clusters[] = {
    "getOverview", "listAttention", "listEvents",   "getSamples", "listClusters",
    "listHosts",   "listMachines",  "listPastJobs", "searchLogs", "getServerHealth"};

// Requests that are too frequent for the audit log.
constexpr std::string_view not_audited[] = {"appendClosures", "putBlob",       "putKey",
                                            "deleteKey",      "waitAtBarrier", "signOut"};

}  // namespace

void set_permissions(std::vector<route>& all) {
  for (auto& r : all) {
    auto const it = special.find(r.id);
    bool const looks = r.method == "GET";
    r.needs = it != special.end() ? it->second : looks ? view : submit;
    r.audited = !looks && std::find(std::begin(not_audited), std::end(not_audited), r.id) ==
                              std::end(not_audited);
    r.scoped = std::find(std::begin(routes_over_all_clusters), std::end(routes_over_all_clusters),
                         r.id) != std::end(routes_over_all_clusters);
    r.names_cluster =
        r.id == "submitJob" || r.id == "submitProgram" || r.id == "createPerWorkerValue";
  }
}

}  // namespace muster::web

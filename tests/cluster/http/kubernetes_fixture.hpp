// A Kubernetes API with pods by selector, and the directory of a service account.
#pragma once

#include "base/text.hpp"
#include "muster/kubernetes_resolver.hpp"
#include "tests/cluster/http/fixture.hpp"

namespace muster::testing {

struct pod_row {
  std::string name, phase, pod_ip, host_ip = "10.1.0.1";
  bool ending = false;
  std::string hostname = {};
};

class kubernetes : public ::testing::Test {
 protected:
  using job_selectors = std::map<std::string, std::vector<std::string>>;

  kubernetes() {
    account_.write("token", "first-token\n");
    account_.write("namespace", "training");
    account_.write("ca.crt", authority_.pem());
  }

  static std::string list(std::vector<pod_row> const& pods, std::string const& next = {}) {
    std::string items;
    for (auto const& p : pods)
      items += std::string(items.empty() ? "" : ",") + R"({"metadata":{"name":")" + p.name +
               (p.ending ? R"(","deletionTimestamp":"2026-11-21T10:00:00Z)" : "") +
               R"("},"spec":{)" +
               (p.hostname.empty() ? "" : R"("hostname":")" + p.hostname + "\"") +
               R"(},"status":{"phase":")" + p.phase +
               (p.pod_ip.empty() ? "" : R"(","podIP":")" + p.pod_ip) + R"(","hostIP":")" +
               p.host_ip + R"("}})";
    return R"({"kind":"PodList","metadata":{"continue":")" + next + R"("},"items":[)" + items +
           "]}";
  }

  void serve(std::map<std::string, std::vector<pod_row>> by_selector, bool tls) {
    http_service::options o;
    if (tls) o.tls = authority_.issue();
    server_ = std::make_unique<http_service>(
        [by_selector](http_seen const& s) {
          auto const selector = muster::percent_decoded(s.query("labelSelector"), false);
          auto const found = by_selector.find(selector.value_or(""));
          return http_reply{
              200, list(found == by_selector.end() ? std::vector<pod_row>() : found->second)};
        },
        o);
  }

  kubernetes_resolver::options options(job_selectors jobs) {
    kubernetes_resolver::options o;
    o.jobs = std::move(jobs);
    o.service_account = account_.path();
    o.time = time_.source();
    return o;
  }

  kubernetes_resolver within(job_selectors jobs) {
    return {environment({{"KUBERNETES_SERVICE_HOST", "127.0.0.1"},
                         {"KUBERNETES_SERVICE_PORT", std::to_string(server_->port())}}),
            options(std::move(jobs))};
  }
  /// Returns a resolver outside the cluster.
  kubernetes_resolver off(std::string const& url, job_selectors jobs = {{"worker", {"app=x"}}}) {
    auto o = options(std::move(jobs));
    o.where = kubernetes_resolver::location::off_cluster;
    o.server = url;
    return {environment({}), o};
  }

  still_time time_;
  temporary_directory account_;
  muster::test::authority authority_;
  std::unique_ptr<http_service> server_;
};

}  // namespace muster::testing

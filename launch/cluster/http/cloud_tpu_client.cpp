#include "muster/cloud_tpu_client.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "launch/cluster/http/addresses.hpp"
#include "launch/cluster/http/google_credentials.hpp"
#include "launch/cluster/http/json_place.hpp"
#include "launch/cluster/http/retry_after.hpp"
#include "launch/cluster/resolver_text.hpp"

namespace muster::cluster {

using std::chrono::milliseconds;

namespace {

/// A host that is restarted sooner after an out-of-memory error runs out of memory again.
constexpr std::chrono::seconds oom_cool_down{90};

constexpr milliseconds last_question{5'000};

std::vector<std::string> endpoints_of(json_place const& node) {
  auto const port_of = [](json_place const& p) {
    auto const port = p.find("port");
    return port ? port->number() : tpu_port;
  };
  std::vector<std::string> all;
  for (auto const& e : node.items_of("networkEndpoints"))
    all.push_back(host_port(e.at("ipAddress").text(), port_of(e), e.where()));
  // The oldest APIs return a single endpoint outside the list.
  if (auto const ip = node.text_of("ipAddress"); all.empty() && !ip.empty())
    all.push_back(host_port(ip, port_of(node), node.where()));
  if (all.size() > tpu_endpoints_max)
    throw invalid(node.where() + ": more than " + std::to_string(tpu_endpoints_max) + " endpoints");
  return all;
}

tpu_node parse_node(json_place const& top) {
  tpu_node n;
  n.state = top.text_of("state");
  n.health = top.text_of("health");
  n.health_description = top.text_of("healthDescription");
  n.accelerator_type = top.text_of("acceleratorType");
  if (auto const config = top.find("acceleratorConfig")) {
    n.generation = config->text_of("type");
    n.topology = config->text_of("topology");
  }
  n.runtime_version = top.text_of("runtimeVersion");
  if (n.runtime_version.empty()) n.runtime_version = top.text_of("tensorflowVersion");
  n.endpoints = endpoints_of(top);
  for (auto const& s : top.items_of("symptoms"))
    n.symptoms.push_back({s.text_of("symptomType"), s.text_of("createTime"), s.text_of("workerId"),
                          s.text_of("details"), s.where()});
  return n;
}

std::string filled(std::string text, std::string const& mark, std::string const& value) {
  for (auto at = text.find(mark); at != std::string::npos; at = text.find(mark, at + value.size()))
    text.replace(at, mark.size(), value);
  return text;
}

}  // namespace

cloud_tpu_client::cloud_tpu_client(environment_lookup environment, options o)
    : environment_(std::move(environment)),
      options_(std::move(o)),
      name_(find_tpu(options_.tpu, environment_)),
      metadata_(std::make_unique<google_metadata>(environment_, options_.limits, options_.time)),
      credentials_(std::make_unique<google_credentials>(environment_, *metadata_, options_.limits,
                                                        options_.time)) {
  if (auto const url = environment_("TPU_API_DISCOVERY_URL"); url && !url->empty())
    options_.discovery_url = *url;
  if (!name_.project.empty() && options_.project.empty()) options_.project = name_.project;
  if (!name_.zone.empty() && options_.zone.empty()) options_.zone = name_.zone;
  if (options_.api_version != "v1" && options_.api_version != "v2")
    throw invalid("tpu: API version " + quoted(options_.api_version) + " is neither v1 nor v2");
}

cloud_tpu_client::~cloud_tpu_client() = default;

api_service cloud_tpu_client::service() const {
  return {.limits = options_.limits, .time = options_.time};
}

// Creates a client for each query, because the service closes idle connections.
api_client cloud_tpu_client::make_client(api_limits const& limits) {
  auto s = credentials_->sign_in(options_.token_file, "tpu.nodes.get");
  s.limits = limits;
  return api_client(s);
}

std::string cloud_tpu_client::find_api() {
  if (options_.discovery_url.empty()) return options_.api_url + "/" + options_.api_version + "/";
  auto const url =
      filled(filled(options_.discovery_url, "{api}", "tpu"), "{apiVersion}", options_.api_version);
  api_client client(service());  // no token, because discovery documents are public
  auto const document = client.get(url);
  json_place const top(document, url);
  auto root = top.at("rootUrl").text();
  if (!root.ends_with('/')) root += '/';
  auto const version = top.text_of("version");
  return root + top.text_of("servicePath") + (version.empty() ? options_.api_version : version) +
         "/";
}

std::string cloud_tpu_client::node_url() {
  if (options_.project.empty()) options_.project = metadata_->project();
  if (options_.zone.empty()) options_.zone = metadata_->zone();
  return find_api() + "projects/" + muster::percent_encoded(options_.project) + "/locations/" +
         muster::percent_encoded(options_.zone) + "/nodes/" + muster::percent_encoded(name_.name);
}

tpu_node cloud_tpu_client::node(api_limits const& limits) {
  if (!name_.by_api())
    throw invalid("TPU " + quoted(name_.name) +
                  " is an address, not a name; the Cloud TPU API finds a TPU only by its name");
  try {
    auto const url = node_url();
    auto client = make_client(limits);
    auto const body = client.get(url);
    return parse_node(json_place(body, url));
  } catch (cluster_error const& e) {
    throw cluster_error(
        e.kind(), "Could not lookup TPU metadata from name \"" + name_.name + "\": " + e.what());
  }
}

tpu_node cloud_tpu_client::ready_node() {
  auto n = node();
  if (n.is_ready()) return n;
  throw cluster_error(
      cluster_error::code::not_ready,
      "TPU \"" + name_.name + "\" is not yet ready; state: \"" + printable(n.state) + "\"");
}

std::vector<std::string> cloud_tpu_client::endpoints() {
  return name_.by_api() ? ready_node().endpoints : name_.endpoints;
}

std::optional<std::string> cloud_tpu_client::told(std::string tpu_node::*field) {
  auto text = name_.by_api() ? node().*field : std::string();
  return text.empty() ? std::nullopt : std::optional(std::move(text));
}

bool cloud_tpu_client::recoverable() {
  if (!name_.by_api()) return true;
  return recoverable(node());
}

bool cloud_tpu_client::recoverable(tpu_node const& n) const {
  if (n.state == "TERMINATED" || n.state == "PREEMPTED") return false;
  return std::none_of(n.symptoms.begin(), n.symptoms.end(), [&](tpu_symptom const& s) {
    bool const counts = (s.type == "OUT_OF_MEMORY" && options_.runtime_oom_exit) ||
                        (s.type == "HBM_OUT_OF_MEMORY" && options_.hbm_oom_exit);
    if (!counts) return false;
    auto const at = parse_timestamp(s.at);
    if (!at) throw invalid(s.where + ".createTime is " + quoted(s.at) + ", not a time");
    return options_.time.wall() - *at < oom_cool_down;
  });
}

void cloud_tpu_client::wait_for_healthy(milliseconds timeout, milliseconds interval) {
  auto const end = options_.time.now() + timeout;
  auto const remaining = [&] {
    return std::chrono::duration_cast<milliseconds>(end - options_.time.now());
  };
  for (;;) {
    std::string seen;
    try {
      auto limits = options_.limits;
      limits.total = std::min(limits.total, std::max(remaining(), last_question));
      auto const n = node(limits);
      if (n.is_healthy()) return;
      seen = "health: \"" + printable(n.health) + "\", state: \"" + printable(n.state) + "\"";
      if (!n.health_description.empty()) seen += " (" + printable(n.health_description) + ")";
    } catch (cluster_error const& e) {
      if (e.kind() != cluster_error::code::unreachable) throw;
      seen = e.what();
    }
    auto const left = remaining();
    if (left <= milliseconds(0))
      throw cluster_error(
          cluster_error::code::not_ready,
          "Timed out waiting for TPU \"" + name_.name + "\" to become healthy; " + seen);
    options_.time.wait(std::clamp(interval, milliseconds(1), left));
  }
}

std::string cloud_tpu_client::version_url(std::string const& endpoint) const {
  return "http://" + host_port(host_of(endpoint), options_.version_port, "TPU " + name_.name) +
         "/requestversion";
}

void cloud_tpu_client::configure_version(std::string const& version, restart how) {
  auto s = service();
  s.remedy = [](unsigned status) {
    return std::string(status == 404 ? "this host does not support changing its version" : "");
  };
  api_client client(s);
  std::optional<cluster_error> first;
  std::size_t failed = 0;
  auto const hosts = endpoints();
  if (hosts.empty()) throw missing("TPU " + quoted(name_.name) + " has no endpoints");
  for (auto const& host : hosts) {
    api_request const request{
        "POST",
        version_url(host) + "/" + muster::percent_encoded(version) +
            "?restartType=" + (how == restart::always ? "always" : "ifNeeded"),
        {},
        false};
    try {
      client.check(request, client.send(request));
    } catch (cluster_error const& e) {
      ++failed;
      if (!first) first = e;
    }
  }
  if (first)
    throw cluster_error(first->kind(), std::to_string(failed) + " of " +
                                           std::to_string(hosts.size()) +
                                           " hosts did not change their version: " + first->what());
}

std::optional<std::string> cloud_tpu_client::current_version() {
  api_client client(service());
  auto const hosts = endpoints();
  if (hosts.empty()) throw missing("TPU " + quoted(name_.name) + " has no endpoints");
  api_request const request{"GET", version_url(hosts.front())};
  auto const answer = client.send(request);
  if (answer.status == 404) return {};
  auto const body = client.read(request, answer);
  return json_place(body, request.url).at("currentVersion").text();
}

}  // namespace muster::cluster

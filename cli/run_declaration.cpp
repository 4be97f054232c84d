// Declares the cluster on the server at the start of a run and takes it back at its end.
#include "cli/run_declaration.hpp"

#include <iostream>

#include "launch/address.hpp"

namespace muster::cli {
namespace {

using launch::address;

// A server that listens everywhere is reached where its HTTP is.
std::string reachable(std::string const& text, std::string url) {
  auto a = address::parse(text);
  if (a.host != "0.0.0.0" && a.host != "::" && !a.host.empty()) return text;
  url.erase(0, url.find("://") == url.npos ? 0 : url.find("://") + 3);
  a.host = address::parse(url.substr(0, url.find('/'))).host;
  return a.text();
}

}  // namespace

run_declaration::run_declaration(rest_options options, std::string name, cluster_spec const& spec)
    : server_(std::move(options)), name_(std::move(name)) {
  json::object jobs;
  for (auto const* job : {"chief", "worker"})
    if (spec.has_job(job) && spec.num_tasks(job) > 0) jobs[job] = spec.num_tasks(job);
  auto const declared = server_.post(
      "/api/v1/clusters", json::serialize(json::object{{"name", name_}, {"jobs", jobs}}));
  address_ = reachable(text_of(declared, "address"), server_.url());
}

run_declaration::~run_declaration() {
  try {
    auto const done =
        server_.send("DELETE", "/api/v1/clusters/" + percent_encoded(name_) + "?force=true");
    if (!done.ok()) throw rest::problem(done);
  } catch (std::exception const& e) {
    std::cerr << "muster run: the cluster " << name_ << " stays declared: " << e.what() << '\n';
  }
}

}  // namespace muster::cli

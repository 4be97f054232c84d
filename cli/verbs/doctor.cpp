// muster doctor: checks the server, this machine and the network, and suggests fixes.
#include <algorithm>
#include <iomanip>
#include <iostream>

#include "app/configuration.hpp"
#include "base/text.hpp"
#include "cli/actions.hpp"
#include "cli/doctor/machine_checks.hpp"
#include "cli/rest.hpp"
#include "cli/table.hpp"

namespace muster::cli {
namespace {

using doctor::finding;
using doctor::findings;
using doctor::result;

// The ports of further clusters are not checked, because each check can take seconds.
constexpr std::size_t clusters_tried = 16;
constexpr std::size_t tasks_examined = 10'000;

struct doctor_options : server_options {
  std::vector<std::string> certificates;
  std::string data_dir, spill_dir;
};

void add(findings& all, findings more) {
  std::move(more.begin(), more.end(), std::back_inserter(all));
}

std::uint64_t metric(std::string const& text, std::string const& name) {
  auto const at = text.find("\n" + name + " ");
  return at == std::string::npos
             ? 0
             : static_cast<std::uint64_t>(std::stod(text.substr(at + name.size() + 2, 32)));
}

findings check_ports(rest& server) {
  findings all;
  for (auto const& c : server.some("/api/v1/clusters?", "clusters", clusters_tried))
    if (auto const address = text_of(c, "address"); !address.empty())
      all.push_back(doctor::probe_address("gRPC of cluster " + text_of(c, "name"),
                                          server.reachable(address)));
  return all;
}

finding check_clock(rest& server) {
  using clock = std::chrono::system_clock;
  // Connects first, so that the timed request does not include connecting.
  server.send("GET", "/livez");
  auto const asked = clock::now();
  auto const answer = server.send("GET", "/livez");
  auto const answered = clock::now();
  auto const date = doctor::parse_date(std::string(answer.header("Date")));
  if (date == std::chrono::sys_seconds{})
    return {"clock", result::warning, "the answers of " + server.url() + " have no Date header",
            "a proxy removes the header; pass the server's own address in --url"};
  return doctor::judge_clock(date, asked, answered);
}

findings check_store(json::value const& overview) {
  auto const& durable = field_of(overview, "durable");
  if (durable.is_null())
    return {{"disk", result::ok,
             "the server keeps everything in memory and loses it when it stops; --data-dir DIR "
             "stores it on disk"}};
  if (auto const failure = text_of(durable, "failure"); !failure.empty())
    return {{"disk", result::problem, "the server cannot write: " + failure,
             "free space on its disk or repair it, then restart the server"}};
  if (auto const full = text_of(durable, "full"); !full.empty())
    return {{"disk", result::problem, full,
             "free space there, or move the directory to a larger disk; the server then continues "
             "automatically. Jobs with --no-durable are accepted until then"}};
  auto const bytes = count_of(durable, "disk_bytes");
  auto text =
      text_of(durable, "data_dir") + " of the server uses " + with_thousands(bytes >> 20) + " MiB";
  if (!field_of(durable, "free_bytes").is_null())
    text += "; " + with_thousands(count_of(durable, "free_bytes") >> 20) + " MiB are free";
  findings all{{"disk", result::ok, text}};
  add(all, doctor::judge_etcd(text_of(durable, "store_version")));
  return all;
}

findings probe_server(rest& server) {
  findings all{{"ports", result::ok, "HTTP at " + server.url() + " accepts work"}};
  add(all, check_ports(server));
  all.push_back(check_clock(server));
  auto const metrics = server.send("GET", "/metrics").body;
  if (auto const limit = metric(metrics, "process_max_fds"); limit > 0)
    all.push_back(doctor::judge_files("the server", limit, metric(metrics, "process_open_fds")));
  add(all, check_store(server.get("/api/v1/overview")));
  auto const version = text_of(server.get("/api/v1/version"), "version");
  add(all, doctor::judge_versions(
               MUSTER_VERSION, version,
               server.some("/api/v1/clusters/default/tasks?", "tasks", tasks_examined)));
  auto const alerts = server.get("/api/v1/attention");
  add(all, doctor::judge_alerts(list_of(alerts, "items"), server.url()));
  return all;
}

// The server answers but is not ready: it is starting, on standby or stopping.
findings check_waiting_work(rest& server, muster::http_response const& ready) {
  auto const problem = rest::problem(ready);
  auto const why = server.url() + " does not accept work: " + problem.what();
  if (ready.status != 503)
    return {doctor::judge_refusal(why, problem.end(), server.sends_token(), server.url())};
  return {{"health", result::problem, why,
           "wait if it is starting or stopping; for several servers, list all of them in --url, "
           "separated by commas"}};
}

findings check_without_server(finding first) {
  if (first.check == "health") {
    first.check = "ports";
    first.fix = "'systemctl start muster' or 'muster serve' there";
  }
  findings all{std::move(first)};
  auto const c = server::configuration();
  for (auto const& e : {c.grpc, c.http})
    all.push_back(doctor::check_free_port(server::to_string(e)));
  return all;
}

void print(findings const& all, std::string const& summary) {
  std::size_t width = 0;
  for (auto const& f : all) width = std::max(width, f.check.size());
  for (auto const& f : all) {
    std::cout << std::left << std::setw(7) << doctor::name(f.is) << "  "
              << std::setw(static_cast<int>(width)) << f.check << "  " << for_terminal(f.text)
              << '\n';
    if (!f.fix.empty())
      std::cout << std::string(11 + width, ' ') << "→ " << for_terminal(f.fix) << '\n';
  }
  std::cout << summary << '\n';
}

int report(findings const& all, output_format output) {
  auto const count = [&](result r) {
    return std::count_if(all.begin(), all.end(), [r](finding const& f) { return f.is == r; });
  };
  auto const problems = count(result::problem), warnings = count(result::warning);
  json::array listed;
  for (auto const& f : all)
    listed.push_back(
        {{"check", f.check}, {"result", doctor::name(f.is)}, {"text", f.text}, {"fix", f.fix}});
  json::object const out{
      {"problems", problems}, {"warnings", warnings}, {"findings", std::move(listed)}};
  if (!printed_as_json(output, out))
    print(all, counted(problems, "problem") + ", " + counted(warnings, "warning"));
  return problems > 0 ? exit_failed : exit_ok;
}

int run_doctor(doctor_options& o) {
  findings all;
  bool unreachable = false;
  rest server(o.rest);
  try {
    auto const ready = server.send("GET", "/readyz", {}, {}, doctor::patience);
    add(all, ready.ok() ? probe_server(server) : check_waiting_work(server, ready));
    if (server.url().starts_with("https://")) add(all, doctor::check_https(server.url()));
  } catch (request_error const& e) {
    if (e.status() == exit_usage) throw;
    unreachable = all.empty() && e.status() == exit_unreachable;
    auto refusal = doctor::judge_refusal(e.what(), e.end(), server.sends_token(), o.rest.url);
    if (unreachable)
      add(all, check_without_server(std::move(refusal)));
    else
      all.push_back(std::move(refusal));
  }
  all.push_back(doctor::check_files());
  add(all, doctor::check_foreign_names());
  for (auto const& dir : {o.data_dir, o.spill_dir})
    if (!dir.empty()) all.push_back(doctor::check_disk(dir));
  for (auto const& file : o.certificates) add(all, doctor::check_certificates(file));
  auto const status = report(all, o.output);
  return unreachable ? exit_unreachable : status;
}

}  // namespace

void add_doctor(CLI::App& app, choice& chosen) {
  auto const [verb, o] =
      add_verb(app, chosen, "doctor",
               "Check the server, the machine and the network, and print remedies", run_doctor);
  add_value(*verb, "--data-dir", o->data_dir, "DIR",
            "Also check the free space of this server directory on this machine");
  add_value(*verb, "--spill-dir", o->spill_dir, "DIR",
            "Also check the free space of this server directory on this machine");
  add_repeated(*verb, "--check-cert", o->certificates, "FILE",
               "Also check when the certificates of this PEM file expire; may be repeated");
  add_server_options(*verb, *o);
  verb->footer(
      "Exit status: 0 no problem (warnings do not count), 1 problems, 3 no server answers.\n"
      "Examples:\n"
      "  muster doctor --url http://10.0.0.1:8477\n"
      "  muster doctor --data-dir /var/lib/muster/data --check-cert /etc/muster/server.pem\n"
      "  muster doctor --output json | jq -r '.findings[] | select(.result != \"ok\") | .fix'");
}

}  // namespace muster::cli

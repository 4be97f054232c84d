// muster serve: converts the flags to a server::configuration, and runs the server until a signal.
#include <algorithm>
#include <iostream>
#include <sstream>
#include <string_view>
#include <utility>

#include "app/app.hpp"
#include "app/logging.hpp"
#include "app/supervisor.hpp"
#include "base/base_path.hpp"
#include "base/text.hpp"
#include "cli/cluster_flag.hpp"
#include "cli/command.hpp"
#include "cli/durations.hpp"
#include "cli/settings.hpp"
#include "cli/suggestion.hpp"
#include "cli/verbs/logging_flags.hpp"
#include "cli/verbs/store_flags.hpp"

namespace muster::cli {
namespace {

struct serve_options {
  server::configuration config;
  bool print_config = false;
  CLI::App* verb = nullptr;
};

void add_endpoint(CLI::App& verb, std::string const& name, server::endpoint& value,
                  std::string const& help) {
  add_read(verb, name, "ADDR:PORT", help, [&value](std::string const& text) {
    auto parsed = server::parse_endpoint(text);
    if (!parsed) throw CLI::ValidationError(parsed.error().message);
    value = *parsed;
  })->default_str(server::to_string(value));
}

void add_store(CLI::App& verb, server::shared_store& s) {
  add_read(verb, "--store", "URL",
           "Store durable state in etcd instead of --data-dir. One of the servers with the same "
           "store is the leader, the others are standbys. "
           "etcd://[USER@]HOST:2379[,HOST:2379...]/PREFIX; etcds:// for TLS",
           [&s](std::string const& text) {
             if (text.empty()) return;  // --print-config writes an empty value
             auto where = server::journal::etcd::parse_address(text);
             if (!where) throw CLI::ValidationError("--store", where.error().message);
             s.where = std::move(*where);
           });
  add_store_access(verb, s);
  add_duration(verb, "--store-lease", s.lease,
               "Time after which a leader that cannot reach etcd stops being the leader. A shorter "
               "lease shortens the failover; a longer one tolerates longer outages of etcd");
  add_bytes(verb, "--store-bytes", s.bytes,
            "Size limit of etcd; new durable work is refused when less than 64 MiB are left");
  add_value(verb, "--advertise", s.advertise, "HOST:PORT",
            "HTTP address of this server that standbys report to clients (the address of --http)");
}

void add_tls(CLI::App& verb, server::tls_settings& s) {
  add_value(
      verb, "--tls-cert", s.certificate, "FILE",
      "Serve TLS on both ports with this certificate chain, PEM. If the file is replaced, new "
      "connections use the new certificate");
  add_value(verb, "--tls-key", s.key, "FILE",
            "Private key of the server's certificate, PEM, without a password");
  add_value(verb, "--tls-client-ca", s.client_ca, "FILE",
            "Accept client certificates issued by these authorities, PEM");
  verb.add_flag("--tls-client-required", s.client_required,
                "Reject clients that present no valid certificate");
  add_list(verb, "--tls-role", s.roles, "NAME=ROLE",
           "Role of clients that present a certificate with this common name and no token: viewer, "
           "submitter, worker or admin; repeatable");
}

void add_pages(CLI::App& verb, web::web_options& o) {
  add_value(verb, "--allowed-host", o.allowed_hosts, "NAME", "Accept this name in Host headers");
  add_value(verb, "--allowed-origin", o.allowed_origins, "ORIGIN",
            "Allow pages of this origin to change state");
  add_read(verb, "--base-path", "PATH",
           "Path under which a reverse proxy publishes this server, such as /muster/",
           [&o](std::string path) {
             while (path.ends_with('/')) path.pop_back();
             if (!is_base_path(path))
               throw CLI::ValidationError(
                   "--base-path",
                   "expected a path such as /muster/, of letters, digits, '-', '_' "
                   "and '.', at most " +
                       std::to_string(base_path_bytes_max) + " bytes");
             o.base_path = std::move(path);
           });
  add_value(verb, "--docs-dir", o.docs_dir, "DIR",
            "Serve the documentation site in this directory at /docs/ (default: the site that was "
            "installed with this program)");
  add_value(verb, "--dashboard-dir", o.dashboard_dir, "DIR",
            "Serve the dashboard from this directory (for developers)");
}

void add_addresses(CLI::App& verb, server::configuration& c) {
  add_endpoint(verb, "--grpc", c.grpc,
               "Address for workers and gRPC clients; port 0: any free port");
  add_endpoint(verb, "--http", c.http,
               "Address for REST, WebSocket, metrics and dashboard; port 0: any free port");
  add_value(verb, "--ready-file", c.life.ready_file, "FILE",
            "Write both addresses to this file when the server is ready");
  add_value(
      verb, "--data-dir", c.data_dir, "DIR",
      "Directory for all state that survives a restart: jobs with their values, sessions that "
      "hold values, clusters with their tasks, keys and barriers");
  add_bytes(
      verb, "--history-bytes-max", c.history.limits.bytes_max,
      "Disk space for the history: events, charts and the activity of workers; 0: no history is "
      "stored");
  add_duration(verb, "--history-age", c.history.limits.age, "Delete history older than this");
  add_value(verb, "--history-dir", c.history.directory, "DIR",
            "Directory for the history (history in --data-dir)");
  add_value(verb, "--read-only", c.history.shown, "DIR",
            "Show the --data-dir of a stopped server, without changing anything");
  add_list(verb, "--webhook", c.webhooks.urls, "URL[,URL...]",
           "Send alerts to these addresses, in the format of Slack's incoming webhooks");
  add_value(verb, "--webhook-secret-file", c.webhooks.secret_file, "FILE",
            "Secret that signs alerts (header X-Muster-Signature); at least 16 bytes");
  add_value(
      verb, "--webhook-ca", c.webhooks.ca, "FILE",
      "PEM file with the certificate authorities that verify the --webhook servers (default: the "
      "system's)");
  add_value(verb, "--page-url", c.webhooks.page, "URL",
            "Address of the dashboard, for links in alerts that are sent");
  add_store(verb, c.store);
  add_duration(verb, "--commit-delay", c.commit_delay,
               "While the disk is busy, wait at most this long to write several changes together; "
               "an idle disk writes immediately");
  verb.add_flag(
      "--supervise", c.life.supervise,
      "Restart the server if it crashes. Its ports stay open, so clients wait and are not "
      "refused");
  add_tls(verb, c.tls);
  verb.add_flag("--insecure", c.insecure,
                "Allow clients on other machines to connect without a token");
  using server::auth_mode;
  add_choice(
      verb, "--auth", c.auth,
      {{"auto", auth_mode::automatic}, {"on", auth_mode::on}, {"off", auth_mode::off}},
      "Whether a token is required. auto: if tokens exist, or if other machines can reach the "
      "server and --insecure is not set");
  add_value(verb, "--token-file", c.token_file, "FILE",
            "File with one token per line: ROLE TOKEN [cluster=C[,C...]] [allow-exec]; read again "
            "when it changes");
  add_value(verb, "--admin-token-file", c.admin_token_file, "FILE",
            "Write the token of the first admin to this file, readable by this user only "
            "(admin.token in --data-dir)");
  add_list(verb, "--agents-from", c.agents_from, "[CLUSTER=]NET[,...]",
           "Accept JAX and TensorFlow agents, which have no token, from these networks. CLUSTER= "
           "sets the networks of one cluster")
      ->default_str("127.0.0.0/8,::1");
  add_read(verb, "--torch", "ADDR:PORT",
           "Serve the TCPStore of the main cluster at this address. PyTorch programs use it as "
           "MASTER_ADDR and MASTER_PORT; see docs/pytorch.md",
           [&c](std::string const& text) {
             if (text.empty()) return;  // --print-config writes an empty value
             auto const where = server::parse_endpoint(text);
             if (!where) throw CLI::ValidationError("--torch", where.error().message);
             c.torch.listen = *where;
           });
  add_list(verb, "--torch-from", c.torch.from, "NET[,NET...]",
           "Accept clients of TCPStores from these networks. Such clients have no credentials: all "
           "of them can read and write all keys")
      ->default_str("127.0.0.0/8,::1");
  add_list(verb, "--proxy-from", c.connections.proxy_from, "NET[,NET...]",
           "Trust PROXY headers (version 2) from relays in these networks, on all ports, as the "
           "client's address");
  add_pages(verb, c.web);
}

// The flag --cluster is repeatable. Its environment variable contains several clusters, separated
// by spaces.
void add_clusters(CLI::App& verb, server::configuration& c) {
  auto const take = [&c](std::vector<std::string> const& given) {
    c.clusters.clear();
    for (auto const& flag : given) {
      auto words = std::istringstream(flag);
      for (std::string text; words >> text;) {
        auto spec = parse_cluster(text);
        if (!spec) throw CLI::ValidationError("--cluster " + text, spec.error().message);
        c.clusters.push_back(std::move(*spec));
      }
    }
  };
  add_read<std::vector<std::string>>(
      verb, "--cluster", "SPEC",
      "A cluster and its tasks: NAME:JOB=N[,JOB=N...][;key=value...]. The first cluster is served "
      "on the --grpc port, every other cluster on its own port",
      take)
      ->allow_extra_args(false)
      ->default_str("default");
  auto const take_sources = [&c](std::vector<std::string> const& given) {
    c.cluster_sources.clear();
    for (auto const& text : given) {
      if (text.empty()) continue;  // --print-config writes an empty value
      auto source = parse_cluster_from(text);
      if (!source) throw CLI::ValidationError("--cluster-from " + text, source.error().message);
      c.cluster_sources.push_back(std::move(*source));
    }
  };
  add_read<std::vector<std::string>>(
      verb, "--cluster-from", "KIND",
      "Declare the cluster that a resolver finds, and follow its changes: "
      "KIND[:...][|name=NAME;every=30s;key=value...]; see 'muster resolve --help'",
      take_sources)
      ->allow_extra_args(false);
  add_read(verb, "--cluster-ports", "FIRST-LAST",
           "Ports for all clusters except the first (default: any free ports)",
           [&c](std::string const& text) {
             if (text.empty()) return;  // --print-config writes an empty value
             auto const range = server::parse_port_range(text);
             if (!range) throw CLI::ValidationError(range.error().message);
             c.cluster_ports = *range;
           });
}

std::vector<std::string> jobs_of(std::string const& text) {
  constexpr std::size_t jobs_max = 64;
  std::vector<std::string> jobs;
  auto words = std::istringstream(text);
  for (std::string job; std::getline(words, job, ',');) {
    if (job.empty() || job.find_first_of(": ;=") != std::string::npos)
      throw CLI::ValidationError("--stateful-jobs", "'" + job + "' is not a valid job name");
    jobs.push_back(std::move(job));
  }
  if (jobs.size() > jobs_max)
    throw CLI::ValidationError(
        "--stateful-jobs",
        std::to_string(jobs.size()) + " jobs, the limit is " + std::to_string(jobs_max));
  return jobs;
}

void add_value_limits(CLI::App& verb, server::configuration& c) {
  add_bytes(verb, "--value-bytes-max", c.core.value_bytes_max,
            "Maximum size of the values in memory");
  add_duration(verb, "--value-age", c.core.value_age,
               "How long finished jobs and held values are kept; 0: no limit");
  add_count(verb, "--session-values-max", c.core.session_values_max,
            "Maximum number of values that one session can hold; 0: no limit");
  add_bytes(verb, "--session-value-bytes-max", c.core.session_value_bytes_max,
            "Maximum size of the values that one session can hold; 0: no limit");
  add_count(verb, "--session-rows-max", c.core.session_rows_max,
            "Number of the newest ended closures of a session that remain listed; 0: none");
  add_count(verb, "--session-failures-max", c.core.session_failures_max,
            "Number of the newest failed closures of a session that also remain listed; 0: none");
  add_bytes(verb, "--session-rows-bytes-max", c.core.session_rows_bytes_max,
            "Maximum size of the listed closures of all sessions");
  add_bytes(verb, "--activity-bytes-max", c.core.activity_bytes_max,
            "Maximum size of the workers' activity in the last hour");
  add_value(verb, "--spill-dir", c.spill_dir, "DIR",
            "Directory for values that exceed --spill-above; emptied at start and stop");
  add_bytes(
      verb, "--spill-above", c.core.spill_above,
      "Maximum size of the values in memory before the oldest are written to --spill-dir; 0: half "
      "of --value-bytes-max");
  add_bytes(verb, "--spill-bytes-max", c.core.spill_bytes_max,
            "Maximum size of the values in --spill-dir");
  add_bytes(verb, "--blob-bytes-max", c.blobs.bytes_max,
            "Maximum size of blobs: large arguments, values and callables. They are stored in "
            "--data-dir, else in --spill-dir, else in the directory for temporary files");
}

void add_limits(CLI::App& verb, server::configuration& c) {
  add_duration(verb, "--heartbeat-timeout", c.core.heartbeat_timeout,
               "Time without a message after which a worker is lost");
  add_duration(verb, "--reconnect-grace", c.core.reconnect_grace,
               "How long running closures wait for a worker whose connection was lost; 0: no wait");
  add_duration(
      verb, "--recovery-timeout", c.core.recovery_timeout,
      "Give up a worker that has been lost for this long; closures that can run only there fail");
  add_duration(
      verb, "--start-delay", c.core.start_delay,
      "Delay per index: a new worker with index i receives no closures for i times this duration");
  add_duration(verb, "--start-delay-max", c.core.start_delay_max,
               "Upper limit of the start delay of one worker; 0: no limit");
  add_duration(verb, "--watchdog", c.core.watchdog,
               "Warn if closures are running but none has finished for this long; 0: off");
  add_count(
      verb, "--transient-dependency-failures", c.core.transient_dependency_failures,
      "Number of reports of a lost dependency at which a session fails; 0: at the first report");
  add_read(
      verb, "--transient-timeouts", "N",
      "Number of timeouts reported by functions at which a session fails; 0: at the first timeout",
      [&c](std::string const& text) {
        if (text == "workers/10") {
          c.core.transient_timeouts = core::config::timeouts_by_workers;
          return;
        }
        auto const n = parse_number(text);
        if (!n || *n > 10'000)
          throw CLI::ValidationError("--transient-timeouts",
                                     "'" + text + "' is neither workers/10 nor 0 to 10000");
        c.core.transient_timeouts = static_cast<std::uint32_t>(*n);
      })
      ->default_str("workers/10");
  add_read(verb, "--stateful-jobs", "JOB[,JOB...]",
           "Jobs whose tasks hold state, such as parameter servers. Closures run there only if "
           "they select the task, and the loss of a task is reported to its users; empty: none",
           [&c](std::string const& text) { c.core.stateful_jobs = jobs_of(text); })
      ->default_str("ps");
  add_duration(verb, "--transient-window", c.core.transient_window,
               "How long reports of lost dependencies and timeouts count");
  add_duration(verb, "--session-grace", c.core.session_grace,
               "How long a session that holds values waits for its client to reconnect");
  add_duration(verb, "--task-retention", c.core.task_retention,
               "How long a lost or stopped task remains listed");
  add_duration(verb, "--stop-timeout", c.life.stop_timeout, "Time limit of an orderly stop");
  add_count(verb, "--queue-capacity", c.core.queue_capacity,
            "Maximum number of queued closures of a session; 0: 16,777,216");
  add_count(verb, "--closures-max", c.core.closures_max,
            "Maximum number of closures of all jobs and sessions");
  add_count(verb, "--jobs-kept", c.core.finished_jobs_max,
            "Maximum number of finished jobs that remain listed");
  add_count(verb, "--sessions-kept", c.core.ended_sessions_max,
            "Maximum number of ended sessions that remain listed, with closures and logs; 0: none");
  add_duration(verb, "--session-age", c.core.ended_session_age,
               "How long ended sessions remain listed; 0: not at all");
  add_count(verb, "--sessions-max", c.core.sessions_max,
            "Maximum number of jobs and sessions at the same time");
  add_count(verb, "--tasks-max", c.core.tasks_max, "Maximum number of listed tasks");
  add_count(verb, "--credits-max", c.core.credits_max,
            "Maximum number of closures on one worker, running or waiting");
  add_count(verb, "--max-worker-failures", c.core.max_worker_failures,
            "Number of lost workers or processes after which a closure fails; 0: no limit");
  add_value_limits(verb, c);
  add_bytes(verb, "--body-limit", c.web.body_limit_bytes, "Maximum size of an HTTP request body");
  add_count(verb, "--connections-max", c.web.connections_max,
            "Maximum number of HTTP connections at the same time");
  add_bytes(verb, "--connection-memory-max", c.connections.memory_max,
            "Maximum memory for unfinished gRPC messages and header blocks of all connections; "
            "clients without a token can use half of it");
  add_count(verb, "--websocket-clients-max", c.web.websocket_clients_max,
            "Maximum number of open dashboards");
}

constexpr char limits_group[] = "Limits", advanced_group[] = "Advanced";

// The groups of flags in --help. Flags that are not listed belong to the group of limits or of
// advanced flags.
constexpr std::pair<char const*, char const*> groups[] = {{"--grpc", "Network"},
                                                          {"--http", "Network"},
                                                          {"--ready-file", "Network"},
                                                          {"--cluster", "Network"},
                                                          {"--cluster-from", "Network"},
                                                          {"--cluster-ports", "Network"},
                                                          {"--torch", "Network"},
                                                          {"--allowed-host", "Network"},
                                                          {"--allowed-origin", "Network"},
                                                          {"--base-path", "Network"},
                                                          {"--data-dir", "Storage"},
                                                          {"--store", "Storage"},
                                                          {"--history-dir", "Storage"},
                                                          {"--history-bytes-max", "Storage"},
                                                          {"--history-age", "Storage"},
                                                          {"--spill-dir", "Storage"},
                                                          {"--read-only", "Storage"},
                                                          {"--auth", "Security"},
                                                          {"--insecure", "Security"},
                                                          {"--token-file", "Security"},
                                                          {"--admin-token-file", "Security"},
                                                          {"--tls-cert", "Security"},
                                                          {"--tls-key", "Security"},
                                                          {"--tls-client-ca", "Security"},
                                                          {"--tls-client-required", "Security"},
                                                          {"--tls-role", "Security"},
                                                          {"--agents-from", "Security"},
                                                          {"--torch-from", "Security"},
                                                          {"--proxy-from", "Security"},
                                                          {"--webhook", "Alerts"},
                                                          {"--webhook-secret-file", "Alerts"},
                                                          {"--webhook-ca", "Alerts"},
                                                          {"--page-url", "Alerts"},
                                                          {"--log-level", "Logging"},
                                                          {"--log-format", "Logging"},
                                                          {"--heartbeat-timeout", "Failures"},
                                                          {"--reconnect-grace", "Failures"},
                                                          {"--max-worker-failures", "Failures"},
                                                          {"--supervise", "Failures"},
                                                          {"--stop-timeout", "Failures"}};

bool is_limit(std::string_view name) {
  return name.ends_with("-max") || name.ends_with("-limit") || name.ends_with("-kept") ||
         name.ends_with("-bytes") || name.ends_with("-age") || name.ends_with("-capacity") ||
         name.ends_with("-above");
}

void group_flags(CLI::App& verb) {
  for (auto* option : verb.get_options()) {
    auto const name = "--" + option->get_lnames().front();
    if (name == "--help" || name == "--print-config") continue;
    auto const known = std::find_if(std::begin(groups), std::end(groups),
                                    [&](auto const& g) { return name == g.first; });
    option->group(known != std::end(groups) ? known->second
                  : is_limit(name)          ? limits_group
                                            : advanced_group);
  }
  verb.set_help_all_flag("--help-all", "Print this help with all flags");
}

int run_serve(serve_options& o) {
  if (o.print_config) {
    std::cout << settings_of(*o.verb) << "# both ports speak "
              << (o.config.tls.on() ? "TLS" : "plaintext") << '\n';
    return exit_ok;
  }
  if (auto const problem = server::problem_with(o.config); !problem.empty())
    throw command_error(exit_usage, problem);
  if (o.config.life.supervise && !server::is_supervised()) {
    server::set_line_format(o.config.log.format);
    return server::supervise(process_arguments());
  }
  try {
    server::serve(o.config);
  } catch (server::start_error const& e) {
    throw command_error(exit_usage, e.what());
  }
  return exit_ok;
}

}  // namespace

void add_serve(CLI::App& app, choice& chosen) {
  auto const [verb, o] = add_verb(app, chosen, "serve", "Run the server", run_serve);
  o->verb = verb;
  add_addresses(*verb, o->config);
  add_clusters(*verb, o->config);
  add_logging(*verb, o->config.log.level, o->config.log.format);
  add_limits(*verb, o->config);
  verb->add_flag("--print-config", o->print_config,
                 "Print the settings with their origin, and exit")
      ->configurable(false);
  group_flags(*verb);
  verb->footer(
      "Examples:\n"
      "  muster serve\n"
      "  muster serve --grpc 127.0.0.1:0 --http 127.0.0.1:0 --ready-file /tmp/muster.json\n"
      "  muster serve --cluster train:worker=8 --cluster 'eval:worker=2;heartbeat_timeout=30s'\n"
      "  muster serve --store etcd://10.0.0.1:2379,10.0.0.2:2379,10.0.0.3:2379/muster\n"
      "  muster serve --config muster.toml --print-config\n"
      "SIGTERM or Ctrl-C stops the server cleanly; a second one stops it immediately. The server "
      "shows its documentation at /docs/.");
}

}  // namespace muster::cli

// Fuzzes the descriptions of clusters that other systems provide: TF_CONFIG, host lists and
// variables of Slurm, variables of SageMaker, the text of a resolver, and the answers of
// Kubernetes, Google Compute Engine and the Cloud TPU API.
//
// The first byte of an input selects the source; see `play`. Answers are separated by lines with
// "---". The first line of an answer contains its status, and optionally its Retry-After header;
// the rest is its body. The last answer is repeated. The linker replaces http_client::send, so that
// no socket is used.
//
// Checked properties:
// - All errors are cluster_error, with one line. An error of a text begins with the text's origin.
// - A cluster satisfies the limits of cluster_spec, and is equal after a conversion to JSON.
// - A Slurm or SageMaker process is a task of its cluster.
// - Host lists and counts satisfy their limits. An address is unchanged if it is parsed again.
// - The natural order of names is a strict weak order.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/http_client/http_client.hpp"
#include "base/http_client/url.hpp"
#include "base/utf8.hpp"
#include "launch/cluster/http/addresses.hpp"
#include "launch/cluster/http/natural_order.hpp"
#include "launch/cluster/http/retry_after.hpp"
#include "launch/cluster/http/tpu_devices.hpp"
#include "launch/cluster/resolver_text.hpp"
#include "muster/cluster_error.hpp"
#include "muster/cluster_rules.hpp"
#include "muster/cluster_spec.hpp"
#include "muster/gce_resolver.hpp"
#include "muster/kubernetes_resolver.hpp"
#include "muster/make_resolver.hpp"
#include "muster/sagemaker_resolver.hpp"
#include "muster/slurm_resolver.hpp"
#include "muster/tf_config.hpp"
#include "muster/tf_config_resolver.hpp"
#include "muster/tpu_name.hpp"
#include "muster/tpu_resolver.hpp"
#include "tests/fuzz/require.hpp"

namespace {

namespace cluster = muster::cluster;
using fuzz::require;
using muster::cluster_spec;
using std::chrono::milliseconds;

/// The answers to the requests of one query.
class answers {
 public:
  explicit answers(std::string_view text) {
    constexpr std::string_view separator = "\n---\n";
    for (;;) {
      auto const end = text.find(separator);
      add(text.substr(0, end));
      if (end == std::string_view::npos) break;
      text.remove_prefix(end + separator.size());
    }
    current = this;
  }
  answers(answers const&) = delete;
  ~answers() { current = nullptr; }

  /// After many requests, all answers are 404, so that each query ends.
  muster::http_result<muster::http_response> next() {
    constexpr std::size_t requests_max = 16;
    auto const n = asked_++;
    if (n >= requests_max) return muster::http_response{404, {}, "no more answers"};
    auto const& answer = all_[std::min(n, all_.size() - 1)];
    if (answer.status < 200)
      return muster::http_error{{muster::code::unavailable, "the connection was lost"},
                                muster::http_failure::broke};
    return answer;
  }

  inline static answers* current = nullptr;

 private:
  void add(std::string_view text) {
    auto const line = text.substr(0, text.find('\n'));
    auto const status = line.substr(0, line.find(' '));
    auto& answer = all_.emplace_back();
    answer.status = static_cast<unsigned>(cluster::parse_count(status, 999).value_or(0));
    answer.headers.emplace_back("Metadata-Flavor", "Google");
    if (status.size() < line.size())
      answer.headers.emplace_back("Retry-After", line.substr(status.size() + 1));
    if (line.size() < text.size()) answer.body = text.substr(line.size() + 1);
  }

  std::vector<muster::http_response> all_;
  std::size_t asked_ = 0;
};

}  // namespace

namespace muster::fuzzed {

http_result<http_response> send(http_client* client, http_request const& r) asm(
    "__wrap__ZN6muster11http_client4sendERKNS_12http_requestE");

/// Replaces http_client::send; see CMakeLists.txt.
http_result<http_response> send(http_client*, http_request const& r) {
  auto const target = parse_http_url(r.url);
  if (!target) return http_error{target.error(), http_failure::bad_url};
  return answers::current->next();
}

}  // namespace muster::fuzzed

namespace {

bool sockets_are_replaced() {
  answers const only("299\n");
  muster::http_client client;
  auto const answer = client.send({.url = "http://127.0.0.1:1/"});
  require(answer && answer->status == 299, "the linker replaces http_client::send");
  return true;
}

/// Returns a clock that advances only by waits.
cluster::time_source still_time() {
  auto const gone = std::make_shared<milliseconds>(0);
  return {[gone] { return std::chrono::steady_clock::time_point(*gone); },
          [gone] { return std::chrono::sys_time<milliseconds>(std::chrono::years(50)) + *gone; },
          [gone](milliseconds span) { *gone += span; }, [] { return 1.0; }};
}

/// Returns the variables that lines such as NAME=VALUE set.
muster::environment_lookup environment(std::string_view lines) {
  std::map<std::string, std::string> variables;
  for (auto const line : cluster::split(lines, '\n')) {
    auto const equals = line.find('=');
    if (equals != std::string_view::npos)
      variables.insert_or_assign(std::string(line.substr(0, equals)),
                                 std::string(line.substr(equals + 1)));
  }
  return [variables = std::move(variables)](std::string const& name) -> std::optional<std::string> {
    auto const found = variables.find(name);
    if (found == variables.end()) return {};
    return found->second;
  };
}

/// Returns whether there was no error.
template <class Ask>
bool succeeds(Ask const& ask, std::string_view origin = {}) {
  try {
    ask();
    return true;
  } catch (muster::cluster_error const& e) {
    std::string_view const line = e.what();
    require(!line.empty() && line.find_first_of("\r\n") == std::string_view::npos,
            "an error is one line");
    require(line.starts_with(origin), "an error begins with its origin");
    return false;
  }
}

void check_spec(cluster_spec const& spec) {
  require(spec.by_job().size() <= cluster_spec::jobs_max, "the number of jobs is limited");
  require(spec.size() <= cluster_spec::tasks_max, "the number of tasks is limited");
  for (auto const& [job, tasks] : spec.by_job()) {
    require(!job.empty() && job.size() <= cluster_spec::name_bytes_max, "a name is limited");
    require(!cluster::has_control_character(job), "a name has no control characters");
    for (auto const& [index, address] : tasks) {
      require(index >= 0 && static_cast<std::size_t>(index) < cluster_spec::tasks_max,
              "an index is limited");
      require(!address.empty() && address.size() <= cluster_spec::address_bytes_max,
              "an address is limited");
      require(!cluster::has_control_character(address), "an address has no control characters");
    }
  }
  auto const json = spec.to_json();
  require(!muster::is_utf8(json) || cluster_spec::from_json(json) == spec,
          "a cluster is equal after a conversion to JSON");
}

void check_rules(cluster_spec const& spec, std::string const& type, int id) {
  succeeds([&] { muster::validate_parameter_server_cluster(spec, type, id); });
  succeeds([&] { static_cast<void>(muster::is_chief(spec, type, id)); });
  succeeds([&] { static_cast<void>(muster::collective_leader(spec, type, id)); });
  succeeds([&] { static_cast<void>(muster::coordination_leader(spec)); });
  succeeds([&] { static_cast<void>(muster::worker_count(spec, type)); });
  succeeds([&] { static_cast<void>(muster::id_in_cluster(spec, type, id)); });
}

std::optional<cluster_spec> ask(muster::cluster_resolver& r) {
  std::optional<cluster_spec> spec;
  succeeds([&] { spec = r.cluster_spec(); });
  if (spec) check_spec(*spec);
  return spec;
}

void ask_rest(muster::cluster_resolver& r) {
  succeeds([&] { static_cast<void>(r.master()); });
  succeeds([&] { static_cast<void>(r.rpc_layer()); });
  succeeds([&] {
    for (auto const& [kind, count] : r.num_accelerators())
      require(count >= 0, "a number of accelerators is not negative");
  });
}

void check_own_task(muster::cluster_resolver& r, cluster_spec const& spec) {
  std::optional<std::string> type;
  std::optional<int> id;
  bool const known = succeeds([&] {
    type = r.task_type();
    id = r.task_id();
  });
  require(known && type && id && spec.has_task(*type, *id), "a process is a task of its cluster");
}

void play_tf_config(std::string_view text) {
  std::optional<muster::tf_config> config;
  succeeds([&] { config = muster::tf_config::parse(text); }, "TF_CONFIG: ");
  if (!config) return;
  check_spec(config->cluster);
  bool const valid = succeeds([&] { config->check(); }, "TF_CONFIG: ");
  if (config->task_type)
    check_rules(config->cluster, *config->task_type, config->task_index.value_or(0));
  muster::tf_config_resolver r([text](std::string const&) { return std::string(text); });
  require(ask(r).has_value() == valid, "a valid configuration has a cluster");
  ask_rest(r);
}

/// Small limits, because each input should take less than a millisecond.
constexpr std::size_t hosts_max = 200, list_bytes_max = 1'000;

void play_host_list(std::string_view text) {
  if (text.size() > list_bytes_max) return;
  std::vector<std::string> hosts;
  succeeds([&] { hosts = muster::expand_hostlist(text, "LIST", hosts_max); }, "LIST: ");
  require(hosts.size() <= hosts_max, "the number of hosts is limited");
  require(std::set<std::string>(hosts.begin(), hosts.end()).size() == hosts.size(),
          "hosts are unique");
  for (auto const& host : hosts)
    require(!host.empty() && host.size() <= 253, "the name of a host is limited");
}

void play_task_counts(std::string_view text) {
  std::vector<int> counts;
  succeeds([&] { counts = muster::expand_task_counts(text, "COUNTS", hosts_max); }, "COUNTS: ");
  require(counts.size() <= hosts_max, "the number of hosts is limited");
  for (auto const n : counts)
    require(n > 0 && static_cast<std::size_t>(n) <= cluster_spec::tasks_max,
            "a number of tasks is limited");
}

void play_slurm(std::string_view lines) {
  constexpr std::size_t tasks_digits_max = 3;
  auto const variables = environment(lines);
  auto const list = variables("SLURM_STEP_NODELIST").value_or("");
  if (variables("SLURM_STEP_NUM_TASKS").value_or("").size() > tasks_digits_max) return;
  if (list.size() > list_bytes_max) return;
  if (!list.empty() &&
      !succeeds([&] { static_cast<void>(muster::expand_hostlist(list, "", hosts_max)); }))
    return;
  muster::slurm_resolver::options o;
  o.count_gpus = [] { return 4; };
  muster::slurm_resolver r(variables, o);
  if (auto const spec = ask(r)) check_own_task(r, *spec);
  ask_rest(r);
  succeeds([&] { static_cast<void>(r.visible_gpus()); });
}

void play_sagemaker(std::string_view lines) {
  muster::sagemaker_resolver r(environment(lines));
  if (auto const spec = ask(r); spec && !spec->empty()) check_own_task(r, *spec);
  ask_rest(r);
}

// Skips texts that can name a file.
void play_resolver_text(std::string_view text) {
  if (text.find('@') != std::string_view::npos || text.find("file") != std::string_view::npos)
    return;
  static muster::resolver_kinds const kinds = muster::local_resolver_kinds();
  static muster::environment_lookup const variables = environment(
      "TF_CONFIG={\"cluster\":{\"worker\":[\"a:1\",\"b:1\"]},\"task\":{\"type\":\"worker\","
      "\"index\":1}}\nSM_HOSTS=[\"algo-1\",\"algo-2\"]\nSM_CURRENT_HOST=algo-2\n"
      "SLURM_PROCID=1\nSLURM_STEP_NUM_TASKS=3\nSLURM_STEP_NODELIST=n[1-2]\n"
      "SLURM_STEP_TASKS_PER_NODE=2,1\nCUDA_VISIBLE_DEVICES=0,1");
  std::shared_ptr<muster::cluster_resolver> made;
  succeeds([&] { made = kinds.make(text, variables); });
  if (!made) return;
  ask(*made);
  ask_rest(*made);
}

void play_tpu_name(std::string_view lines) {
  auto const first = std::string(lines.substr(0, lines.find('\n')));
  std::vector<std::string> const given{first};
  succeeds([&] { static_cast<void>(cluster::find_tpu(given, environment({}))); });
  succeeds([&] { static_cast<void>(cluster::find_tpu({}, environment(lines))); });
  std::string address;
  if (succeeds([&] { address = cluster::parse_endpoint(first, 8470, "ADDRESS"); }, "ADDRESS: "))
    require(cluster::parse_endpoint(address, 1, "AGAIN") == address,
            "an address is unchanged if it is parsed again");
}

void play_devices(std::string_view text) {
  constexpr std::size_t lines_max = 64;
  auto lines = cluster::split(text, '\n');
  lines.resize(std::min(lines.size(), lines_max));
  std::vector<std::string> names;
  for (auto const line : lines) {
    names.emplace_back(line);
    auto const wait = cluster::retry_after(line, still_time().wall());
    require(!wait || *wait >= milliseconds(0), "a wait is not negative");
    static_cast<void>(cluster::parse_timestamp(line));
    succeeds([&] { require(cluster::cores_of_type(names.back(), "TYPE") > 0, "there are cores"); },
             "TYPE ");
    succeeds(
        [&] {
          require(cluster::cores_of_topology("V4", names.back(), "TOPOLOGY") > 0,
                  "there are cores");
        },
        "TOPOLOGY ");
  }
  succeeds([&] { static_cast<void>(cluster::find_tpu_devices(names).per_host()); });
  static_cast<void>(muster::count_accelerators(names, "worker", 0));
}

void play_order(std::string_view lines) {
  constexpr std::size_t names_max = 6;
  auto names = cluster::split(lines, '\n');
  names.resize(std::min(names.size(), names_max));
  auto const less = [](std::string_view a, std::string_view b) {
    return cluster::natural_less(a, b);
  };
  for (auto const a : names)
    for (auto const b : names) {
      require(!less(a, b) || !less(b, a), "an order is asymmetric");
      require(a == b || less(a, b) || less(b, a), "different names are ordered");
      for (auto const c : names)
        require(!less(a, b) || !less(b, c) || less(a, c), "an order is transitive");
    }
}

/// Makes one query with these answers.
template <class Query>
void ask_with(std::string_view text, Query const& query) {
  answers const all(text);
  query();
}

void play_kubernetes(std::string_view text, bool other_options) {
  muster::kubernetes_resolver::options o;
  o.jobs = {{"worker", {"app=x"}}};
  if (other_options) {
    o.jobs = {{"ps", {"app=a"}}, {"worker", {"app=b", "app=c"}}};
    o.name_space = "*";
    o.host_ip = o.skip_finished = true;
    o.natural_order = false;
  }
  o.where = muster::kubernetes_resolver::location::off_cluster;
  o.server = "http://127.0.0.1:1";
  o.time = still_time();
  muster::kubernetes_resolver r(environment({}), o);
  ask_with(text, [&] { ask(r); });
  ask_with(text, [&] { ask_rest(r); });
}

void play_gce(std::string_view text, bool other_options) {
  muster::gce_resolver::options o;
  o.instance_group = "g";
  o.find_own = other_options;
  if (!other_options) o.project = "p";
  if (!other_options) o.zone = "z";
  o.api_url = "https://localhost";
  o.time = still_time();
  muster::gce_resolver r(environment({}), o);
  ask_with(text, [&] { ask(r); });
  ask_with(text, [&] { succeeds([&] { static_cast<void>(r.task_id()); }); });
}

void play_tpu(std::string_view text, bool other_options) {
  muster::tpu_resolver::options o;
  o.tpu.tpu = std::vector<std::string>{"n"};
  o.tpu.project = "p";
  o.tpu.zone = "z";
  o.tpu.api_url = "https://localhost";
  o.tpu.time = still_time();
  if (other_options) {
    o.tpu.discovery_url = "https://localhost/{api}/{apiVersion}";
    o.coordinator_name = "coordinator";
  }
  // Each query needs its own resolver, because a resolver keeps its token.
  auto const query = [&](auto const& what) {
    answers const all(text);
    muster::tpu_resolver r(environment({}), o);
    succeeds([&] { what(r); });
  };
  query([](auto& r) { ask(r); });
  query([](auto& r) { ask_rest(r); });
  query([](auto& r) { static_cast<void>(r.tpu().recoverable()); });
  query([](auto& r) { r.tpu().wait_for_healthy(std::chrono::seconds(60)); });
  query([](auto& r) { r.tpu().configure_version("v"); });
  query([](auto& r) { static_cast<void>(r.tpu().current_version()); });
}

void play(char source, std::string_view text) {
  switch (source) {
    case 't':
      return play_tf_config(text);
    case 'h':
      return play_host_list(text);
    case 'c':
      return play_task_counts(text);
    case 's':
      return play_slurm(text);
    case 'm':
      return play_sagemaker(text);
    case 'r':
      return play_resolver_text(text);
    case 'n':
      return play_tpu_name(text);
    case 'd':
      return play_devices(text);
    case 'o':
      return play_order(text);
    case 'k':
    case 'K':
      return play_kubernetes(text, source == 'K');
    case 'g':
    case 'G':
      return play_gce(text, source == 'G');
    case 'p':
    case 'P':
      return play_tpu(text, source == 'P');
    default:
      return;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  static bool const replaced = sockets_are_replaced();
  if (!replaced || size == 0) return 0;
  std::string_view const input(reinterpret_cast<char const*>(data), size);
  play(input[0], input.substr(1));
  return 0;
}

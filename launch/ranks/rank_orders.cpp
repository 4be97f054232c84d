#include "launch/ranks/rank_orders.hpp"

#include <grp.h>
#include <pwd.h>
#include <signal.h>

#include <boost/json.hpp>
#include <stdexcept>

namespace muster::launch {
namespace {

namespace json = boost::json;

// Protobuf omits zero and empty values, and writes 64-bit numbers as strings.
std::string text(json::object const& o, std::string_view key) {
  auto const* v = o.if_contains(key);
  return v ? std::string(v->as_string()) : std::string();
}

std::int64_t number(json::object const& o, std::string_view key) {
  auto const* v = o.if_contains(key);
  if (!v) return 0;
  return v->is_string() ? std::stoll(std::string(v->as_string())) : v->to_number<std::int64_t>();
}

json::array const& list(json::object const& o, std::string_view key) {
  static json::array const none;
  auto const* v = o.if_contains(key);
  return v ? v->as_array() : none;
}

json::object const& object(json::object const& o, std::string_view key) {
  static json::object const none;
  auto const* v = o.if_contains(key);
  return v ? v->as_object() : none;
}

std::vector<std::string> texts(json::object const& o, std::string_view key) {
  std::vector<std::string> all;
  for (auto const& v : list(o, key)) all.emplace_back(v.as_string());
  return all;
}

cluster_spec cluster_of(json::object const& start) {
  cluster_spec::job_map jobs;
  for (auto const& type : list(start, "task")) {
    auto& tasks = jobs[text(type.as_object(), "type")];
    int index = 0;
    for (auto const& address : texts(type.as_object(), "address")) tasks[index++] = address;
  }
  return cluster_spec(std::move(jobs));
}

process_user user_named(std::string const& name, environment_map& environment) {
  auto const* entry = ::getpwnam(name.c_str());
  if (!entry)
    throw std::runtime_error("--program-user: there is no user '" + name + "' on this host");
  process_user u{.user = entry->pw_uid, .group = entry->pw_gid};
  int count = 0;
  ::getgrouplist(name.c_str(), u.group, nullptr, &count);
  u.groups.resize(static_cast<std::size_t>(count));
  ::getgrouplist(name.c_str(), u.group, u.groups.data(), &count);
  environment["HOME"] = entry->pw_dir;
  environment["SHELL"] = entry->pw_shell;
  environment["USER"] = environment["LOGNAME"] = name;
  return u;
}

plan_request plan_of(json::object const& start, environment_map inherited) {
  plan_request p;
  p.cluster = cluster_of(start);
  p.server = text(start, "coordinator");
  p.own_service = text(start, "own_service");
  p.meeting_point = text(start, "meeting_point");
  p.restart = static_cast<int>(number(start, "restart"));
  p.max_restarts = static_cast<int>(number(start, "max_restarts"));
  p.run_id = text(start, "name");
  p.inherited = std::move(inherited);
  for (auto const& [name, value] : object(start, "env"))
    p.added[name] = std::string(value.as_string());
  p.added["MUSTER_PROGRAM"] = text(start, "name");
  p.added["MUSTER_ATTEMPT"] = std::to_string(number(start, "attempt"));
  return p;
}

// Puts the module that registers the stack signal first in PYTHONPATH. The module also runs the
// user's module with the same name.
void prepare_for_stacks(environment_map& environment, json::object const& stacks) {
  if (stacks.empty()) return;
  auto& path = environment["PYTHONPATH"];
  path = text(stacks, "modules") + (path.empty() ? "" : ":" + path);
  environment["MUSTER_STACKS"] =
      std::to_string(number(stacks, "signal")) + ":" + text(stacks, "directory");
}

rank_role role_of(json::object const& line, json::object const& start, json::object const& rank,
                  plan_request p) {
  rank_role r{.rank = static_cast<std::uint32_t>(number(rank, "rank")), .program = {}};
  auto const name = std::to_string(r.rank);
  p.own = {text(rank, "type"), static_cast<int>(number(rank, "index"))};
  p.command = texts(rank, "command");
  p.store = text(rank, "store");
  if (auto const* devices = object(line, "devices").if_contains(name))
    p.added["CUDA_VISIBLE_DEVICES"] = std::string(devices->as_string());
  r.program = plan(p).front();
  prepare_for_stacks(r.program.environment, object(line, "stacks"));
  // Only one side writes steps, because two writers would overwrite each other's steps.
  auto const steps = text(line, "steps");
  r.step_pattern = text(start, "step_pattern");
  if (!steps.empty()) r.step_file = steps + name;
  if (!steps.empty() && r.step_pattern.empty()) r.program.environment["MUSTER_STEPS"] = r.step_file;
  r.program.name = name;
  r.program.cwd = text(start, "working_dir");
  r.own_cwd = r.program.cwd.empty();
  if (r.own_cwd) r.program.cwd = text(line, "work") + "/" + name;
  if (!text(start, "upload").empty())
    r.refusal =
        "this worker cannot unpack uploads; set a working directory that exists on its host";
  return r;
}

start_order start_of(json::object const& line, environment_map inherited) {
  auto const& start = object(line, "start");
  std::optional<process_user> user;
  if (auto const name = text(line, "user"); !name.empty()) user = user_named(name, inherited);
  auto const p = plan_of(start, std::move(inherited));
  start_order s{.ranks = {},
                .logs = text(line, "logs"),
                .grace = std::chrono::milliseconds(number(start, "grace_ms")),
                .preload = texts(start, "preload")};
  for (auto const& rank : list(start, "rank")) {
    s.ranks.push_back(role_of(line, start, rank.as_object(), p));
    s.ranks.back().program.user = user;
  }
  if (s.ranks.empty()) throw std::invalid_argument("the order starts no rank");
  return s;
}

stop_order stop_of(json::object const& stop) {
  stop_order s;
  for (auto const& rank : list(stop, "rank")) s.ranks.push_back(rank.to_number<std::uint32_t>());
  s.signal = static_cast<int>(number(stop, "signal"));
  if (s.signal == 0) s.signal = SIGTERM;
  s.grace = std::chrono::milliseconds(number(stop, "grace_ms"));
  return s;
}

}  // namespace

rank_order parse_order(std::string_view text, environment_map const& inherited) {
  auto const line = json::parse(text).as_object();
  rank_order o;
  if (line.contains("start")) o.start = start_of(line, inherited);
  if (line.contains("stop")) o.stop = stop_of(object(line, "stop"));
  if (line.contains("lease_until_ns"))
    o.lease_until = std::chrono::steady_clock::time_point(
        std::chrono::nanoseconds(number(line, "lease_until_ns")));
  return o;
}

}  // namespace muster::launch

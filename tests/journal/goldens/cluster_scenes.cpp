// Entries of agent clusters: c, t, k, b. Entries of tokens: u.
#include "tests/journal/goldens/numbers.hpp"
#include "tests/journal/goldens/scenes.hpp"

namespace muster::server::journal::goldens {
namespace cluster_scenes {

using namespace core::coordination;
using namespace std::chrono_literals;
using core::blob;
using facts = std::vector<fact>;

fault_ptr full_fault(std::string const& number) {
  fault f;
  f.code = code::aborted;
  f.message = "\xff message " + number;
  f.coordination = true;
  f.source = 11;
  f.reported = true;
  f.barrier = {"step_" + number + "\xfe", 5'000'000'012};
  f.mismatch = core::incarnation{0xf000'0000'0000'0013};
  return std::make_shared<fault const>(f);
}

/// Sets all optional fields to 0.
fault_ptr zero_fault() {
  fault f;
  f.code = code::ok;
  f.coordination = false;
  f.source = 0;
  f.reported = true;
  f.barrier = barrier_instance{};
  f.mismatch = core::incarnation{};
  return std::make_shared<fault const>(f);
}

fault_ptr empty_fault(muster::code c) {
  fault f;
  f.code = c;
  f.coordination = false;
  return std::make_shared<fault const>(f);
}

cluster_spec full_spec(std::string const& name) {
  cluster_spec s;
  s.name = name;
  s.service_type = "service 21";
  s.jobs = {{"worker", 22, true}, {"ps", 23, false}};
  s.heartbeat_timeout = 2h;
  s.connection_grace = 3h;
  s.errors = error_delivery::heartbeat;
  s.agents = agent_wire::tls;
  s.register_timeout = 4h;
  s.shutdown_timeout = 5h;
  s.register_barrier = true;
  s.recoverable = true;
  s.allow_reconnect = true;
  s.renew = true;
  s.stuck_after = 6h;
  s.torch_port = 29'524;
  s.torch = torch_era::b;
  s.stateful_jobs = {{"ps", "worker"}};
  return s;
}

/// Returns the smallest declaration that can be in force.
cluster_spec empty_spec(std::string const& name) {
  cluster_spec s;
  s.name = name;
  s.service_type = "";
  s.heartbeat_timeout = s.register_timeout = s.stuck_after = 1us;
  s.connection_grace = s.shutdown_timeout = core::duration{};
  s.register_barrier = s.renew = false;
  return s;
}

/// Leaves all fields absent: this declaration is not validated when loaded.
cluster_spec next_spec() {
  auto s = empty_spec("");
  s.heartbeat_timeout = s.register_timeout = s.stuck_after = core::duration{};
  s.jobs = {{"", 0, false}};
  return s;
}

cluster_fact full_cluster() {
  cluster_fact c;
  c.spec = full_spec("train");
  c.next = full_spec("next");
  c.generation = 6'000'000'031;
  c.incarnation = core::incarnation{0xf000'0000'0000'0032};
  c.started = at + 33s;
  c.ended = at + 34s;
  c.failed = true;
  c.cause = first_cause{"worker:35", "ipv4:1.2.3.4:36", "it died \xff", at + 37s};
  c.cause_task = 38;
  c.victims = {39, 40};
  c.broadcast = full_fault("41");
  c.port = 40'042;
  c.anew = true;
  return c;
}

cluster_fact empty_cluster(std::string const& name) {
  cluster_fact c;
  c.spec = empty_spec(name);
  return c;
}

task_fact full_task() {
  task_fact t;
  t.task = 2;
  t.state = agent_state::error;
  t.recoverable = true;
  t.incarnation = core::incarnation{0xf000'0000'0000'0051};
  t.error = full_fault("52");
  t.registered_at = at + 53s;
  t.grace_until = at + 54s;
  return t;
}

barrier_fact full_barrier() {
  barrier_fact b;
  b.id = std::string("step_61\0\xff", 9);
  b.counter = 7'000'000'062;
  b.purpose = 2;
  b.who = std::vector<task_index>{2, 4};
  b.result = full_fault("63");
  b.result_before = full_fault("64");
  b.ended = at + 65s;
  return b;
}

/// Sets one flag at a time, so that swapped flags are detected.
void add_flags(std::vector<scene>& all) {
  facts list;
  auto const with = [&list](auto set) {
    auto c = empty_cluster("flag-" + std::to_string(list.size()));
    set(c);
    list.push_back({c.spec.name, c});
  };
  with([](cluster_fact& c) { c.spec.register_barrier = true; });
  with([](cluster_fact& c) { c.spec.recoverable = true; });
  with([](cluster_fact& c) { c.spec.allow_reconnect = true; });
  with([](cluster_fact& c) { c.spec.renew = true; });
  with([](cluster_fact& c) { c.spec.stateful_jobs.emplace(); });
  with([](cluster_fact& c) { c.spec.agents = agent_wire::tls; });
  with([](cluster_fact& c) { c.spec.torch = torch_era::b; });
  with([](cluster_fact& c) { c.spec.torch_port = std::uint16_t{0}; });
  with([](cluster_fact& c) { c.refuses = true; });
  with([](cluster_fact& c) { c.cause_task = 0; });
  with([](cluster_fact& c) { c.cause = first_cause{}; });
  with([](cluster_fact& c) { c.next = next_spec(); });
  with([](cluster_fact& c) { c.broadcast = zero_fault(); });
  add(all, "flags of clusters", list);

  auto c = empty_cluster("train");
  c.spec.jobs = {{"worker", 3, false}};
  list = {{"train", c}};
  for (core::coordination::task_index t = 0; t < 3; ++t) {
    task_fact one;
    one.task = t;
    one.casualty = t == 0;
    one.ever_connected = t == 1;
    one.hears_notices = t == 2;
    list.push_back({"train", one});
  }
  add(all, "flags of tasks", list);
}

void add_enumerators(std::vector<scene>& all) {
  facts list;
  for (auto const& [how, number] : numbers::error_delivery) {
    auto c = empty_cluster("errors-" + std::to_string(number));
    c.spec.errors = how;
    list.push_back({c.spec.name, c});
  }
  for (auto const& [wire, number] : numbers::agent_wire) {
    auto c = empty_cluster("wire-" + std::to_string(number));
    c.spec.agents = wire;
    list.push_back({c.spec.name, c});
  }
  for (auto const& [era, number] : numbers::torch_era) {
    auto c = empty_cluster("torch-" + std::to_string(number));
    c.spec.torch = era;
    list.push_back({c.spec.name, c});
  }
  add(all, "enumerators of clusters", list);

  auto c = empty_cluster("train");
  c.spec.jobs = {{"worker", 5, false}};
  list = {{"train", c}};
  for (auto const& [state, number] : numbers::agent_state) {
    task_fact t;
    t.task = number;
    t.state = state;
    if (state == agent_state::error) t.error = empty_fault(code::ok);
    list.push_back({"train", t});
  }
  for (auto const& [purpose, number] : numbers::barrier_purpose) {
    barrier_fact b;
    b.id = "purpose " + std::to_string(number);
    b.purpose = static_cast<std::uint8_t>(purpose);
    list.push_back({"train", b});
  }
  for (auto const& [why, number] : numbers::code) {
    barrier_fact b;
    b.id = "code " + std::to_string(number);
    b.result = empty_fault(why);
    list.push_back({"train", b});
  }
  for (auto const& [how, number] : numbers::encoding)
    list.push_back({"train", key_fact{"encoding " + std::to_string(number), blob("", how), epoch}});
  add(all, "enumerators of tasks, keys and barriers", list);
}

core::token full_token() {
  core::token t;
  t.id = "ci-0a1b";
  t.role = core::role::worker;
  t.clusters = {"train", "test"};
  t.expires = at + 71s;
  t.allow_exec = true;
  t.salt = std::string("\0\xff salt 72", 10);
  t.digest = "\xfe digest 73";
  t.created = at + 74s;
  t.created_by = "root-75";
  t.queued_max = 8'000'000'076;
  t.sessions_max = 9'000'000'077;
  t.value_bytes_max = 10'000'000'078;
  return t;
}

void add_token(scene& to, core::token const& t) {
  encode({t.id, std::make_shared<core::token const>(t)}, to.batch);
}

}  // namespace cluster_scenes

void add_cluster_scenes(std::vector<scene>& all) {
  using namespace cluster_scenes;
  auto const key = std::string("a/b\0\xff", 5);
  auto const value = std::string("\0\xff value 56", 11);
  add(all, "full cluster",
      facts{{"train", full_cluster()},
            {"train", full_task()},
            {"train", key_fact{key, blob(value, core::encoding::bytes), at + 55s}},
            {"train", full_barrier()}});
  task_fact left;
  left.task = 0;
  barrier_fact reported;
  reported.result = empty_fault(code::cancelled);
  reported.result_before = zero_fault();
  auto agents = empty_cluster("empty");
  agents.spec.jobs = {{"worker", 1, false}};
  add(all, "empty cluster",
      facts{{"empty", agents},
            {"empty", left},
            {"empty", key_fact{"", blob(""), epoch}},
            {"empty", reported},
            {"empty", barrier_fact{.id = "empty"}}});
  add_flags(all);
  add_enumerators(all);
  add(all, "cluster that is forgotten",
      facts{{"train", key_fact{key, {}, at}},
            {"train", barrier_fact{.id = "step_61", .forgotten = true}},
            {"train", cluster_record_removed{}}});
}

void add_token_scenes(std::vector<scene>& all) {
  using namespace cluster_scenes;
  auto& s = all.emplace_back();
  s.name = "tokens";
  add_token(s, full_token());
  core::token t;
  t.id = "empty";
  add_token(s, t);
  t.id = "expired";
  t.expires = epoch;
  add_token(s, t);
  for (auto const& [role, number] : numbers::role) {
    core::token one;
    one.id = "role-" + std::to_string(number);
    one.role = role;
    add_token(s, one);
  }
  encode(core::token_change{"revoked", nullptr}, s.batch);
}

}  // namespace muster::server::journal::goldens

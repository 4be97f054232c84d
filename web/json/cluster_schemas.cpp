// Tasks, clusters and what is in them, member by member in the order of the contract.
#include "web/json/answer_schemas.hpp"

namespace muster::web {

namespace {

using namespace schema;

// 64 bits, which do not fit into a JSON number that everybody reads exactly.
std::string decimal() {
  return matching("^[0-9]{1,20}$");
}

std::string worker() {
  auto const resource = object({{"total", count()}, {"free", count(), optional}});
  return object({{"kind", one_of({"worker"})},
                 {"cluster", text()},
                 {"row", count()},
                 {"job", text()},
                 {"index", count()},
                 {"state", one_of({"CONNECTED", "LATE", "ERROR", "DISCONNECTED"})},
                 {"since_ms", time()},
                 {"last_seen_ms", time()},
                 {"heartbeat_age_ms", count()},
                 {"incarnation", id("")},
                 {"host", text()},
                 {"pid", count()},
                 {"version", text()},
                 {"slots", count()},
                 {"credits", count()},
                 {"running", count()},
                 {"sent_ahead", count()},
                 {"finished", count()},
                 {"failed", count()},
                 {"restarts", count()},
                 {"reconnects", count()},
                 {"draining", boolean()},
                 {"cordoned", boolean()},
                 {"away", boolean()},
                 {"starts_ms", time(), optional},
                 {"lost_since_ms", time(), optional},
                 {"given_up", boolean(), optional},
                 {"functions", array(text())},
                 {"labels", map(text())},
                 {"resources", map(resource)},
                 {"error", text()}});
}

std::string agent() {
  auto const error = object({{"code", text()}, {"message", text()}, {"casualty", boolean()}});
  return object(
      {{"kind", one_of({"agent"})},
       {"job", text()},
       {"index", count()},
       {"state", one_of({"MISSING", "REGISTERING", "CONNECTED", "LATE", "ERROR", "DISCONNECTED"})},
       {"incarnation", decimal()},
       {"host", text()},
       {"address", text()},
       {"registered_ms", time()},
       {"last_seen_ms", time()},
       {"heartbeat_age_ms", nullable(count())},
       {"devices", count()},
       {"device_names", array(text()), optional},
       {"recoverable", boolean()},
       {"error", error, optional},
       {"late_for", text(), optional},
       {"late_since_ms", time(), optional},
       {"waiting_for", array(text())}});
}

std::string agent_counts(bool with_total) {
  std::vector<member> states;
  for (auto const* s : {"missing", "registering", "connected", "late", "error", "disconnected"})
    states.push_back({s, count()});
  if (with_total) states.push_back({"total", count()});
  return object(states);
}

std::string generation() {
  auto const cause =
      object({{"task", text()}, {"address", text()}, {"message", text()}, {"at_ms", time()}});
  auto const parked = object(
      {{"total", count()}, {"polls", count()}, {"key_waits", count()}, {"watches", count()}});
  return object({{"number", count()},
                 {"incarnation", decimal()},
                 {"state", one_of({"WAITING", "REGISTERING", "RUNNING", "FAILED", "FINISHED"})},
                 {"started_ms", time()},
                 {"ended_ms", time()},
                 {"cause", cause, optional},
                 {"agents", agent_counts(false)},
                 {"barriers", object({{"running", count()}, {"remembered", count()}})},
                 {"keys", count()},
                 {"key_bytes", count()},
                 {"parked_calls", parked}});
}

std::string cluster() {
  return object({{"name", text()},
                 {"type", text()},
                 {"jobs", map(count())},
                 {"recoverable_jobs", array(text())},
                 {"stateful", array(text()), optional},
                 {"heartbeat_timeout_ms", count()},
                 {"connection_grace_ms", count()},
                 {"error_delivery", one_of({"auto", "poll", "heartbeat"})},
                 {"agents", one_of({"plaintext", "tls"})},
                 {"register_timeout_ms", count()},
                 {"shutdown_timeout_ms", count()},
                 {"stuck_after_ms", count()},
                 {"recoverable", boolean()},
                 {"allow_reconnect", boolean()},
                 {"register_barrier", boolean()},
                 {"renew", boolean()},
                 {"next_jobs", map(count()), optional},
                 {"main", boolean()},
                 {"address", text()},
                 {"tasks", agent_counts(true)},
                 {"worker_heartbeat_timeout_ms", count(), optional},
                 {"generation", ref("Generation")},
                 {"past", described(array(ref("Generation")), "not in listings"), optional}});
}

std::string barrier() {
  auto const missing = object({{"task", text()},
                               {"address", text()},
                               {"last_seen_ms", time()},
                               {"silent_ms", nullable(count())}});
  return object({{"id", text()},
                 {"counter", count()},
                 {"state", one_of({"RUNNING", "PASSED", "FAILED"})},
                 {"participants", count()},
                 {"arrived_count", count()},
                 {"missing_count", count()},
                 {"started_ms", time()},
                 {"ended_ms", time()},
                 {"time_left_ms", nullable(count())},
                 {"first", text()},
                 {"error", object({{"code", text()}, {"message", text()}}), optional},
                 {"arrived", described(array(text()), "not in listings"), optional},
                 {"missing", described(array(missing), "not in listings"), optional}});
}

std::string stragglers() {
  auto const barrier = object({{"id", text()},
                               {"counter", count()},
                               {"ended_ms", time()},
                               {"participants", count()},
                               {"last", described(text(), "the task that came last")},
                               {"host", text()},
                               {"late_ms", described(number(), "after half of them were there")},
                               {"spread_ms", described(number(), "from the first to the last")}});
  auto const task = object({{"task", text()},
                            {"host", text()},
                            {"last", described(count(), "how often it was the last")},
                            {"barriers", described(count(), "that it took part in")},
                            {"late_mean_ms", number()},
                            {"late_max_ms", number()}});
  auto const host = object({{"host", text()},
                            {"tasks", count()},
                            {"last", count()},
                            {"late_mean_ms", number()},
                            {"late_max_ms", number()}});
  return object({{"generation", count()},
                 {"barriers", array(barrier)},
                 {"tasks", array(task)},
                 {"hosts", array(host)}});
}

std::string key() {
  return object({{"key", text()},
                 {"size", count()},
                 {"changed_ms", time()},
                 {"value", text(), optional},
                 {"value_base64", text(), optional}});
}

std::string key_waits() {
  auto const waiter = object({{"task", text()},
                              {"since_ms", time()},
                              {"waiting_ms", count()},
                              {"time_left_ms", nullable(count())}});
  auto const waited = object({{"key", text()}, {"count", count()}, {"waiters", array(waiter)}});
  auto const waits = object({{"task", text()}, {"keys", array(text())}});
  return object({{"keys", array(waited)}, {"tasks", array(waits)}, {"more", boolean()}});
}

std::string events() {
  auto const event = object({{"number", count()},
                             {"time_ms", time()},
                             {"severity", one_of({"INFO", "WARNING", "ERROR"})},
                             {"kind", text()},
                             {"cluster", text()},
                             {"subject", text()},
                             {"text", text()}});
  return object({{"first", count()}, {"last", count()}, {"events", array(event)}});
}

}  // namespace

std::vector<schema::named> cluster_answer_schemas() {
  return {{"WorkerView", worker()},
          {"AgentView", agent()},
          {"TaskView", any_of({ref("WorkerView"), ref("AgentView")})},
          {"TaskPage", page_schema("tasks", "TaskView")},
          {"Generation", generation()},
          {"ClusterView", cluster()},
          {"ClusterPage", page_schema("clusters", "ClusterView")},
          {"BarrierView", barrier()},
          {"BarrierPage", page_schema("barriers", "BarrierView")},
          {"BarrierPassed",
           object({{"id", text()}, {"counter", count()}, {"state", one_of({"PASSED"})}})},
          {"Stragglers", stragglers()},
          {"KeyView", key()},
          {"KeyPage", object({{"folders", array(text()), optional},
                              {"keys", array(ref("KeyView"))},
                              {"next_page_token", text(), optional}})},
          {"KeyWritten", object({{"key", text()}, {"size", count()}, {"created", boolean()}})},
          {"KeyWaits", key_waits()},
          {"Events", events()}};
}

}  // namespace muster::web

// Jobs, closures, values, lines and progress, member by member in the order of the contract.
#include "web/json/answer_schemas.hpp"

namespace muster::web {

namespace {

using namespace schema;

std::string closure_state() {
  return one_of({"BLOCKED", "QUEUED", "RUNNING", "SUCCEEDED", "FAILED", "CANCELLED"});
}
std::string value_state() {
  return one_of({"NOT_READY", "READY", "ABORTED"});
}
std::string job_state() {
  return one_of({"RUNNING", "SUCCEEDED", "FAILED", "CANCELLED"});
}

std::string failure() {
  return object({{"kind", one_of({"USER", "WORKER_LOST", "STALE_HANDLE", "DEPENDENCY_LOST",
                                  "TIMEOUT", "CANCELLED", "INPUT"})},
                 {"type", text()},
                 {"message", text()},
                 {"traceback", text()},
                 {"worker", text()},
                 {"attempt", count()},
                 {"dependencies", array(text()), optional}});
}

std::string counts() {
  return object({{"total", count()},
                 {"blocked", count()},
                 {"queued", count()},
                 {"running", count()},
                 {"succeeded", count()},
                 {"failed", count()},
                 {"cancelled", count()}});
}

std::string holding() {
  return object({{"attached", boolean()},
                 {"detached", boolean()},
                 {"kept_until_ms", time(), optional},
                 {"values", count()},
                 {"value_bytes", count()}});
}

std::string job() {
  return object(
      {{"id", id("job_")},
       {"cluster", text()},
       {"name", text()},
       {"state", job_state()},
       {"open", boolean()},
       {"stopping", boolean()},
       {"streaming", boolean()},
       {"generation", count(), optional},
       {"holding", holding(), optional},
       {"on_error", one_of({"fail_fast", "continue"})},
       {"counts", ref("Counts")},
       {"values", count()},
       {"value_bytes", count()},
       {"put_back", count()},
       {"retried", count()},
       {"client", described(text(), "who has the session, or had it last"), optional},
       {"submitted_by", described(text(), "id of the token that it came with"), optional},
       {"retry_of", id("job_"), optional},
       {"retryable", described(boolean(), "something of it failed, and its arguments are kept"),
        optional},
       {"durable", described(boolean(), "it outlives the server; absent: it does not"), optional},
       {"weight", count(), optional},
       {"deadline_ms", time(), optional},
       {"created_ms", time()},
       {"finished_ms", time()},
       {"error", ref("Failure"), optional},
       {"metadata", map(any()), optional}});
}

std::string closure_ids() {
  return array(object({{"id", id("cl_")}, {"remote_value", id("rv_")}}));
}

std::string submitted() {
  return object({{"id", id("job_")},
                 {"state", job_state()},
                 {"counts", ref("Counts")},
                 {"closures", closure_ids()}});
}

std::string appended() {
  return object(
      {{"id", id("job_")},
       {"state", job_state()},
       {"counts", ref("Counts")},
       {"accepted", count()},
       {"closures", described(closure_ids(), "of a JSON array; NDJSON is answered without"),
        optional}});
}

std::string joined() {
  return object({{"id", id("job_")},
                 {"done", boolean()},
                 {"state", job_state()},
                 {"counts", ref("Counts")},
                 {"error", ref("Failure"), optional}});
}

std::string attempt() {
  return object({{"attempt", count()},
                 {"worker", text()},
                 {"incarnation", id("")},
                 {"host", text()},
                 {"started_ms", time()},
                 {"ended_ms", time()},
                 {"outcome", text()}});
}

std::string progress() {
  return object(
      {{"fraction", number()}, {"text", text()}, {"attempt", count()}, {"time_ms", time()}});
}

std::string closure() {
  return object(
      {{"id", id("cl_")},
       {"job", id("job_")},
       {"index", count()},
       {"function", text()},
       {"display_name", described(text(), "of what the function calls; absent: not known"),
        optional},
       {"callable", described(text(), "its SHA-256, hexadecimal"), optional},
       {"state", closure_state()},
       {"cancel_requested", boolean()},
       {"alone", described(boolean(),
                           "it has lost worker after worker: the one it runs "
                           "on does nothing else meanwhile")},
       {"history", described(boolean(), "only a row is left of it: no arguments, no value"),
        optional},
       {"sent_to", text(), optional},
       {"remote_value", id("rv_")},
       {"value_status", value_state()},
       {"value_bytes", count(), optional},
       {"value_spilled", boolean(), optional},
       {"value_released", text(), optional},
       {"args", any(), optional},
       {"priority", integer(-1'000'000, 1'000'000), optional},
       {"max_retries", count(), optional},
       {"retries", count(), optional},
       {"retry_delay_ms", count(), optional},
       {"retry_delay_max_ms", count(), optional},
       {"start_ms", time(), optional},
       {"deadline_ms", time(), optional},
       {"task", text(), optional},
       {"gang", text(), optional},
       {"labels", map(text()), optional},
       {"resources", map(count()), optional},
       {"per_worker", array(id("pw_")), optional},
       {"dependents", described(array(id("rv_")), "some that wait for it, or did"), optional},
       {"dependents_more", count(), optional},
       {"inputs_missing", count(), optional},
       {"inputs", array(id("rv_")), optional},
       {"created_ms", time()},
       {"finished_ms", time()},
       {"error", ref("Failure"), optional},
       {"progress", ref("Progress"), optional},
       {"attempts", array(attempt())}});
}

std::string result_line() {
  return object({{"index", count()},
                 {"closure", id("cl_")},
                 {"remote_value", id("rv_")},
                 {"state", closure_state()},
                 {"value", any(), optional},
                 {"released", text(), optional},
                 {"error", ref("Failure"), optional}});
}

std::string remote_value() {
  return object(
      {{"id", id("rv_")},
       {"status", value_state()},
       {"closure", id("cl_")},
       {"job", id("job_")},
       {"content_type", one_of({"application/json", "application/octet-stream"}), optional},
       {"size", count(), optional},
       {"spilled", boolean(), optional},
       {"released", text(), optional},
       {"worker", text(), optional},
       {"error", ref("Failure"), optional}});
}

std::string per_worker() {
  auto const component = object({{"task", text()},
                                 {"status", value_state()},
                                 {"since_ms", time()},
                                 {"error", ref("Failure"), optional}});
  return object({{"id", id("pw_")},
                 {"cluster", text()},
                 {"name", text()},
                 {"function", text()},
                 {"args", any(), optional},
                 {"job", id("job_"), optional},
                 {"submitted_by", described(text(), "id of the token that it came with"), optional},
                 {"created_ms", time()},
                 {"released", boolean()},
                 {"users", count()},
                 {"components", array(component)}});
}

std::string log_line() {
  return object(
      {{"seq", count()},
       {"time_ms", time()},
       {"closure", id("cl_")},
       {"index", count()},
       {"attempt", count()},
       {"worker", text()},
       {"level", one_of({"debug", "info", "warning", "error", "stdout", "stderr", "dropped"})},
       {"text", text()}});
}

std::string log_lines() {
  return object({{"lines", array(log_line())},
                 {"after", count()},
                 {"dropped", count()},
                 {"ended", boolean()}});
}

}  // namespace

std::string page_schema(std::string_view name, std::string_view of) {
  return object({{name, array(ref(of))}, {"next_page_token", text(), optional}});
}

std::vector<schema::named> closure_answer_schemas() {
  return {{"Failure", failure()},
          {"Counts", counts()},
          {"Progress", progress()},
          {"JobView", job()},
          {"JobPage", page_schema("jobs", "JobView")},
          {"Submitted", submitted()},
          {"Appended", appended()},
          {"Joined", joined()},
          {"ClosureView", closure()},
          {"ClosurePage", object({{"closures", array(ref("ClosureView"))},
                                  {"next_page_token", text(), optional},
                                  {"looked_at", count()},
                                  {"of", count()}})},
          {"Explanation", object({{"id", id("cl_")},
                                  {"function", text(), optional},
                                  {"display_name", text(), optional},
                                  {"state", closure_state()},
                                  {"explanation", text()}})},
          {"ResultLine", result_line()},
          {"RemoteValueView", remote_value()},
          {"PerWorkerView", per_worker()},
          {"PerWorkerPage", page_schema("per_worker_values", "PerWorkerView")},
          {"LogLines", log_lines()}};
}

}  // namespace muster::web

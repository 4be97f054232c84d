// Listings of values, graphs of dependencies, what a worker holds.
#include "web/json/answer_schemas.hpp"

namespace muster::web {

namespace {

using namespace schema;

std::string value_state() {
  return one_of({"NOT_READY", "READY", "ABORTED"});
}
std::string place() {
  return described(one_of({"memory", "disk", "released", "none"}), "none: there is no value");
}

std::string value_page() {
  auto const row = object({{"id", id("rv_")},
                           {"closure", id("cl_")},
                           {"job", id("job_")},
                           {"function", text()},
                           {"display_name", text(), optional},
                           {"index", count()},
                           {"status", value_state()},
                           {"place", place()},
                           {"bytes", count()},
                           {"created_ms", time()},
                           {"finished_ms", time()},
                           {"released", described(text(), "why"), optional}});
  return object({{"remote_values", array(row)},
                 {"next_page_token", text(), optional},
                 {"looked_at", count()},
                 {"of", count()}});
}

std::string holders() {
  return object(
      {{"holders", array(object({{"job", id("job_")},
                                 {"name", text()},
                                 {"streaming", boolean()},
                                 {"state", one_of({"RUNNING", "SUCCEEDED", "FAILED", "CANCELLED"})},
                                 {"values", count()},
                                 {"value_bytes", described(count(), "in memory")},
                                 {"spilled_bytes", described(count(), "on the disk")}}))}});
}

std::string preview() {
  return object({{"id", id("rv_")},
                 {"status", value_state()},
                 {"place", place()},
                 {"bytes", described(count(), "of the whole value")},
                 {"encoding", one_of({"json", "bytes"}), optional},
                 {"text", described(text(), "of bytes as hex digits"), optional},
                 {"truncated", boolean(), optional},
                 {"released", described(text(), "why"), optional},
                 {"error", ref("Failure"), optional}});
}

std::string worker_closures() {
  auto const held = array(object({{"id", id("cl_")},
                                  {"job", id("job_"), optional},
                                  {"index", count()},
                                  {"function", text()},
                                  {"since_ms", time()}}));
  return object({{"running", held},
                 {"sent_ahead", held},
                 {"more", described(count(), "beyond the 200 of each")}});
}

std::string graph() {
  auto const numbers = array(count());
  auto const nodes = object({{"index", numbers},
                             {"closure", array(id("cl_"))},
                             {"function", described(numbers, "by place in `functions`")},
                             {"state", described(numbers, "by place in `states`")}});
  auto const group = object({{"function", text()}, {"counts", ref("Counts")}});
  return object({{"grouped", boolean()},
                 {"nodes", nodes, optional},
                 {"functions", array(text()), optional},
                 {"states", array(text()), optional},
                 {"groups", array(group), optional},
                 {"edges", described(array(numbers),
                                     "from and to by place in the nodes; in the groups, and how "
                                     "many")},
                 {"looked_at", count()},
                 {"of", count()},
                 {"complete", described(boolean(), "false: cut off at the time of one answer")}});
}

}  // namespace

std::vector<schema::named> listing_answer_schemas() {
  return {{"RemoteValuePage", value_page()},
          {"ValueHolders", holders()},
          {"ValuePreview", preview()},
          {"WorkerClosures", worker_closures()},
          {"Graph", graph()}};
}

}  // namespace muster::web

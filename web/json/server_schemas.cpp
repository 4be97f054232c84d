// The server's own numbers, and problems.
#include "base/status.hpp"
#include "web/json/answer_schemas.hpp"

namespace muster::web {

namespace {

using namespace schema;

constexpr std::string_view function_waiting =
    "for an input, a time or their gang; not among the queued";

std::string counts_of(std::initializer_list<std::string_view> names) {
  std::vector<member> members;
  for (auto const name : names) members.push_back({name, count()});
  return object(members);
}

std::string overview() {
  auto const oldest = object(
      {{"closure", id("cl_")}, {"function", text()}, {"worker", text()}, {"since_ms", time()}});
  auto const alone =
      object({{"closure", id("cl_")},
              {"job", described(id("job_"), "none: it makes a lost value again"), optional},
              {"function", text()},
              {"workers_lost", count()},
              {"worker", described(text(), "that it runs on; none: it waits for one"), optional},
              {"since_ms", time()}});
  auto const function = object({{"name", text()},
                                {"workers", count()},
                                {"ever_had", boolean()},
                                {"waiting", described(count(), function_waiting)},
                                {"queued", count()},
                                {"running", count()},
                                {"succeeded", count()},
                                {"failed", count()}});
  return object(
      {{"uptime_ms", count()},
       {"tasks", counts_of({"connected", "late", "error", "disconnected", "total"})},
       {"closures", counts_of({"blocked", "queued", "running", "succeeded", "failed", "cancelled",
                               "put_back"})},
       {"rates", object({{"finished", number()}, {"failed", number()}})},
       {"remote_values", counts_of({"not_ready", "ready", "aborted", "held", "held_bytes"})},
       {"heartbeat_age_ms", counts_of({"p50", "p99", "max"})},
       {"jobs", counts_of({"running", "succeeded", "failed", "cancelled"})},
       {"sessions", count()},
       {"stalled", object({{"since_ms", time()}, {"oldest", array(oldest)}})},
       {"durable",
        described(
            object({{"data_dir", text()},
                    {"epoch", described(count(), "starts of servers there")},
                    {"restored_in_ms", count()},
                    {"changes", count()},
                    {"changes_waiting", described(count(), "not on the disk yet")},
                    {"waiting_bytes", count()},
                    {"disk_bytes", count()},
                    {"store", described(one_of({"rocksdb", "etcd"}), "what holds it")},
                    {"leader", described(text(), "etcd: the address that others follow"), optional},
                    {"lease_left_ms",
                     described(count(), "etcd: for so long this server may answer"), optional},
                    {"failed_since_ms", time(), optional},
                    {"failure", text(), optional}}),
            "none: everything is in memory"),
        optional},
       {"alone", described(object({{"count", count()}, {"oldest", array(alone)}}),
                           "closures that have lost worker after worker and run alone on the next; "
                           "at most 20 are listed")},
       {"functions", array(function)}});
}

std::string function() {
  return object({{"name", text()},
                 {"workers", count()},
                 {"ever_had", boolean()},
                 {"waiting", described(count(), function_waiting)},
                 {"queued", count()},
                 {"running", count()},
                 {"succeeded", count()},
                 {"failed", count()},
                 {"cancelled", count()}});
}

std::string attention() {
  auto const item = object(
      {{"rule", text()},
       {"severity", one_of({"error", "warning"})},
       {"title", text()},
       {"detail", text()},
       {"since_ms", time()},
       {"count", count()},
       {"link", described(text(), "a path of the page, with its query")},
       {"command", described(text(), "that helps or tells more; HOST stands for the server's name"),
        optional}});
  return object({{"items", array(item)}});
}

std::string version() {
  return object({{"name", one_of({"muster"})},
                 {"version", text()},
                 {"boot", id("")},
                 {"api", one_of({"v1"})},
                 {"websocket", one_of({"muster.v1"})}});
}

std::string blob_counts() {
  return object({{"blobs", described(count(), "that are there")},
                 {"bytes", described(count(), "of these, and of those that are being put")},
                 {"held", described(count(), "that values name: they stay as long as these do")},
                 {"held_bytes", count()},
                 {"bytes_max", described(count(), "--blob-bytes-max")}});
}

std::string blob() {
  return object({{"sha256", matching("^[0-9a-f]{64}$")}, {"bytes", count()}});
}

// RFC 9457.
std::string problem_schema() {
  std::vector<std::string_view> codes;
  for (int c = 1; c <= 16; ++c)
    if (c != 15) codes.push_back(name(static_cast<code>(c)));  // DATA_LOSS is never answered
  return object(
      {{"status", integer(400, 599)},
       {"title", text()},
       {"detail", text()},
       {"code", described(one_of(codes), "name of the gRPC status")},
       {"field", described(text(), "the parameter or member that is wrong: closures[3].args"),
        optional},
       {"limit", described(text(), "the limit that was hit, with its unit"), optional},
       {"leader", described(text(), "of a standby: the server that serves, host:port"), optional},
       {"line", described(count(), "of NDJSON, the first that was not taken"), optional},
       {"accepted", described(count(), "how many closures were taken before it"), optional},
       {"failure", ref("Failure"), optional}});
}

}  // namespace

std::vector<schema::named> server_answer_schemas() {
  return {{"Problem", problem_schema()},
          {"Overview", overview()},
          {"Version", version()},
          {"BlobCounts", blob_counts()},
          {"BlobView", blob()},
          {"Attention", attention()},
          {"FunctionView", function()},
          {"FunctionPage", page_schema("functions", "FunctionView")},
          {"Text", text()},
          {"OpenApi", map(any())}};
}

}  // namespace muster::web

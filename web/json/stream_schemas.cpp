// What workers did, and the server's numbers over time.
#include "web/json/answer_schemas.hpp"

namespace muster::web {

namespace {

using namespace schema;

std::string counts() {
  return array(count());
}
/// Whole numbers that may lie before a base.
std::string offsets() {
  return array(integer(INT64_MIN, INT64_MAX));
}

std::string stream() {
  auto const lane = object({{"lane", count()},
                            {"task", text()},
                            {"cluster", described(text(), "empty: the main one")},
                            {"slots", described(count(), "most that a worker of it has had")}});
  auto const bars = object(
      {{"lane", counts()},
       {"start_us", described(offsets(), "after base_ms")},
       {"duration_us", counts()},
       {"busy_us", described(counts(), "of a sum: what its closures took together")},
       {"function", described(counts(),
                              "position in functions; of a sum, the one that took "
                              "most of its time")},
       {"state", described(array(integer(0, 3)),
                           "0 succeeded, 1 failed, 2 cancelled, 3 lost with its worker; of a "
                           "sum 1 when one has failed")},
       {"count", described(counts(),
                           "1 or, of those of less than 1 ms, how many the task "
                           "ended within 100 ms")},
       {"failed", counts()},
       {"closure", described(array(text()), "empty: a sum")},
       {"job", described(counts(), "position in jobs")}});
  auto const running = object({{"lane", counts()},
                               {"start_us", offsets()},
                               {"function", counts()},
                               {"closure", array(id("cl_"))},
                               {"job", counts()}});
  auto const minutes = object({{"lane", counts()},
                               {"start_ms", array(time())},
                               {"count", described(counts(), "that ended in the minute")},
                               {"failed", counts()},
                               {"busy_ms", counts()},
                               {"function", counts()}});
  return object(
      {{"now_ms", time()},
       {"base_ms", time()},
       {"since_ms", described(time(), "bars are complete since then")},
       {"next", described(count(), "ask again with after=")},
       {"more", described(boolean(), "there is more behind `next` already")},
       {"lanes", described(array(lane), "those that this answer names; a task keeps its number")},
       {"functions", array(text())},
       {"jobs", described(array(text()), "empty: of sums and of the server's own closures")},
       {"bars", bars},
       {"running", described(running, "what the slots of workers work on now")},
       {"minutes", described(minutes, "of the time before since_ms, in the first answer only"),
        optional}});
}

std::string trace() {
  auto const event = object({{"ph", one_of({"X", "M"})},
                             {"name", text()},
                             {"cat", text(), optional},
                             {"pid", described(count(), "a host, or a cluster")},
                             {"tid", described(count(), "a slot of a task")},
                             {"ts", described(count(), "us since the epoch"), optional},
                             {"dur", count(), optional},
                             {"args", map(any())}});
  return object({{"displayTimeUnit", one_of({"ms"})}, {"traceEvents", array(event)}});
}

std::string history() {
  return object({{"step_ms", count()},
                 {"t", described(array(time()), "when each minute began")},
                 {"finished", counts()},
                 {"failed", counts()},
                 {"busy_ms", described(counts(), "of its slots together")}});
}

std::string samples() {
  auto const numbers = [](std::string_view words) { return described(array(number()), words); };
  auto const times = "0 where none did";
  return object({{"step_ms", count()},
                 {"t", described(array(time()), "when each step ended")},
                 {"queued", array(number())},
                 {"running", array(number())},
                 {"finished", numbers("a second")},
                 {"failed", numbers("a second")},
                 {"hb_p99", numbers("ms, the greatest of the step")},
                 {"wait_p50_ms", numbers(times)},
                 {"wait_p99_ms", numbers(times)},
                 {"run_p50_ms", numbers(times)},
                 {"run_p99_ms", numbers(times)}});
}

}  // namespace

std::vector<schema::named> stream_answer_schemas() {
  return {
      {"Stream", stream()}, {"Trace", trace()}, {"TaskHistory", history()}, {"Samples", samples()}};
}

}  // namespace muster::web

// Fuzzes the records of the history on disk, as a server restores them at the start. The first byte
// of the input chooses the kind of the record, the rest is the record.
//
// Checked properties:
// - Every record is decoded. The decoded rows are encoded to a readable record, and a further round
//   changes no byte.
// - If the lines of one job are requested, all of them are found, and no others.
// - Spans of steps are within the documented times, and are packed again without loss.
// - The history of workers is consistent after it has restored a record.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/history/history.hpp"
#include "server/history/machines/machines.hpp"
#include "server/history/store/history_store.hpp"
#include "server/history/store/records.hpp"
#include "tests/fuzz/input_reader.hpp"
#include "tests/fuzz/require.hpp"

namespace {

using namespace muster::server;
using fuzz::require;
namespace core = muster::core;
namespace doctor = muster::doctor;
namespace history = muster::history;

constexpr core::time_point noon = core::time_point(std::chrono::hours(480'000));

/// Returns the decoded record.
template <class Decode, class Encode>
auto check(std::string_view bytes, Decode const& decode, Encode const& encode) {
  std::size_t unreadable = 0;
  auto found = decode(bytes, &unreadable);
  auto const written = encode(found);
  unreadable = 0;
  auto const again = decode(written, &unreadable);
  require(unreadable == 0, "an encoded record is readable");
  require(encode(again) == written, "a record is decoded as it was encoded");
  return found;
}

// As the activity log does.
std::string encoded_spans(recorded_spans const& all) {
  core::config const limits;
  history::names named(limits, [](auto const&) {});
  core::span_page page;
  std::map<core::lane_key, std::uint32_t> lanes;
  for (auto const& s : all.spans) {
    auto const [lane, is_new] = lanes.try_emplace(s.lane, lanes.size());
    if (is_new) page.names.lanes.push_back({lane->second, s.lane.first, s.lane.second, 0});
    auto& v = page.spans.emplace_back(s.what);
    v.lane = lane->second;
    v.function = s.function.name.empty() ? core::several_functions : named.of(s.function, noon);
  }
  return encoded(all.cluster, page, named);
}

void check_events(std::string_view bytes) {
  using events = std::vector<event>;
  (void)check(bytes, events_from, [](events const& all) { return encoded(all); });
}

void check_point(std::string_view bytes) {
  (void)check(bytes, point_from, [](chart_point const& p) { return encoded(p); });
}

void check_machines(std::string_view bytes) {
  using machines = std::vector<recorded_machine>;
  auto const all = check(bytes, machines_from, [](machines const& m) { return encoded(m); });
  history::machines restored;
  for (auto const& m : all) {
    restored.restore(m.task, m.host, m.sample);
    auto const* const row = restored.find(m.task);
    if (row && !row->ring.empty())
      require(history::machines::newest_sample(*row).at == m.sample.at,
              "the newest sample of a machine is the sample that was restored last");
  }
}

void check_spans(std::string_view bytes) {
  auto const all = check(bytes, spans_from, encoded_spans);
  if (all.spans.empty()) return;
  core::config const settings;
  core::server_wide wide{noon};
  history::history restored(settings, wide, noon);
  for (auto const& s : all.spans) restored.restore(s);
  require(restored.invalid().empty(), "the history is consistent after a restore");
  auto const page = restored.activity().spans({}, 0, {}, core::never);
  require(page.spans.size() <= all.spans.size(), "only restored spans are shown");
  (void)restored.activity().minutes({}, {}, 1'000);
}

void check_lines(std::string_view bytes) {
  auto const encode = [](recorded_lines const& all) { return encoded(all); };
  auto const decode = [](std::string_view from, std::size_t* unreadable) {
    return lines_from(from, unreadable);
  };
  auto const all = check(bytes, decode, encode);
  if (all.lines.empty()) return;
  auto const wanted = all.lines.back().first;
  auto const of_job = [wanted](core::session_id job) { return job == wanted; };
  std::size_t of_it = 0;
  for (auto const& [job, line] : all.lines) of_it += of_job(job);
  auto const some = lines_from(bytes, nullptr, of_job);
  for (auto const& [job, line] : some.lines)
    require(of_job(job), "a line belongs to the requested job");
  auto const found = lines_from(encode(all), nullptr, of_job);
  require(found.lines.size() == of_it, "all lines of the requested job are found");
  require(found.cluster == all.cluster, "lines belong to a cluster");
}

void check_runs(std::string_view bytes) {
  using runs = std::vector<recorded_run>;
  (void)check(bytes, runs_from, [](runs const& all) { return encoded(all); });
}

void check_jobs(std::string_view bytes) {
  using jobs = std::vector<core::job_view>;
  (void)check(bytes, jobs_from, [](jobs const& all) { return encoded(all); });
}

// If a rank has several groups of spans, packing joins them, which can exceed the limit of a gap.
bool has_one_group_for_each_rank(std::vector<doctor::step_span> const& spans) {
  std::set<std::uint32_t> ranks;
  std::optional<std::uint32_t> last;
  for (auto const& s : spans) {
    if (last != s.rank && !ranks.insert(s.rank).second) return false;
    last = s.rank;
  }
  return true;
}

void check_steps(std::string_view bytes) {
  constexpr core::duration longest{std::int64_t{1} << 56};
  auto const segment =
      check(bytes, steps_from, [](doctor::step_segment const& s) { return encoded(s); });
  std::vector<doctor::step_span> spans;
  auto const unpacked = [&](std::string_view packed, auto const& take) {
    doctor::unpack(packed, segment.first, take);
  };
  unpacked(segment.bytes, [&](doctor::step_span const& s) {
    require(s.count > 0, "a span has a step");
    for (auto const d : {s.took, s.longest})
      require(d >= core::duration{} && d <= longest, "a duration is limited");
    auto const ended = s.ended.time_since_epoch();
    require(ended >= -longest && ended <= longest, "a time is limited");
    spans.push_back(s);
  });
  if (!has_one_group_for_each_rank(spans)) return;
  std::stable_sort(spans.begin(), spans.end(),
                   [](auto const& a, auto const& b) { return a.rank < b.rank; });
  std::vector<doctor::step_span> again;
  unpacked(doctor::packed(spans, segment.first),
           [&again](doctor::step_span const& s) { again.push_back(s); });
  require(again == spans, "spans of steps are unpacked as they were packed");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  fuzz::input_reader input(data, size);
  auto const chosen = input.byte() % 8;
  auto const bytes = input.rest();
  switch (static_cast<history_kind>(chosen)) {
    case history_kind::events:
      check_events(bytes);
      break;
    case history_kind::points:
      check_point(bytes);
      break;
    case history_kind::machines:
      check_machines(bytes);
      break;
    case history_kind::spans:
      check_spans(bytes);
      break;
    case history_kind::lines:
      check_lines(bytes);
      break;
    case history_kind::runs:
      check_runs(bytes);
      break;
    case history_kind::jobs:
      check_jobs(bytes);
      break;
    case history_kind::steps:
      check_steps(bytes);
      break;
  }
  return 0;
}

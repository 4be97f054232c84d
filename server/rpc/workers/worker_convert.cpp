#include "server/rpc/workers/worker_convert.hpp"

#include <algorithm>
#include <span>

#include "base/text.hpp"
#include "proto/columns.hpp"
#include "server/core/api/id_text.hpp"
#include "server/core/api/placeholders.hpp"
#include "server/rpc/column_check.hpp"
#include "server/rpc/failure_convert.hpp"

namespace muster::server {
namespace {

template <class Columns>
std::string check_answers(Columns const& m) {
  int const n = m.closure_size();
  if (m.attempt_size() != n) return unequal("attempt", m.attempt_size(), n);
  if (m.value_size() != n) return unequal("value", m.value_size(), n);
  if (m.execution_us_size() != 0 && m.execution_us_size() != n)
    return unequal("execution_us", m.execution_us_size(), n);
  return wrong_encodings(m, n);
}

std::string check_columns(v1::WorkerMessage const& m) {
  if (auto wrong = check_answers(m); !wrong.empty()) return wrong;
  int const started = m.started_closure_size();
  if (m.started_attempt_size() != started)
    return unequal("started_attempt", m.started_attempt_size(), started);
  if (m.started_for_us_size() != started)
    return unequal("started_for_us", m.started_for_us_size(), started);
  int const waiting = m.wait_closure_size();
  if (m.wait_attempt_size() != waiting)
    return unequal("wait_attempt", m.wait_attempt_size(), waiting);
  if (m.waits_size() != waiting) return unequal("waits", m.waits_size(), waiting);
  if (m.returned_attempt_size() != m.returned_closure_size())
    return unequal("returned_attempt", m.returned_attempt_size(), m.returned_closure_size());
  return {};
}

// Limits a time to a year, because a longer time cannot be a measurement.
core::duration measured(std::uint64_t us) {
  constexpr std::uint64_t year_us = 366ull * 24 * 3'600 * 1'000'000;
  return std::chrono::microseconds(std::min(us, year_us));
}

core::blob const& null_value() {
  static core::blob const null("null");
  return null;
}

std::string take_failure(v1::Failure const& f, std::span<core::worker_result> results) {
  if (f.position() >= results.size())
    return ".position: " + std::to_string(f.position()) + ", but the message has only " +
           std::to_string(results.size()) + " closures";
  auto& r = results[f.position()];
  if (!r.ok) return ".position: " + std::to_string(f.position()) + " has already failed";
  if (r.value.size() != 0)
    return ".position: " + std::to_string(f.position()) + " also has a value";
  r.ok = false;
  r.value = {};
  auto wrong = from_wire(f, r.failure.emplace());
  return wrong.empty() ? wrong : ".kind: " + wrong;
}

template <class Columns>
std::string take_answers(Columns const& m, std::vector<core::worker_result>& results) {
  auto const first = results.size();
  results.resize(first + static_cast<std::size_t>(m.closure_size()));
  auto const added = std::span(results).subspan(first);
  bool empty_json = false;
  for (int i = 0; i < m.closure_size(); ++i) {
    auto& r = added[static_cast<std::size_t>(i)];
    r.closure = core::closure_id{m.closure(i)};
    r.attempt = m.attempt(i);
    if (m.execution_us_size() > 0) r.execution = measured(m.execution_us(i));
    bool const bytes = proto::is_bytes(m.encoding(), i);
    auto const& value = m.value(i);
    empty_json |= value.empty() && !bytes;
    r.value = !bytes && value == "null" ? null_value() : core::blob(value, encoding_of(bytes));
  }
  for (int i = 0; i < m.failure_size(); ++i)
    if (auto wrong = take_failure(m.failure(i), added); !wrong.empty())
      return "failure[" + std::to_string(i) + "]" + wrong;
  if (empty_json)
    for (std::size_t i = 0; i < added.size(); ++i)
      if (added[i].ok && added[i].value.size() == 0 &&
          added[i].value.encoding() == core::encoding::json)
        return "value[" + std::to_string(i) +
               "]: an empty value is not JSON, and the closure has no failure";
  return {};
}

bool is_pickled(core::assignment const& a, std::size_t i) {
  return a.extras->inputs[i].offset == core::beside_pickled;
}

void add_inputs(core::assignment const& a, int position, v1::ServerMessage& m) {
  auto& beside = *m.add_inputs();
  beside.set_position(static_cast<std::uint32_t>(position));
  for (std::size_t i = 0; i < a.inputs->size(); ++i) {
    auto const& value = (*a.inputs)[i];
    beside.add_value(value.view().data(), value.size());
    beside.add_form(value.encoding() == core::encoding::json ? v1::INPUT_JSON
                    : is_pickled(a, i)                       ? v1::INPUT_PICKLE
                                                             : v1::INPUT_BYTES);
  }
}

std::string pickle_of(std::string_view bytes) {
  std::string made("\x80\x03\x42", 3);  // protocol 3 and a four-byte length
  for (int shift = 0; shift < 32; shift += 8)
    made += static_cast<char>(static_cast<unsigned char>(bytes.size() >> shift));
  return made.append(bytes) += '.';
}

// Combines byte arguments with their inputs, for workers that do not support separate inputs.
std::string in_one_json(core::assignment const& a) {
  auto made = "[\"" + base64(a.args.view()) + '"';
  for (std::size_t i = 0; a.inputs && i < a.inputs->size(); ++i) {
    auto const& value = (*a.inputs)[i];
    made += ',';
    if (value.encoding() == core::encoding::json) {
      made += value.view();
      continue;
    }
    bool const pickled = is_pickled(a, i);
    made += "{\"$pickle\":\"";
    made += pickled ? base64(value.view()) : base64(pickle_of(value.view()));
    made += "\"}";
  }
  for (auto const v : a.extras->per_worker) made += ",{\"$per_worker\":\"" + core::text(v) + "\"}";
  return made += ']';
}

std::string check_reports(v1::WorkerMessage const& m) {
  int const lines = m.log_closure_size();
  if (m.log_attempt_size() != lines)
    return unequal("log_attempt", m.log_attempt_size(), lines, "lines");
  if (m.log_level_size() != lines) return unequal("log_level", m.log_level_size(), lines, "lines");
  if (m.log_time_ms_size() != lines)
    return unequal("log_time_ms", m.log_time_ms_size(), lines, "lines");
  if (m.log_text_size() != lines) return unequal("log_text", m.log_text_size(), lines, "lines");
  int const n = m.progress_closure_size();
  if (m.progress_attempt_size() != n)
    return unequal("progress_attempt", m.progress_attempt_size(), n, "closures");
  if (m.progress_fraction_size() != n)
    return unequal("progress_fraction", m.progress_fraction_size(), n, "closures");
  if (m.progress_text_size() != n)
    return unequal("progress_text", m.progress_text_size(), n, "closures");
  return {};
}

static_assert(static_cast<int>(log_level::info) == v1::LOG_INFO);
static_assert(static_cast<int>(log_level::debug) == v1::LOG_DEBUG);
static_assert(static_cast<int>(log_level::warning) == v1::LOG_WARNING);
static_assert(static_cast<int>(log_level::error) == v1::LOG_ERROR);
static_assert(static_cast<int>(log_level::standard_output) == v1::LOG_STDOUT);
static_assert(static_cast<int>(log_level::standard_error) == v1::LOG_STDERR);
static_assert(static_cast<int>(log_level::dropped) == v1::LOG_DROPPED);

// Converts levels that only newer workers use to info.
log_level level_of(int number) {
  return v1::LogLevel_IsValid(number) ? static_cast<log_level>(number) : log_level::info;
}

// Workers' clocks are not trusted: implausible times are replaced by `now`.
core::time_point time_of(std::int64_t ms, core::time_point now) {
  constexpr std::int64_t ms_max = std::int64_t{1} << 50;
  return ms > 0 && ms < ms_max ? core::time_point(std::chrono::milliseconds(ms)) : now;
}

}  // namespace

std::string from_wire(v1::Answers const& m, std::vector<core::worker_result>& to) {
  if (auto wrong = check_answers(m); !wrong.empty()) return wrong;
  return take_answers(m, to);
}

std::string from_wire(v1::WorkerMessage const& m, core::worker_results& to) {
  if (auto wrong = check_columns(m); !wrong.empty()) return wrong;
  for (int i = 0; i < m.started_closure_size(); ++i)
    to.started.push_back({core::closure_id{m.started_closure(i)}, m.started_attempt(i),
                          measured(m.started_for_us(i))});
  for (int i = 0; i < m.returned_closure_size(); ++i)
    to.returned.push_back({core::closure_id{m.returned_closure(i)}, m.returned_attempt(i)});
  for (int i = 0; i < m.wait_closure_size(); ++i)
    to.waits.push_back({core::closure_id{m.wait_closure(i)}, m.wait_attempt(i), m.waits(i)});
  return take_answers(m, to.results);
}

std::string take_reports(v1::WorkerMessage const& m, core::stream_id stream,
                         std::shared_ptr<std::string const> const& task, hub& to) {
  if (auto wrong = check_reports(m); !wrong.empty()) return wrong;
  for (int i = 0; i < m.log_closure_size(); ++i) {
    log_line line;
    line.at = time_of(m.log_time_ms(i), to.now());
    line.closure = core::closure_id{m.log_closure(i)};
    line.attempt = m.log_attempt(i);
    line.level = level_of(m.log_level(i));
    line.text = m.log_text(i);
    line.worker = task;
    to.report(stream, std::move(line));
  }
  for (int i = 0; i < m.progress_closure_size(); ++i)
    to.report(stream, core::closure_id{m.progress_closure(i)},
              {m.progress_fraction(i), m.progress_text(i), to.now(), m.progress_attempt(i)});
  return {};
}

void to_wire(core::assignment const& a, std::uint32_t function_number, bool inputs_beside_bytes,
             proto::outbox<v1::ServerMessage>& out) {
  auto bytes = a.args.size();
  if (a.inputs)
    for (auto const& input : *a.inputs) bytes += input.size();
  auto& m = out.add_entry(bytes + 20);
  int const position = m.closure_size();
  m.add_closure(core::raw(a.closure));
  m.add_attempt(a.attempt);
  m.add_function(function_number);
  auto& args = *m.add_args();
  bool in_bytes = a.args.encoding() == core::encoding::bytes;
  if (in_bytes && a.extras && !inputs_beside_bytes) {
    args = in_one_json(a);
    in_bytes = false;
  } else if (a.inputs && !in_bytes) {
    args = core::fill_gaps(a.args.view(), a.extras->inputs,
                           [&](std::size_t i) { return (*a.inputs)[i].view(); });
  } else {
    args = a.args.view();
    if (a.inputs) add_inputs(a, position, m);
  }
  proto::add_encoding(*m.mutable_encoding(), position, in_bytes);
  proto::add_sparse(*m.mutable_num_workers(), position, a.num_workers);
  if (a.builds == core::per_worker_id{} && (!a.extras || a.extras->per_worker.empty())) return;
  auto& p = *m.add_per_worker();
  p.set_position(static_cast<std::uint32_t>(position));
  p.set_builds(core::raw(a.builds));
  if (a.extras)
    for (auto const v : a.extras->per_worker) p.add_uses(core::raw(v));
}

}  // namespace muster::server

// Reads each rank's log in chunks. Continues with the next attempt once the current attempt had
// ended before the query and all its output has been read.
#include "cli/programs/rank_log_reader.hpp"

#include <chrono>
#include <iostream>
#include <thread>

#include "base/rank_label.hpp"
#include "cli/programs/program_lookup.hpp"
#include "cli/table.hpp"

namespace muster::cli {

// A rank that prints faster than its output is read must not delay other ranks or signals.
constexpr int pieces_max = 16;
// Number of queries after the end, which are needed because workers report the last lines with a
// short delay, or are declared lost.
constexpr int looks_max = 5;
constexpr char const* piece_bytes = "&bytes=262144";

rank_log_reader::left rank_log_reader::look(json::value const& program, json::array const& ranks) {
  auto const newest = number_of(program, "attempt");
  bool const ended = has_ended(program);
  if (newest == 0) return ended || asked_.once ? left::nothing : left::waiting;
  if (attempt_ == 0) attempt_ = newest;
  bool const last = attempt_ >= newest;
  bool const over = !last || ended;
  auto const found = read_all_logs(ranks, last, over);
  if (found == left::more) return left::more;
  if (asked_.once) {
    end_attempt();
    return left::nothing;
  }
  if (!over || (found == left::waiting && ++polls_after_end_ < looks_max)) return left::waiting;
  end_attempt();
  if (last || asked_.one_attempt) return left::nothing;
  ++attempt_;
  return left::more;
}

// For the last attempt, returns the ranks that have started, or that ended before they were seen
// running; otherwise all ranks.
std::map<std::int64_t, std::string> rank_log_reader::ranks_to_ask(json::array const& ranks,
                                                                  bool last) {
  std::map<std::int64_t, std::string> all;
  for (auto const& r : ranks)
    if (last && !(text_of(r, "started_ms").empty() && text_of(r, "ended_ms").empty()))
      all[number_of(r, "rank")] = rank_label_of(r);
  if (!last && !count_) {
    count_ = 0;
    auto const answer = server_.get(path_ + "/attempts");
    for (auto const& a : list_of(answer, "attempts"))
      if (number_of(a, "attempt") == attempt_) count_ = number_of(a, "ranks");
  }
  for (std::int64_t i = 0; !last && i < *count_; ++i)
    all[i] = rank_label(static_cast<std::uint64_t>(i), {});
  return all;
}

rank_log_reader::left rank_log_reader::read_all_logs(json::array const& ranks, bool last,
                                                     bool over) {
  bool more = false, waits = false;
  for (auto const& [number, label] : ranks_to_ask(ranks, last)) {
    if (asked_.rank && number != *asked_.rank) continue;
    auto& r = ranks_[number];
    if (r.label.empty()) r.label = label;
    if (!r.lines)
      r.lines =
          std::make_unique<line_splitter>([this, &r](std::string_view line) { print(r, line); });
    bool piece = !r.complete && !r.gone;
    for (int n = 0; n < pieces_max && piece; ++n) piece = look(r, number, over);
    if (printer_.is_terminal()) r.lines->report_pending_line(line_splitter::clock::now());
    more = more || piece;
    waits = waits || !(r.complete || r.gone);
  }
  std::cout.flush();
  return more ? left::more : waits ? left::waiting : left::nothing;
}

// A carriage return at the end marks an incomplete line.
void rank_log_reader::print(rank const& r, std::string_view line) {
  bool const ended = !line.ends_with('\r');
  printer_.line(r.label, r.label + " | " + std::string(overwritten(line)), ended);
}

bool rank_log_reader::look(rank& r, std::int64_t number, bool over) {
  auto const answer = server_.send("GET", path_ + "/logs?rank=" + std::to_string(number) +
                                              "&attempt=" + std::to_string(attempt_) + piece_bytes +
                                              "&offset=" + std::to_string(r.offset));
  boost::system::error_code error;
  auto const piece = json::parse(answer.body, error);
  if (answer.status != 200 || error) {  // the worker is disconnected; a later query may succeed
    why_ = text_of(piece, "detail");
    r.gone = answer.status == 404;
    return false;
  }
  if (auto const task = text_of(piece, "task"); !task.empty())
    r.label = rank_label(static_cast<std::uint64_t>(number), task);
  bool const complete = is_true(piece, "complete");
  if (!is_true(piece, "known")) {  // the log has not begun, or never began
    r.complete = (over && complete) || asked_.once;
    return false;
  }
  auto const data = text_of(piece, "data");
  r.lines->add(data);
  auto const next = count_of(piece, "next_offset");
  auto const size = count_of(piece, "size");
  r.offset = next > 0 ? next : count_of(piece, "offset") + data.size();
  if (!r.size) r.size = size;
  bool const all = r.offset >= (asked_.once ? *r.size : size);
  r.complete = all && (complete || asked_.once);
  return !all && !data.empty();
}

void rank_log_reader::finish() {
  for (auto& [number, r] : ranks_)
    if (r.lines) r.lines->end();
  printer_.end();
  std::cout.flush();
}

void rank_log_reader::end_attempt() {
  finish();
  std::size_t without = 0;
  for (auto const& [number, r] : ranks_) without += !r.complete;
  if (without > 0)
    missing_ = "the last output of " + std::to_string(without) +
               (without == 1 ? " rank" : " ranks") + " of attempt " + std::to_string(attempt_) +
               " could not be loaded" + (why_.empty() ? "" : ": " + for_terminal(why_));
  ranks_.clear();
  count_ = {};
  polls_after_end_ = 0;
  why_.clear();
}

void print_program_logs(rest& server, std::string const& path, std::optional<std::uint32_t> rank,
                        std::optional<std::uint32_t> attempt, bool follow) {
  rank_logs_asked asked{.attempt = attempt.value_or(0), .once = !follow};
  asked.one_attempt = attempt.has_value();
  if (rank) asked.rank = *rank;
  rank_log_reader all(server, path, asked);
  // If the rank or attempt does not exist, the server reports why.
  auto const check = [&] {
    if (!rank && !attempt) return;
    auto const answer =
        server.send("GET", path + "/logs?bytes=1&rank=" + std::to_string(rank.value_or(0)) +
                               "&attempt=" + std::to_string(attempt.value_or(0)));
    if (answer.status == 404) throw rest::problem(answer);
  };
  for (bool checked = false;;) {
    auto const program = server.get(path);
    auto const last = number_of(program, "attempt");
    if (!checked && (last > 0 || attempt || !follow)) {
      check();
      checked = true;
    }
    auto const left = all.look(program, last > 0 ? ranks_of(server, path) : json::array());
    if (auto const text = all.missing(); !text.empty()) std::cerr << "muster: " << text << '\n';
    if (left == rank_log_reader::left::nothing || !std::cout) return;
    if (left == rank_log_reader::left::waiting)
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
  }
}

}  // namespace muster::cli

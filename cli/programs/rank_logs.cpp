// Asks for each rank's log from where the last piece ended.
#include "cli/programs/rank_logs.hpp"

#include <iostream>

#include "cli/table.hpp"

namespace muster::cli {

// One that prints faster than it is read must not keep others, and signals, waiting.
constexpr int pieces_max = 16;

bool rank_logs::look(json::array const& ranks, std::int64_t attempt) {
  if (attempt != attempt_) ranks_.clear();
  attempt_ = attempt;
  bool more = false;
  for (auto const& one : ranks) {
    if (text_of(one, "started_ms").empty()) continue;
    auto const number = number_of(one, "rank");
    auto& r = ranks_[number];
    if (!r.lines)
      r.lines =
          std::make_unique<line_splitter>([task = text_of(one, "task")](std::string_view line) {
            std::cout << for_terminal(task) << " | " << for_terminal(std::string(line)) << '\n';
          });
    for (int pieces = 0; pieces < pieces_max && !r.complete && look(r, number, attempt);) ++pieces;
    more = more || !r.complete;
  }
  std::cout.flush();
  return more;
}

bool rank_logs::look(rank& r, std::int64_t number, std::int64_t attempt) {
  auto const answer = server_.send("GET", path_ + "/logs?rank=" + std::to_string(number) +
                                              "&attempt=" + std::to_string(attempt) +
                                              "&offset=" + std::to_string(r.offset));
  boost::system::error_code error;
  auto const piece = json::parse(answer.body, error);
  // Its worker is away, or does not know it any more: another look may tell.
  if (answer.status != 200 || error || !is_true(piece, "known")) return false;
  auto const data = text_of(piece, "data");
  r.lines->add(data);
  auto const next = count_of(piece, "next_offset");
  r.offset = next > 0 ? next : count_of(piece, "offset") + data.size();
  bool const all = r.offset >= count_of(piece, "size");
  if (all && is_true(piece, "complete")) {
    r.complete = true;
    r.lines->end();
  }
  return !all && !data.empty();
}

}  // namespace muster::cli

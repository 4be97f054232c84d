// Searches the output of ranks, which is stored in files on the workers. A request stops after
// `searched_bytes_max` bytes or after `summary_read_for`; its response then contains a token for
// the next request.
#include <chrono>

#include "base/overwritten.hpp"
#include "server/core/programs/controller.hpp"
#include "server/hub/id_parsing.hpp"
#include "web/rest/cluster_access.hpp"
#include "web/rest/history/log_matches.hpp"

namespace muster::web {

namespace {

using clock = std::chrono::steady_clock;

constexpr std::uint32_t search_piece_bytes = 256 << 10;
constexpr std::size_t searched_bytes_max = std::size_t{8} << 20, unread_max = 20;

class rank_search {
 public:
  rank_search(web_context& context, wanted_text wanted, core::program_id program,
              server::shared_scope scope)
      : context_(context),
        wanted_(std::move(wanted)),
        program_(program),
        scope_(std::move(scope)) {}

  coro::task<response> run(std::uint32_t attempt, history_query at, bool only,
                           std::uint32_t which) {
    auto const ranks = co_await begin(attempt);
    if (!ranks) co_return problem_response(ranks.error());
    limit_ = at.limit;
    rank_ = only ? which : at.place.number;
    offset_ = static_cast<std::uint64_t>(at.place.at.time_since_epoch().count());
    auto const end = only ? which + 1 : *ranks;
    if (only && which >= *ranks)
      co_return problem_response(
          impossible("rank", "the program has only ranks 0 to " + std::to_string(*ranks - 1),
                     "0 to " + std::to_string(*ranks - 1)));
    bool full = false;
    while (rank_ < end && !full) full = !(co_await one_piece()) || enough();
    if (rank_ < end)
      found_.next = token_behind({core::time_point(core::duration(offset_)), rank_}, 0);
    co_return json_response(to_text(found_));
  }

 private:
  bool enough() const {
    return searched_ >= searched_bytes_max || clock::now() - begun_ > summary_read_for;
  }

  coro::task<muster::result<std::uint32_t>> begin(std::uint32_t attempt) {
    auto work = [id = program_, scope = scope_](
                    server::hub& h) -> muster::result<std::pair<std::uint32_t, std::uint32_t>> {
      auto const p = h.state().programs().find(id);
      if (!p || !scope->sees(h.cluster()))
        return muster::status{code::not_found, "there is no program " + core::text(id)};
      return std::pair{p->ranks, p->attempt};
    };
    auto const there = co_await context_.engine.on_engine(in_pool_of(program_, std::move(work)));
    if (!there) co_return there.error();
    attempt_ = attempt > 0 ? attempt : there->second;
    co_return there->first;
  }

  // Returns false once the maximum number of lines has been found.
  coro::task<bool> one_piece() {
    server::rank_log_query q;
    q.rank = {program_, attempt_, rank_};
    q.offset = offset_;
    q.bytes_max = search_piece_bytes;
    auto work = [q](server::hub& h, answer_handle<muster::result<server::rank_log>> const& slot) {
      auto named = [slot, task = h.state().programs().task_of(q.rank)](
                       muster::result<server::rank_log> log) {
        if (log) log->task = task;
        slot->send(std::move(log));
      };
      h.workers().read_log(q, std::move(named));
    };
    auto log = co_await context_.engine.call<muster::result<server::rank_log>>(
        in_pool_of(program_, std::move(work)));
    if (!log || !log->known || log->data.empty()) {
      if (!log && found_.unread.size() < unread_max)
        found_.unread.push_back("rank " + std::to_string(rank_) + ": " + log.error().message);
      next_rank();
      co_return true;
    }
    searched_ += log->data.size();
    co_return take_lines(*log);
  }

  bool take_lines(server::rank_log const& log) {
    std::string_view rest = log.data;
    bool const last = log.offset + log.data.size() >= log.size;
    // An incomplete line is read again with the next chunk, unless it fills this chunk.
    if (auto const end = rest.rfind('\n'); !last && end != std::string_view::npos)
      rest = rest.substr(0, end + 1);
    while (!rest.empty()) {
      auto const printed = rest.substr(0, rest.find('\n'));
      auto const size = std::min(rest.size(), printed.size() + 1);
      auto const line = overwritten(printed);
      if (wanted_.is_in(line)) {
        if (found_.rank_lines.size() == limit_) return false;
        constexpr std::size_t shown_max = 8 << 10;
        found_.rank_lines.push_back(
            {rank_, attempt_, offset_, log.task, std::string(line.substr(0, shown_max))});
      }
      offset_ += size;
      rest.remove_prefix(size);
    }
    if (last) next_rank();
    return true;
  }

  void next_rank() {
    ++rank_;
    offset_ = 0;
  }

  web_context& context_;
  wanted_text const wanted_;
  core::program_id const program_;
  server::shared_scope const scope_;
  clock::time_point const begun_ = clock::now();
  std::size_t limit_ = 0, searched_ = 0;
  std::uint32_t attempt_ = 0, rank_ = 0;
  std::uint64_t offset_ = 0;
  log_matches found_;
};

}  // namespace

coro::task<response> search_ranks(web_context& context, exchange& ex, wanted_text wanted) {
  query_check query(ex.req);
  auto const id = server::parse_program(query.text("program"));
  if (!id) co_return problem_response(unknown_id("program", query.text("program")));
  history_query at;
  if (auto const wrong = read_history_query(query, at)) co_return problem_response(*wrong);
  auto const attempt = static_cast<std::uint32_t>(query.number("attempt", 0));
  auto const rank = static_cast<std::uint32_t>(query.number("rank", 0));
  bool const only = !query.text("rank").empty();
  rank_search search(context, std::move(wanted), *id, scope_of(context, ex.req));
  co_return co_await search.run(attempt, at, only, rank);
}

}  // namespace muster::web

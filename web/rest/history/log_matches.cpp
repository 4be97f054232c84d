// Searches closure logs on disk. rank_search.cpp searches the output of ranks.
#include "web/rest/history/log_matches.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "base/utf8.hpp"
#include "server/hub/id_parsing.hpp"
#include "web/rest/cluster_access.hpp"

namespace muster::web {

namespace {

constexpr std::size_t text_bytes_max = 256;

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
}

std::vector<found_line> lines_of(std::string_view record, std::size_t* unreadable) {
  auto some = server::lines_from(record, unreadable);
  std::vector<found_line> all;
  for (auto& [job, line] : some.lines) all.push_back({some.cluster, job, std::move(line)});
  return all;
}

coro::task<response> search_closures(web_context& context, exchange& ex, wanted_text wanted) {
  if (!keeps_history(context)) return refused(no_history_problem());
  query_check query(ex.req);
  history_query q;
  if (auto const wrong = read_history_query(query, q)) return refused(*wrong);
  core::session_id job{};
  if (auto const text = query.text("job"); !text.empty()) {
    auto const id = server::parse_job(text);
    if (!id) return refused(unknown_id("job", text));
    job = *id;
  }
  auto prepare = [q, job, wanted = std::move(wanted), cluster = std::string(query.text("cluster")),
                  scope = scope_of(context, ex.req)](engine_services& services) {
    std::optional<std::string> only;  // the main cluster has an empty name
    if (!cluster.empty()) {
      auto const pool = services.pools.named(cluster);
      only = pool ? (*pool)->cluster() : cluster;
    }
    auto const main = services.pools.main().state().configuration().cluster;
    return [=, may = visible_clusters(services, scope)](server::history_store const& store) {
      auto page =
          read_page(store, server::history_kind::lines, q, lines_of, [&](found_line const& l) {
            return (job == core::session_id{} || l.job == job) && (!only || l.cluster == *only) &&
                   q.takes(l.line.at) && wanted.is_in(l.line.text) && may(l.cluster);
          });
      for (auto& l : page.items)
        if (l.cluster.empty()) l.cluster = main;
      log_matches found;
      found.lines = std::move(page.items);
      found.next = std::move(page.next);
      return found;
    };
  };
  return answer_from_history<log_matches>(context, ex, std::move(prepare), as_json());
}

coro::task<response> search_logs(web_context& context, exchange& ex) {
  query_check query(ex.req);
  wanted_text wanted{std::string(query.text("text")), query.flag("ignore_case")};
  if (wanted.text.size() > text_bytes_max)
    return refused(impossible("text",
                              "has " + std::to_string(wanted.text.size()) +
                                  " bytes, the limit is " + std::to_string(text_bytes_max),
                              std::to_string(text_bytes_max) + " bytes"));
  if (query.text("program").empty()) return search_closures(context, ex, std::move(wanted));
  for (auto const* const other : {"job", "cluster", "from_ms", "to_ms"})
    if (!query.text(other).empty())
      return refused(impossible(other,
                                "output of a program's ranks cannot be filtered by job, cluster or "
                                "time; with 'program' use 'rank' and 'attempt'"));
  return search_ranks(context, ex, std::move(wanted));
}

}  // namespace

bool wanted_text::is_in(std::string_view line) const {
  if (!ignore_case) return line.find(text) != std::string_view::npos;
  return std::search(line.begin(), line.end(), text.begin(), text.end(),
                     [](char a, char b) { return lower(a) == lower(b); }) != line.end();
}

void members(member_list const& m, found_line const& l) {
  m("time_ms", l.line.at);
  m("cluster", l.cluster);
  m("job", l.job);
  m("closure", l.line.closure);
  m("index", l.line.index, "index of the closure in its job");
  m("attempt", l.line.attempt);
  m("worker", l.line.worker ? std::string_view(*l.line.worker) : std::string_view());
  m("level", l.line.level);
  m("text", l.line.text);
}

void members(member_list const& m, found_rank_line const& l) {
  m("rank", l.rank);
  m("attempt", l.attempt);
  m("task", l.task, "the task that wrote the line");
  m("offset", l.offset, "offset of the line in the output of the rank");
  m("text", to_utf8(l.text));
}

void members(member_list const& m, log_matches const& found) {
  m("lines", found.lines, "lines of closures, oldest first");
  m("rank_lines", found.rank_lines, "lines of a program's ranks, by rank");
  m.some("unread", found.unread, "ranks whose output could not be read, with the reasons");
  m.some("next_page_token", found.next,
         "token of the next page; even an empty page can have a next page");
}

void add_log_search_routes(std::vector<route>& to) {
  to.push_back(
      get("/api/v1/logs/search", search_logs, "searchLogs",
          "Search the stored log lines of closures, or the output of a program's ranks")
          .with({{"text", query_kind::text,
                  "text to find in a line, at most 256 bytes; default: all lines"},
                 {"ignore_case", query_kind::flag, "ignore the case of the letters a to z"},
                 {"program", query_kind::text, "only output of the ranks of this program"},
                 {"attempt", query_kind::number,
                  "attempt of the program; default: the last attempt", 0, UINT32_MAX},
                 {"rank", query_kind::number, "rank of the program; default: all ranks", 0,
                  UINT32_MAX},
                 job_parameter("only lines of this job"),
                 {"cluster", query_kind::text, "only lines of this cluster"},
                 from_parameter,
                 to_parameter,
                 limit_parameter,
                 history_token_parameter})
          .responds_with("LogMatches", schema_of<log_matches>)
          .also(404, "No such job or program")
          .also(409, "The server does not store history")
          .also(422,
                "The text is too long, or `program` is combined with a time, a job or a cluster")
          .also(429, "Too many history requests are waiting"));
}

}  // namespace muster::web

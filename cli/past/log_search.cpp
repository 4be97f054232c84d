#include "cli/past/log_search.hpp"

#include "cli/log_lines.hpp"
#include "cli/programs/program_lookup.hpp"
#include "cli/table.hpp"
#include "cli/words/targets.hpp"

namespace muster::cli {
namespace {

std::string path_of(rest& server, log_search const& s, std::string const& text) {
  auto path = "/api/v1/logs/search?text=" + percent_encoded(text) + "&" + s.when.query(server);
  auto const add = [&path](char const* name, std::string const& value) {
    if (!value.empty()) path += name + ("=" + percent_encoded(value)) + "&";
  };
  if (s.ignore_case) path += "ignore_case=true&";
  if (!s.job.empty())
    add("job", find_target(server, s.job, {target::job}, {.cluster = s.cluster}).id);
  add("cluster", s.cluster);
  if (!s.program.empty())
    add("program", text_of(server.get(path_of_program(server, s.program)), "id"));
  if (s.rank) add("rank", std::to_string(*s.rank));
  if (s.attempt) add("attempt", std::to_string(*s.attempt));
  return path;
}

std::string text_of_match(json::value const& line) {
  if (!field_of(line, "rank").is_null())
    return "[" + rank_label_of(line) + "] " + for_terminal(text_of(line, "text"));
  return local_time(number_of(line, "time_ms")) + "  " + text_of(line, "job") + "  " +
         log_text(line, true);
}

}  // namespace

void add_log_search(CLI::App& verb, log_search& s) {
  verb.add_flag("-i,--ignore-case", s.ignore_case, "search: ignore the case of the letters a to z");
  add_value(verb, "--program", s.program, "PROGRAM",
            "search: search the output of the ranks of this program, in its last attempt");
  add_value(verb, "--rank", s.rank, "N", "For a program: print only this rank");
  add_number(verb, "--attempt", s.attempt, "For a program: print this attempt", 1, UINT32_MAX);
  add_value(verb, "--job", s.job, "JOB", "search: only lines of this job");
  add_value(verb, "--cluster", s.cluster, "NAME", "search: only lines of this cluster");
  add_time_range(verb, s.when, "search: only lines of closures in a time range");
  add_count(verb, "--limit", s.limit, "search: maximum number of lines", 1);
}

int search_logs(server_options const& o, log_search const& s,
                std::vector<std::string> const& words) {
  if (words.size() != 2)
    throw command_error(exit_usage,
                        "search needs exactly one text; put a text with spaces in quotes");
  rest server(o.rest);
  auto const path = path_of(server, s, words[1]);
  std::size_t shown = 0;
  std::string page;
  do {
    auto const left = std::min<std::size_t>(1'000, s.limit - shown);
    auto const found = server.get(
        path + "limit=" + std::to_string(left) + (page.empty() ? page : "&page_token=" + page),
        std::chrono::seconds(60));
    for (auto const* list : {"lines", "rank_lines"})
      for (auto const& line : list_of(found, list)) {
        ++shown;
        if (!printed_as_json(o.output, line)) std::cout << text_of_match(line) << '\n';
      }
    for (auto const& why : list_of(found, "unread"))
      std::cerr << "could not be searched: " << for_terminal(std::string(why.as_string())) << '\n';
    page = text_of(found, "next_page_token");
    std::cout.flush();
  } while (!page.empty() && shown < s.limit && std::cout);
  if (shown == 0) std::cerr << "no line contains the text\n";
  if (!page.empty()) std::cerr << "more lines may match; raise --limit to see them\n";
  return shown > 0 ? exit_ok : exit_failed;
}

}  // namespace muster::cli

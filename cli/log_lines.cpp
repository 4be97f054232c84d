#include "cli/log_lines.hpp"

#include <unistd.h>

#include <iostream>

#include "base/overwritten.hpp"
#include "cli/neutral_text.hpp"
#include "cli/table.hpp"

namespace muster::cli {

std::string log_text(json::value const& line, bool several) {
  std::string who;
  auto const attempt = number_of(line, "attempt");
  if (several) who = "#" + text_of(line, "index") + " " + text_of(line, "worker");
  if (attempt > 1)
    who += std::string(who.empty() ? "" : " ") + "attempt " + std::to_string(attempt);
  auto text = who.empty() ? std::string() : "[" + for_terminal(who) + "] ";
  auto const level = text_of(line, "level");
  if (level == "debug" || level == "warning" || level == "error") text += level + ": ";
  return text + for_terminal(std::string(overwritten(text_of(line, "text"))));
}

bool line_has_ended(json::value const& line) {
  return !text_of(line, "text").ends_with('\r');
}

std::string source_of(json::value const& line) {
  return text_of(line, "closure") + " " + text_of(line, "attempt") + " " + text_of(line, "level");
}

line_printer::line_printer() : terminal_(::isatty(STDOUT_FILENO) == 1) {}

line_printer::~line_printer() {
  end();
}

void line_printer::line(std::string const& source, std::string const& text, bool ended) {
  if (terminal_)
    write_control(last_.show(source, for_terminal(text), ended));
  else
    std::cout << for_terminal(text) << '\n';
}

void line_printer::end() {
  if (terminal_) write_control(last_.end());
}

log_lines_read read_log_page(rest& server, std::string const& id, std::uint64_t after,
                             duration wait, std::uint64_t tail) {
  auto path = (id.starts_with("cl_") ? "/api/v1/closures/" : "/api/v1/jobs/") + percent_encoded(id);
  path += tail > 0 ? "/logs?tail=" + std::to_string(tail)
                   : "/logs?limit=1000&after=" + std::to_string(after);
  if (wait > duration{}) path += "&wait=" + to_string(wait);
  auto const answer = server.get(path, wait + std::chrono::seconds(30));
  return {list_of(answer, "lines"), count_of(answer, "after"), count_of(answer, "dropped"),
          is_true(answer, "ended")};
}

}  // namespace muster::cli

#include "launch/ending.hpp"

#include <sys/wait.h>

#include <cstdio>
#include <cstring>
#include <map>

#include "base/process/child.hpp"

namespace muster::launch {
namespace {

std::string what_became(ending const& e) {
  switch (e.why) {
    case ending::cause::stopped:
      return "stopped";
    case ending::cause::killed:
      return "killed after the grace period";
    case ending::cause::not_started:
      return "not started";
    case ending::cause::itself:
      break;
  }
  return e.status == 0 ? "already succeeded" : describe(e);
}

std::string list(std::vector<std::string> const& names) {
  constexpr std::size_t shown_max = 8;
  std::string text;
  for (std::size_t i = 0; i < names.size() && i < shown_max; ++i)
    text += (i > 0 ? ", " : "") + names[i];
  if (names.size() > shown_max)
    text += " and " + std::to_string(names.size() - shown_max) + " more";
  return text;
}

}  // namespace

void set_status(ending& e, int raw) {
  e.signal = WIFSIGNALED(raw) ? WTERMSIG(raw) : 0;
  e.status = e.signal != 0 ? 128 + e.signal : WEXITSTATUS(raw);
}

std::string start_error(std::string const& command, std::system_error const& e) {
  return status_of_start_error(e.code().value()) == 127 ? "'" + command + "': no such command"
                                                        : e.what();
}

std::string describe(ending const& e) {
  return e.signal != 0 ? signal_name(e.signal) : "exit status " + std::to_string(e.status);
}

std::string seconds(std::chrono::steady_clock::duration d) {
  auto const s = std::chrono::duration<double>(d).count();
  char text[64];
  if (s < 60)
    std::snprintf(text, sizeof text, "%.1f s", s);
  else
    std::snprintf(text, sizeof text, "%lld min %lld s", static_cast<long long>(s) / 60,
                  static_cast<long long>(s) % 60);
  return text;
}

std::string summary(attempt_result const& r) {
  auto const& first = *r.first;
  std::string text;
  if (first.why == ending::cause::not_started) {
    text = first.task + " cannot be started: " + first.last_errors.front();
  } else {
    text = first.task + " failed first, " + seconds(first.after) +
           " after the start: " + describe(first);
    if (!first.last_errors.empty()) text += "\n  last lines on stderr:";
    for (auto const& line : first.last_errors) text += "\n    " + line;
  }
  std::map<std::string, std::vector<std::string>> others;
  for (auto const& e : r.all)
    if (e.task != first.task) others[what_became(e)].push_back(e.task);
  for (auto const& [what, names] : others) text += "\n  " + what + ": " + list(names);
  return text;
}

}  // namespace muster::launch

// How the programs of a run ended, and how to say it. Values; any thread.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

namespace muster::launch {

struct ending {
  enum class cause {
    itself,
    stopped,      // was told to, because another one failed or all others were done
    killed,       // did not stop within the grace period
    not_started,  // `status` is what a shell would answer
  };
  std::string task;
  int status = 0;  // its exit status, 128 + n after signal n
  int signal = 0;  // n
  cause why = cause::itself;
  std::chrono::steady_clock::duration after{};  // since the start
  std::vector<std::string> last_errors{};       // its last lines on stderr; why it did not start
};

struct attempt_result {
  std::vector<ending> all;      // in the order of their ends
  std::optional<ending> first;  // that failed by itself
};

/// From wait().
void set_status(ending& e, int raw);

/// Why a command could not be started, as start_child said it.
std::string start_error(std::string const& command, std::system_error const& e);

/// "exit status 3", "SIGSEGV".
std::string describe(ending const& e);
/// "3.2 s", "2 min 5 s".
std::string seconds(std::chrono::steady_clock::duration d);

/// Who failed first, when and how, its last lines, and what became of the others: several lines.
/// REQUIRES: r.first.
std::string summary(attempt_result const& r);

}  // namespace muster::launch

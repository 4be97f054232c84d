// Results of a run's programs, and descriptions of the results. Thread-safe.
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
    stopped,  // stopped because another program failed or because all other programs had ended
    killed,
    not_started,  // `status` is the status that a shell would return
  };
  std::string task;
  int status = 0;  // exit status, or 128 + n after signal n
  int signal = 0;
  cause why = cause::itself;
  std::chrono::steady_clock::duration after{};
  // Last lines on stderr, or the reason why the program did not start.
  std::vector<std::string> last_errors{};
};

struct attempt_result {
  std::vector<ending> all;
  std::optional<ending> first;  // the first failure; after stop(), the first nonzero status
};

void set_status(ending& e, int raw);

std::string start_error(std::string const& command, std::system_error const& e);

/// Returns a text such as "exit status 3" or "SIGSEGV".
std::string describe(ending const& e);
/// Returns a text such as "3.2 s" or "2 min 5 s".
std::string seconds(std::chrono::steady_clock::duration d);

/// Returns several lines: the first failure, its time, cause and last lines, and how the other
/// programs ended.
/// @pre r.first is set.
std::string summary(attempt_result const& r);

}  // namespace muster::launch

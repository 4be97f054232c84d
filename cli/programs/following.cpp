#include "cli/programs/following.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <iostream>
#include <thread>
#include <utility>

#include "cli/programs/program_lookup.hpp"
#include "cli/programs/rank_log_reader.hpp"
#include "cli/table.hpp"

namespace muster::cli {
namespace {

using namespace std::chrono_literals;

std::atomic<int> signals = 0;

extern "C" void on_program_signal(int number) {
  if (signals.fetch_add(1) >= 2) ::_exit(128 + number);
}

class follower {
 public:
  follower(rest& server, std::string path)
      : server_(server), path_(std::move(path)), logs_(server, path_, {.attempt = 1}) {}

  int run() {
    for (;;) {
      pass_signals_on();
      auto const program = server_.get(path_);
      tell(program);
      auto const attempt = number_of(program, "attempt");
      auto const ranks = attempt > 0 ? ranks_of(server_, path_) : json::array();
      if (auto why = without_preload(ranks); !why.empty() && why != std::exchange(without_, why))
        say("preload: " + why);
      auto const left = logs_.look(program, ranks);
      if (auto const text = logs_.missing(); !text.empty()) say(text);
      if (left == rank_log_reader::left::nothing) {
        explain(attempt);
        return end(program);
      }
      // Many ranks need longer pauses, because each rank needs a query.
      if (left == rank_log_reader::left::waiting) rest_for(300ms + 10ms * ranks.size());
    }
  }

 private:
  void rest_for(std::chrono::milliseconds time) const {
    auto const until = std::chrono::steady_clock::now() + time;
    while (signals == passed_on_ && std::chrono::steady_clock::now() < until)
      std::this_thread::sleep_for(std::min(time, 50ms));
  }

  void pass_signals_on() {
    auto const now = signals.load();
    if (now == passed_on_) return;
    passed_on_ = now;
    say(now == 1 ? "asked to stop; Ctrl-C again cancels it" : "cancelled");
    server_.post(path_ + (now == 1 ? "/stop" : "/cancel"), {});
  }

  void tell(json::value const& program) {
    print_hang(program);
    auto const state = text_of(program, "state");
    auto news = state;
    auto const attempt = number_of(program, "attempt");
    if (attempt > 1) news += ", attempt " + std::to_string(attempt);
    if (auto const why = text_of(program, "waits_for"); !why.empty()) news += ": " + why;
    if (news == told_ || has_ended(program)) return;
    told_ = news;
    say(title_of(program) + " is " + for_terminal(news));
    explain(attempt + (state == "RESTARTING"));
  }

  void print_hang(json::value const& program) {
    auto hang = text_of(field_of(program, "hang"), "text");
    if (hang == hang_) return;
    if (!hang.empty()) say("hangs: " + for_terminal(hang));
    if (hang.empty() && text_of(program, "state") == "RUNNING") say("it is making progress again");
    hang_ = std::move(hang);
  }

  // Prints the reason for an attempt once, even if the attempt began before the first query.
  void explain(std::int64_t attempt) {
    if (attempt <= explained_) return;
    auto const answer = server_.get(path_ + "/attempts");
    for (auto const& a : list_of(answer, "attempts")) {
      auto const number = number_of(a, "attempt");
      if (number < explained_ || number >= attempt) continue;
      if (auto const cause = cause_of(a); !cause.empty()) say(cause);
    }
    explained_ = attempt;
  }

  int end(json::value const& program) {
    say(title_of(program) + " is " + text_of(program, "state"));
    if (auto const cause = cause_of(program); !cause.empty()) say(cause);
    return exit_status_of(program);
  }

  void say(std::string const& text) {
    logs_.begin_row();
    std::cerr << "muster launch: " << text << '\n';
  }

  rest& server_;
  std::string const path_;
  rank_log_reader logs_;
  std::string told_, without_, hang_;
  // Last attempt whose reason was printed; the first attempt has no reason.
  std::int64_t explained_ = 1;
  int passed_on_ = 0;
};

}  // namespace

int follow_program(rest& server, std::string const& path) {
  std::signal(SIGINT, on_program_signal);
  std::signal(SIGTERM, on_program_signal);
  return follower(server, path).run();
}

}  // namespace muster::cli

// A client program of python/tests/transcripts. It schedules fixed calls, prints the results, and
// waits for a line of stdin where the connection is to be cut. To record a version, compile it with
// that version's library.
//
//   transcript_client HOST:PORT coordinator|session
#include <chrono>
#include <cstdio>
#include <future>
#include <iostream>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "muster/cluster_coordinator.hpp"
#include "muster/session.hpp"

namespace {

template <class... Words>
void say(Words const&... words) {
  (std::cout << ... << words) << std::endl;
}

void pause(std::string_view why) {
  say("PAUSE ", why);
  std::string line;
  std::getline(std::cin, line);
}

template <class Wait>
void say_error(Wait wait) {
  try {
    wait();
    say("no error");
  } catch (muster::closure_error const& e) {
    say(e.what(), " (", e.failure().type, ")");
  }
}

void coordinate(std::string const& server) {
  muster::coordinator_options options;
  options.server = server;
  options.name = "transcript";
  muster::cluster_coordinator c(options);

  auto const one = c.schedule<int>("muster.echo", 1);
  auto const list = c.schedule<std::vector<int>>("muster.echo", std::vector{one});
  say("an output as an argument: ", list.fetch().at(0));

  muster::closure_options urgent;
  urgent.priority = 5;
  urgent.max_retries = 1;
  urgent.retry_initial = std::chrono::milliseconds(10);
  say("with options: ", c.with(urgent).schedule<std::string>("muster.echo", "urgent").fetch());
  auto const gang = c.schedule_gang<int>("muster.echo", std::vector{std::tuple{2}, std::tuple{3}});
  say("together: ", gang.at(0).fetch() + gang.at(1).fetch());

  auto const failed = c.schedule<int>("muster.fail", "no such column");
  say_error([&] { c.join(); });
  say_error([&] { failed.fetch(); });

  auto const stopped = c.schedule<boost::json::value>("muster.sleep", "10m");
  pause("started");
  c.cancel();
  say_error([&] { stopped.fetch(); });
  c.join();

  auto const slept = c.schedule<boost::json::value>("muster.sleep", "3s");
  pause("cut");
  slept.fetch();
  say("a value from before: ", c.schedule<int>("muster.echo", one).fetch());
  c.join();
}

void call(std::string const& server) {
  muster::session_options options;
  options.server = server;
  options.name = "transcript";
  options.continue_on_error = true;
  muster::session s(options);

  auto one = s.call<int>("muster.echo", 1);
  say("one: ", one.get());
  auto two = s.call<std::string>("muster.echo", "two");
  say("two: ", two.get());
  auto failed = s.call<int>("muster.fail", "no such column");
  say_error([&] { failed.get(); });
  auto stopped = s.call<boost::json::value>("muster.sleep", "10m");
  pause("started");
  s.cancel();
  say_error([&] { stopped.get(); });
  auto three = s.call<int>("muster.echo", 3);
  say("three: ", three.get());
  say("closed: ", s.close());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: transcript_client HOST:PORT coordinator|session\n");
    return 2;
  }
  try {
    std::string_view(argv[2]) == "session" ? call(argv[1]) : coordinate(argv[1]);
  } catch (std::exception const& e) {
    say("unexpected: ", e.what());
    return 1;
  }
}

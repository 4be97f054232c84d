#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "tests/e2e/cli/run_words.hpp"

namespace muster::e2e {
namespace {

struct cli_names : testing::Test {
  cli_names() {
    c.serve();
    c.worker({"--allow-programs", "--allow-exec", "--host", "host-a", "--index", "3"});
    c.worker({"--host", "host-b", "--index", "4"});
    EXPECT_TRUE(c.await_tasks(2));
  }

  std::string line(words const& all) {
    auto const r = c.run(all);
    EXPECT_EQ(r.status, 0) << all.front() << r.err;
    return r.out.substr(0, r.out.find('\n'));
  }
  std::string job(std::string const& name, words function, words flags = {}) {
    words all{"submit", "--name", name, "--no-wait"};
    all.insert(all.end(), flags.begin(), flags.end());
    all.insert(all.end(), function.begin(), function.end());
    return line(all);
  }
  std::string program(std::string const& name) {
    return line({"launch", "--name", name, "--detach", "--", "sleep", "1000"});
  }
  std::vector<std::string> verbs() {
    std::vector<std::string> all;
    for (auto const& text : lines(c.run({"--help"}).out))
      if (text.size() > 3 && text.starts_with("  ") && text[2] >= 'a' && text[2] <= 'z')
        all.push_back(text.substr(2, text.find(' ', 2) - 2));
    return all;
  }

  cluster c;
};

struct use {
  words by_name, by_id;
  bool same_output = true;  // false if the command changes something
};

TEST_F(cli_names, every_command_accepts_names_for_ids) {
  auto const done = job("nightly", {"muster.echo", "1"});
  auto const failed = job("broken", {"muster.fail", "no"});
  ASSERT_TRUE(c.await_count(done, "succeeded", 1));
  ASSERT_TRUE(c.await_count(failed, "failed", 1));
  auto const waiting = job("endless", {"nobody.has.this"});
  auto const also = job("endless-too", {"nobody.has.this"});
  auto const train = program("train"), second = program("second"), third = program("third");
  auto const cache = line({"per-worker", "create", "--name", "cache", "muster.echo", "1"});
  auto const value = cache.substr(cache.find("pw_"), 19);
  auto const file = c.file("report.html").string();
  std::map<std::string, std::vector<use>> const named{
      {"jobs", {{{"nightly"}, {done}}}},
      {"fetch", {{{"nightly"}, {done}}}},
      {"explain", {{{"broken"}, {failed}}, {{"train"}, {train}}, {{"host-a"}, {"worker:3"}}}},
      {"logs", {{{"nightly"}, {done}}, {{"train"}, {train}}}},
      {"trace", {{{"nightly"}, {done}}}},
      {"retry", {{{"broken"}, {failed}, false}}},
      {"cancel", {{{"endless"}, {also}, false}, {{"second"}, {third}, false}}},
      {"programs", {{{"show", "train"}, {"show", train}}, {{"logs", "train"}, {"logs", train}}}},
      {"stacks", {{{"host-a"}, {"worker:3"}, false}, {{"train"}, {train}, false}}},
      {"postmortem", {{{"train", "-o", file}, {train, "-o", file}, false}}},
      {"per-worker", {{{"show", "cache"}, {"show", value}}}},
      {"cordon", {{{"host-a"}, {"worker:3"}}}},
      {"uncordon", {{{"host-a"}, {"worker:3"}}}},
      {"drain", {{{"host-b"}, {"worker:3"}, false}}},
  };
  // Commands that take only names, or nothing from the server. Programs create objects and
  // datasets: see objects.* and datasets.*.
  std::vector<std::string> const others{
      "serve",    "worker", "run",     "launch",  "submit",     "functions", "objects",
      "datasets", "tasks",  "top",     "events",  "history",    "doctor",    "clusters",
      "barriers", "kv",     "torch",   "resolve", "data",       "token",     "tls",
      "proxy",    "help",   "version", "man",     "completion", "bench",     "queue"};
  for (auto const& verb : verbs()) {
    bool const listed = std::find(others.begin(), others.end(), verb) != others.end();
    EXPECT_NE(named.contains(verb), listed) << verb << ": does it accept names?";
  }
  // The order matters: drain ends the worker.
  for (auto const* verb :
       {"jobs", "fetch", "explain", "logs", "trace", "retry", "programs", "stacks", "postmortem",
        "per-worker", "cancel", "cordon", "uncordon", "drain"})
    for (auto const& [by_name, by_id, same_output] : named.at(verb)) {
      auto run = [&](words all) {
        all.insert(all.begin(), verb);
        return c.run(all);
      };
      auto const a = run(by_name), b = run(by_id);
      EXPECT_EQ(a.status, 0) << verb << " " << by_name.back() << ": " << a.err;
      EXPECT_EQ(b.status, 0) << verb << " " << by_id.back() << ": " << b.err;
      EXPECT_TRUE(!same_output || a.out == b.out) << verb << a.out << b.out;
    }
  EXPECT_EQ(c.get("/api/v1/jobs/" + waiting).at("state"), "CANCELLED");
}

TEST_F(cli_names, ambiguous_name_lists_the_ids) {
  auto const first = job("twin", {"nobody.has.this"}), second = job("twin", {"nobody.has.this"});
  for (auto const* verb : {"explain", "jobs", "logs", "fetch", "cancel", "retry", "trace"}) {
    auto const r = c.run({verb, "twin"});
    EXPECT_EQ(r.status, 2) << verb << r.err;
    EXPECT_TRUE(says(r.err, "'twin' is the name of several entries (2): ") &&
                says(r.err, first + " (job, ") && says(r.err, second) && says(r.err, "; use an id"))
        << verb << r.err;
  }
  EXPECT_EQ(c.run({"cancel", first}).status, 0);
  auto const r = c.run({"cancel", "twin"});
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_TRUE(says(r.out, second)) << "the unfinished job is meant";
  auto const both = program("twin");
  auto const mixed = c.run({"logs", "twin"});
  EXPECT_TRUE(says(mixed.err, both + " (program, ")) << mixed.err;
}

TEST_F(cli_names, name_of_several_programs_means_the_newest) {
  auto const first = program("train"), second = program("train");
  auto const r = c.run({"explain", "train", "--output", "json"});
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_TRUE(says(r.out, second)) << r.out;
  EXPECT_TRUE(says(r.err, second + " is the newest of 2 programs named 'train'")) << r.err;
}

TEST_F(cli_names, unknown_name_is_reported_with_the_accepted_kinds) {
  auto const r = c.run({"explain", "hello"});
  EXPECT_EQ(r.status, 1);
  EXPECT_TRUE(says(r.err, "there is no closure, value, job, program, object or task 'hello'"))
      << r.err;
  EXPECT_TRUE(says(c.run({"cordon", "nowhere"}).err, "there is no task 'nowhere'"));
  auto const other = c.run({"retry", "prog_0000000000000001"});
  EXPECT_EQ(other.status, 2);
  EXPECT_TRUE(says(other.err, "is a program: 'muster programs show prog_")) << other.err;
}

}  // namespace
}  // namespace muster::e2e

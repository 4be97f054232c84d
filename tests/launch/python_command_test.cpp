#include "launch/ranks/python_command.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

#include "launch/ranks/fork_plan.hpp"

namespace muster::launch {
namespace {

using words = std::vector<std::string>;

std::string why_not(words const& command) {
  try {
    python_command_of(command);
    return {};
  } catch (std::invalid_argument const& e) {
    return e.what();
  }
}

TEST(python_commands, are_parsed_as_python_does) {
  auto c = python_command_of({"python", "-uB", "-W", "error", "-Xdev", "t.py", "-m", "x"});
  EXPECT_EQ(c.interpreter, (words{"python", "-uB", "-W", "error", "-Xdev"}));
  EXPECT_EQ(c.mode, 's');
  EXPECT_EQ(c.words, (words{"t.py", "-m", "x"}));
  c = python_command_of({"/opt/bin/python3.11", "-um", "a.b", "--flag"});
  EXPECT_EQ(c.interpreter, (words{"/opt/bin/python3.11", "-u"}));
  EXPECT_EQ(c.mode, 'm');
  EXPECT_EQ(c.words, (words{"a.b", "--flag"}));
  c = python_command_of({"python3", "--check-hash-based-pycs", "never", "-cpass", "-c"});
  EXPECT_EQ(c.interpreter, (words{"python3", "--check-hash-based-pycs", "never"}));
  EXPECT_EQ(c.mode, 'c');
  EXPECT_EQ(c.words, (words{"pass", "-c"}));
}

TEST(python_commands, other_commands_are_refused_with_the_reason) {
  EXPECT_EQ(why_not({"sh", "-c", "python x"}), "the command is not a Python program");
  EXPECT_EQ(why_not({"pythonic", "x"}), "the command is not a Python program");
  EXPECT_EQ(why_not({"venv/bin/python", "x"}), "the path of the interpreter is relative");
  EXPECT_EQ(why_not({"python", "-u"}), "the command runs no script");
  EXPECT_EQ(why_not({"python", "-"}), "the script is read from standard input");
  EXPECT_EQ(why_not({"python", "-ui", "x"}), "python's option -i");
  EXPECT_EQ(why_not({"python", "--help"}), "python's option --help");
  EXPECT_EQ(why_not({"python", "-X"}), "python's last option has no value");
  EXPECT_EQ(why_not({"python", "x.pyc"}), "the script is compiled");
}

start_order order_of(std::string const& more, std::string const& second = "\"python3\", \"b\"") {
  auto const text = R"({"devices": {"0": "0", "1": "1"}, "start": {"attempt": 3, "name": "p",
    "preload": ["numpy"], "task": [{"type": "worker", "address": ["h:1", "h:2"]}],
    "own_service": "h:4", "env": {)" +
                    more + R"(}, "rank": [
    {"rank": 0, "type": "worker", "index": 0, "command": ["python3", "a"]},
    {"rank": 1, "type": "worker", "index": 1, "command": [)" +
                    second + "]}]}}";
  return *parse_order(text, {{"PATH", "/bin"}}).start;
}

TEST(fork_plans, contain_what_all_ranks_and_attempts_share) {
  auto order = order_of(R"("MINE": "1")");
  auto const plan = plan_forks(order);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->interpreter, words{"python3"});
  EXPECT_EQ(plan->modules, words{"numpy"});
  EXPECT_EQ(
      plan->environment,
      (environment_map{
          {"MINE", "1"}, {"MUSTER_PROGRAM", "p"}, {"OMP_NUM_THREADS", "1"}, {"PATH", "/bin"}}));
  EXPECT_EQ(order.ranks[1].python->words, words{"b"});
}

TEST(fork_plans, name_the_reason_for_each_rank_that_is_not_forked) {
  auto order = order_of("", R"("python3", "-O", "b")");
  EXPECT_TRUE(plan_forks(order));
  EXPECT_TRUE(order.ranks[0].python);
  EXPECT_FALSE(order.ranks[1].python);
  EXPECT_EQ(order.ranks[1].not_preloaded,
            "another rank on this worker has a different interpreter or different options");
  order = order_of(R"("PYTHONPATH": "/a:b")");
  EXPECT_FALSE(plan_forks(order));
  EXPECT_EQ(order.ranks[0].not_preloaded, "PYTHONPATH contains a relative directory");
}

}  // namespace
}  // namespace muster::launch

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "tests/e2e/cli/run_words.hpp"

namespace muster::e2e {
namespace {

TEST(cli_messages, help_has_groups) {
  cluster c;
  auto const help = c.run({"--help"}).out;
  auto at = std::size_t{0};
  for (auto const* heading : {"\nStart:\n", "\nRun:\n", "\nInspect:\n", "\nCoordinate:\n",
                              "\nOperate:\n", "\nThis program:\n"}) {
    auto const next = help.find(heading, at);
    ASSERT_NE(next, std::string::npos) << heading << help;
    at = next;
  }
  EXPECT_FALSE(says(help, "Subcommands")) << help;
  EXPECT_LT(help.find("  submit  "), help.find("\nInspect:\n"));
}

TEST(cli_messages, help_is_a_command_and_version_is_a_flag) {
  cluster c;
  for (auto const& [verb, flag] : {std::pair(words{"help"}, words{"--help"}),
                                   std::pair(words{"help", "submit"}, words{"submit", "--help"})}) {
    auto const said = c.run(verb);
    EXPECT_EQ(said.status, 0) << said.err;
    EXPECT_EQ(said.out, c.run(flag).out);
  }
  auto const wrong = c.run({"help", "sumbit"});
  EXPECT_EQ(wrong.status, 2);
  EXPECT_TRUE(says(wrong.err, "there is no command 'sumbit'; did you mean submit?")) << wrong.err;
  auto const version = c.run({"--version"});
  EXPECT_EQ(version.status, 0);
  EXPECT_EQ(version.out.rfind("muster ", 0), 0u) << version.out;
  auto const built = c.run({"version", "--client"}).out;
  EXPECT_EQ(built.rfind(version.out.substr(0, version.out.size() - 1) + " (", 0), 0u) << built;
  EXPECT_TRUE(says(built, "(GCC ") || says(built, "(Clang ")) << built;
}

TEST(cli_messages, misspelt_command_and_missing_value_are_named) {
  cluster c;
  struct wrong {
    words typed;
    std::string said;
  };
  for (auto const& w :
       {wrong{{"sumbit", "muster.echo", "1"},
              "muster: there is no command 'sumbit'; did you mean submit?"},
        wrong{{"status"}, "there is no command 'status'; see 'muster jobs', 'muster tasks'"},
        wrong{{"ps"}, "there is no command 'ps'; see 'muster tasks'"},
        wrong{{"frobnicate"}, "there is no command 'frobnicate' (see 'muster --help')"},
        wrong{{"worker", "--slots"},
              "muster worker: --slots: the value N is missing (see 'muster worker --help')"},
        wrong{{"--url", "x", "tasks"}, "write flags after the command: muster COMMAND --url"},
        wrong{{"tasks", "--ouptut", "json"}, "unknown flag --ouptut; did you mean --output?"},
        wrong{{"submit", "f", "--timeot=1s"}, "unknown flag --timeot; did you mean --timeout?"},
        wrong{{"tasks", "all"}, "unexpected argument 'all'"},
        wrong{{"launch", "--task", "2"}, "unknown flag --task; did you mean --tasks?"},
        wrong{{"events", "--limit", "0"}, "--limit: '0': must be a whole number from 1 to "},
        wrong{{"functions", "--limit", "0"}, "--limit: '0': must be a whole number, at least 1"},
        wrong{{"serve", "--queue-capacity", "-1"},
              "--queue-capacity: '-1': must be a whole number"},
        wrong{{"serve", "--value-bytes-max", "1XB"},
              "--value-bytes-max: '1XB' is not a size; write "},
        wrong{{"serve", "--auth", "maybe"}, "--auth: 'maybe' is not one of auto, on, off"},
        wrong{{"worker", "--slots", "x"}, "--slots: 'x': must be a whole number from 1 to "},
        wrong{{"worker", "--slots", "4", "--credits", "1"},
              "--credits: 1, must be at least the number of slots"},
        wrong{{"worker", "--server", "http://127.0.0.1:8476"},
              "--server: 'http://127.0.0.1:8476' is an HTTP address; write the gRPC address as "
              "HOST:PORT"},
        wrong{{"worker", "--server", "host"},
              "--server: 'host' has no port; write the gRPC address as HOST:PORT"},
        wrong{{"worker", "--server", "a:1,:8476"}, "--server: ':8476' has no host; "},
        wrong{{"worker", "--server", "host:99999"}, "'host:99999' has no port from 1 to 65535"},
        wrong{{"retry", "obj_0000000000000001"}, "is an object: 'muster objects show obj_"},
        wrong{{"run", "--server", "http://127.0.0.1:1", "--", "true"},
              "--server: 'http://127.0.0.1:1' is an HTTP address"},
        wrong{{"fetch", "prog_0000000000000001"}, "is a program: 'muster programs show prog_"},
        wrong{{"serve", "--grpc", "nowhere"}, "--grpc: "},
        wrong{{"serve", "--heartbeat-timeout", "15x"}, "--heartbeat-timeout: "},
        wrong{{"tasks", "--url", "127.0.0.1:80"}, "'127.0.0.1:80': expected http://HOST:PORT"},
        wrong{{"serve", "--cluster", "worker=4"}, "write NAME:JOB=N, as in train:worker=4"}}) {
    auto const r = c.run(w.typed);
    EXPECT_EQ(r.status, 2) << w.typed.front();
    EXPECT_TRUE(says(r.err, w.said)) << r.err;
    EXPECT_EQ(lines(r.err).size(), 1u) << r.err;
  }
}

TEST(cli_messages, unwritable_output_is_an_error) {
  auto const status = [](std::string const& rest) {
    auto const ended = std::system(("'" MUSTER_BINARY "' " + rest).c_str());
    return WIFEXITED(ended) ? WEXITSTATUS(ended) : -1;
  };
  EXPECT_EQ(status("version --client > /dev/null"), 0);
  EXPECT_EQ(status("version --client > /dev/full 2> /dev/null"), 1);
  EXPECT_EQ(status("--help > /dev/full 2> /dev/null"), 1);
}

struct cli_messages_served : testing::Test {
  cluster c;
  cli_messages_served() {
    c.serve();
    c.worker({"--allow-exec"});
    EXPECT_TRUE(c.await_tasks(1));
  }
};

TEST_F(cli_messages_served, unreadable_map_is_an_error) {
  auto const r =
      c.run({"submit", "muster.echo", "--map", std::filesystem::temp_directory_path().string()});
  EXPECT_EQ(r.status, 1) << r.out;
  EXPECT_TRUE(says(r.err, "cannot be read completely")) << r.err;
}

TEST_F(cli_messages_served, functions_are_listed_with_their_arguments) {
  EXPECT_EQ(c.run({"submit", "muster.echo", "1", "--timeout", "20s"}).status, 0);
  auto const table = c.run({"functions"});
  EXPECT_EQ(table.status, 0) << table.err;
  EXPECT_EQ(table.out.rfind("FUNCTION", 0), 0u) << table.out;
  for (auto const* part : {"muster.echo", "VALUE", "text.word_count", "PATH of a file", "check="})
    EXPECT_TRUE(says(table.out, part)) << part << table.out;
  auto const all = boost::json::parse(c.run({"functions", "--output", "json"}).out).as_array();
  EXPECT_EQ(all.size(), 7u);
  auto const few = c.run({"functions", "--limit", "2"});
  EXPECT_EQ(lines(few.out).size(), 3u) << few.out;
  EXPECT_TRUE(says(few.err, "--limit")) << few.err;
}

TEST_F(cli_messages_served, error_of_the_server_names_the_flag) {
  auto const r = c.run({"submit", "muster.echo", "1", "--max-retries", "99999999"});
  EXPECT_TRUE(says(r.err, "muster submit: --max-retries: expected a whole number from 0 to 10000"))
      << r.err;
  auto const late = c.run({"launch", "--tasks", "1", "--grace", "100d", "--", "true"});
  EXPECT_TRUE(says(late.err, "muster launch: --grace: must not be longer than 1 hour")) << late.err;
}

TEST_F(cli_messages_served, values_and_programs_can_be_explained) {
  auto const job = c.run({"submit", "muster.echo", "1", "--no-wait"}).out;
  auto const closures = "/api/v1/jobs/" + job.substr(0, job.size() - 1) + "/closures?limit=1";
  auto const closure =
      boost::json::value_to<std::string>(c.get(closures).at("closures").as_array().at(0).at("id"));
  ASSERT_EQ(c.run({"fetch", "rv_" + closure.substr(3)}).status, 0);
  auto const by_value = c.run({"explain", "rv_" + closure.substr(3)});
  EXPECT_EQ(by_value.status, 0) << by_value.err;
  EXPECT_EQ(by_value.out, c.run({"explain", closure}).out);
  auto const program = c.run({"launch", "--tasks", "1", "--detach", "--", "true"}).out;
  auto const explained = c.run({"explain", program.substr(0, program.size() - 1)});
  EXPECT_EQ(explained.status, 0) << explained.err;
  EXPECT_TRUE(says(explained.out, " is PENDING: no worker")) << explained.out;
}

TEST_F(cli_messages_served, nonzero_exit_status_fails_the_job_unless_check_is_off) {
  auto const failing = R"(["sh","-c","echo first >&2; echo no such file >&2; exit 3"])";
  auto const r = c.run({"submit", "muster.exec", failing, "--timeout", "20s"});
  EXPECT_EQ(r.status, 1);
  EXPECT_TRUE(says(r.err, "sh: exit status 3; standard error ends with:\nfirst\nno such file"))
      << r.err;
  EXPECT_EQ(c.run({"submit", "muster.exec", failing, "--check", "--timeout", "20s"}).status, 1);
  auto const unchecked =
      c.run({"submit", "muster.exec", failing, "--no-check", "--timeout", "20s"});
  EXPECT_EQ(unchecked.status, 0) << unchecked.err;
  EXPECT_TRUE(says(unchecked.out, "\"exit_code\":3")) << unchecked.out;
  auto const text = c.run({"submit", "muster.exec", "ls", "--timeout", "20s"});
  EXPECT_TRUE(says(text.err,
                   "argument 1 (argv): expected an array of strings, such as [\"ls\", \"-l\"]; "
                   "got \"ls\""))
      << text.err;
  auto const lines_of = c.write("lines", std::string("[") + failing + "]\n");
  EXPECT_EQ(c.run({"submit", "muster.exec", "--map", lines_of, "--timeout", "20s"}).status, 1);
  EXPECT_EQ(
      c.run({"submit", "muster.exec", "--map", lines_of, "--no-check", "--timeout", "20s"}).status,
      0);
  EXPECT_EQ(c.run({"submit", "muster.exec", R"(["true"])", "--check", "--timeout", "20s"}).status,
            0);
  auto const other = c.run({"submit", "muster.echo", "1", "--check"});
  EXPECT_EQ(other.status, 2);
  EXPECT_TRUE(says(other.err, "--check and --no-check are for muster.exec")) << other.err;
}

TEST_F(cli_messages_served, malformed_json_argument_causes_a_note) {
  auto const r = c.run({"submit", "muster.echo", "{\"a\": 1", "--timeout", "20s"});
  EXPECT_EQ(r.status, 0);
  EXPECT_EQ(r.out, "\"{\\\"a\\\": 1\"\n");
  EXPECT_TRUE(
      says(r.err,
           "the argument {\"a\": 1 begins like JSON but is not valid JSON; it is sent as a string"))
      << r.err;
  EXPECT_EQ(c.run({"submit", "muster.echo", "[1]", "x{", "--timeout", "20s"}).err, "");
}

TEST_F(cli_messages_served, argument_with_invalid_utf8_is_named) {
  auto const r = c.run({"submit", "muster.echo", "caf\xe9", "--timeout", "20s"});
  EXPECT_EQ(r.status, 2);
  EXPECT_TRUE(says(r.err, "not valid UTF-8, near")) << r.err;
  EXPECT_TRUE(says(r.err, "caf\ufffd")) << r.err;
}

TEST_F(cli_messages_served, interrupted_submit_names_the_job_that_continues) {
  auto& submit = c.program({MUSTER_BINARY, "submit", "muster.sleep", "60000", "--url", c.url()});
  std::string id;
  ASSERT_TRUE(await([&] {
    auto const jobs = c.get("/api/v1/jobs").at("jobs").as_array();
    if (jobs.empty()) return false;
    id = boost::json::value_to<std::string>(jobs[0].at("id"));
    return c.await_count(id, "running", 1);
  }));
  // The signal can arrive before the command has read the answer with the id.
  ASSERT_TRUE(await([&] {
    auto const status = read_file("/proc/" + std::to_string(submit.pid()) + "/status");
    auto const at = status.find("SigCgt:");
    return at != std::string::npos && (std::stoull(status.substr(at + 7), nullptr, 16) & 2u) != 0;
  }));
  submit.signal(SIGINT);
  EXPECT_EQ(submit.wait(), 128 + SIGINT);
  EXPECT_TRUE(says(submit.errors(), "job " + id + " continues; ")) << submit.errors();
  EXPECT_TRUE(says(submit.errors(), "'muster cancel " + id + "' stops it")) << submit.errors();
  EXPECT_EQ(c.run({"cancel", id}).out, id + " was asked to stop\n");
  ASSERT_TRUE(c.await_count(id, "cancelled", 1));
  EXPECT_EQ(c.run({"cancel", id}).out, id + " had already ended: CANCELLED\n");
}

// The job has ended while its results are printed, here into a pipe without a reader.
TEST_F(cli_messages_served, interrupted_output_of_a_finished_job_mentions_no_job) {
  auto const path = c.file("fifo");
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  int const reader = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  spawn_options o;
  o.arguments = {MUSTER_BINARY, "submit", "muster.echo", std::string(100'000, 'x'),
                 "--url",       c.url()};
  o.output = path;
  o.errors = c.file("errors");
  process submit(std::move(o));
  pollfd printed{reader, POLLIN, 0};
  ASSERT_EQ(::poll(&printed, 1, 20'000), 1) << submit.errors();
  submit.signal(SIGINT);
  EXPECT_EQ(submit.wait(), 128 + SIGINT);
  EXPECT_EQ(submit.errors(), "");
  ::close(reader);
}

TEST(cli_messages_queue, unlimited_queue_is_accepted_and_logged) {
  cluster c;
  auto& server = c.serve({"--queue-capacity", "0"});
  auto const f = c.run({"submit", "muster.echo", "1", "--no-wait"});
  EXPECT_EQ(f.status, 0) << f.err;
  EXPECT_TRUE(says(server.output() + server.errors(),
                   "job queues are not limited individually max=16777216"))
      << server.errors();
}

}  // namespace
}  // namespace muster::e2e

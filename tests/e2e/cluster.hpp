// Runs a server, its workers and the command line as real processes on ports that are reserved for
// them.
#pragma once

#include <boost/json.hpp>
#include <deque>
#include <string>
#include <vector>

#include "base/http_client/http_client.hpp"
#include "tests/e2e/process.hpp"
#include "tests/support/reserved_port.hpp"

namespace muster::e2e {

using words = std::vector<std::string>;

struct finished {
  int status = -1;
  std::string out, err;
};

class cluster {
 public:
  /// Starts `muster serve` with these flags, and waits until it is ready.
  process& serve(words const& flags = {}) { return serve_behind({}, flags); }
  /// Starts `muster serve` through the command `before`, and waits until it is ready.
  process& serve_behind(words const& before, words const& flags = {});
  /// Starts `muster serve` at `grpc` and `http`, and does not wait.
  process& spawn(words const& words_after_muster,
                 std::vector<std::pair<std::string, std::string>> environment = {});
  process& worker(words const& flags = {});
  process& program(words const& arguments,
                   std::vector<std::pair<std::string, std::string>> environment = {});
  /// Starts muster through the command `before`, such as `ip netns exec NAME`.
  process& spawn_behind(words const& before, words const& words_after_muster);
  /// Runs a command against this server until it ends.
  finished run(words const& words_after_muster, std::filesystem::path const& input = {},
               std::vector<std::pair<std::string, std::string>> environment = {});

  std::string text(std::string const& path);
  boost::json::value get(std::string const& path);
  unsigned status_of(std::string const& path);
  /// Sends JSON, and expects success.
  boost::json::value post(std::string const& path, std::string body);
  /// Waits until `count` tasks of the default cluster have this state.
  bool await_tasks(std::size_t count, std::string const& state = "CONNECTED");
  boost::json::array tasks();
  /// Waits until `field` of the job's counts is at least `n`.
  bool await_count(std::string const& job, std::string const& field, std::int64_t n);

  std::string const& grpc() const { return grpc_; }
  std::string const& http() const { return http_; }
  std::string url() const { return "http://" + http_; }
  std::filesystem::path file(std::string const& name) const { return directory_ / name; }
  std::filesystem::path write(std::string const& name, std::string const& text) const;

 private:
  bool read_ready_file();

  temporary_directory directory_;
  test::reserved_port grpc_port_, http_port_;
  std::string grpc_ = grpc_port_.address(), http_ = http_port_.address();
  bool ready_ = false;  // a server has been ready
  std::deque<process> processes_;
  muster::http_client client_;
  std::size_t serial_ = 0;
};

}  // namespace muster::e2e

#include "tests/e2e/process.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <stdexcept>
#include <thread>

namespace muster::e2e {
namespace {

constexpr auto look_again = 5ms;

void redirect(std::filesystem::path const& path, int flags, int to) {
  auto const* name = path.empty() ? "/dev/null" : path.c_str();
  int const fd = ::open(name, flags, 0644);
  if (fd < 0 || ::dup2(fd, to) < 0) ::_exit(127);
  ::close(fd);
}

[[noreturn]] void become(spawn_options const& o) {
  redirect(o.input, O_RDONLY, STDIN_FILENO);
  redirect(o.output, O_WRONLY | O_CREAT | O_APPEND, STDOUT_FILENO);
  redirect(o.errors, O_WRONLY | O_CREAT | O_APPEND, STDERR_FILENO);
  for (auto const& [name, value] : o.environment) ::setenv(name.c_str(), value.c_str(), 1);
  std::vector<char*> arguments;
  for (auto const& a : o.arguments) arguments.push_back(const_cast<char*>(a.c_str()));
  arguments.push_back(nullptr);
  ::execv(arguments[0], arguments.data());
  ::_exit(127);
}

}  // namespace

bool await(std::function<bool()> const& condition, std::chrono::milliseconds limit) {
  auto const end = std::chrono::steady_clock::now() + limit;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(look_again);
  }
  return true;
}

char process_state(pid_t pid) {
  auto const stat = read_file("/proc/" + std::to_string(pid) + "/stat");
  auto const behind = stat.rfind(") ");  // the process name can contain any character
  return behind == std::string::npos ? 'X' : stat.at(behind + 2);
}

bool alive(pid_t pid) {
  auto const state = process_state(pid);
  return state != 'Z' && state != 'X';
}

pid_t first_child_of(pid_t parent) {
  // Each thread lists the children that it started.
  pid_t oldest = 0;
  std::error_code ignored;
  for (auto const& thread :
       std::filesystem::directory_iterator("/proc/" + std::to_string(parent) + "/task", ignored)) {
    auto const child = std::atoi(read_file(thread.path() / "children").c_str());
    if (child != 0 && (oldest == 0 || child < oldest)) oldest = child;
  }
  return oldest;
}

process::process(spawn_options options) : options_(std::move(options)), pid_(::fork()) {
  if (pid_ == 0) become(options_);
  if (pid_ < 0) throw std::runtime_error("fork failed");
}

process::process(process&& other) noexcept
    : options_(std::move(other.options_)),
      pid_(std::exchange(other.pid_, -1)),
      status_(other.status_) {}

process::~process() {
  if (pid_ < 0 || !running()) return;
  ::kill(pid_, SIGKILL);
  wait();
}

void process::signal(int number) const {
  ::kill(pid_, number);
}

void process::kill_at_once() {
  signal(SIGKILL);
  EXPECT_TRUE(wait().has_value());
}

bool process::running() {
  if (status_) return false;
  int raw = 0;
  if (::waitpid(pid_, &raw, WNOHANG) != pid_) return true;
  status_ = WIFEXITED(raw) ? WEXITSTATUS(raw) : 128 + WTERMSIG(raw);
  return false;
}

std::optional<int> process::wait(std::chrono::milliseconds limit) {
  await([this] { return !running(); }, limit);
  return status_;
}

::testing::AssertionResult process::says(std::string_view text) const {
  await([&] { return errors().find(text) != std::string::npos; });
  return test::contains(errors(), text);
}

}  // namespace muster::e2e

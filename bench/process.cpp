// Child processes by fork and exec; their memory and time from /proc.
#include "bench/process.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <thread>
#include <utility>

namespace muster::bench {

using namespace std::chrono_literals;

// A child dies with its parent, so that an interrupted benchmark leaves no processes.
process::process(std::vector<std::string> const& argv) {
  std::vector<char*> pointers;
  for (auto const& a : argv) pointers.push_back(const_cast<char*>(a.c_str()));
  pointers.push_back(nullptr);
  pid_ = fork();
  if (pid_ < 0)
    throw std::runtime_error("cannot start " + argv.front() + ": " + std::strerror(errno));
  if (pid_ > 0) return;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  int const null = open("/dev/null", O_WRONLY);
  if (null >= 0) dup2(null, STDOUT_FILENO);
  execv(argv.front().c_str(), pointers.data());
  _exit(127);
}

process::process(process&& other) noexcept : pid_(std::exchange(other.pid_, -1)) {}

process::~process() {
  stop(0ms);
}

bool process::running() {
  if (pid_ < 0) return false;
  if (waitpid(pid_, nullptr, WNOHANG) == 0) return true;
  pid_ = -1;
  return false;
}

void process::kill(int signal) {
  if (running()) ::kill(pid_, signal);
}

void process::stop(std::chrono::milliseconds grace) {
  kill(SIGTERM);
  auto const end = std::chrono::steady_clock::now() + grace;
  while (running() && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(5ms);
  if (!running()) return;
  ::kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

std::size_t process::resident_bytes() const {
  return resident_bytes_of(pid_);
}

std::chrono::microseconds process::cpu_time() const {
  return cpu_time_of(pid_);
}

std::size_t resident_bytes_of(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/statm");
  std::size_t total = 0, resident = 0;
  file >> total >> resident;
  return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

// Uses the process's own clock, in nanoseconds; /proc/PID/stat counts in hundredths of a second.
std::chrono::microseconds cpu_time_of(pid_t pid) {
  clockid_t clock{};
  timespec used{};
  if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &used) != 0) return {};
  return std::chrono::duration_cast<std::chrono::microseconds>(
      std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec));
}

std::string this_program() {
  char path[4096];
  auto const n = readlink("/proc/self/exe", path, sizeof path);
  if (n <= 0) throw std::runtime_error("cannot find the path of this program");
  return std::string(path, static_cast<std::size_t>(n));
}

std::string wait_for_file(std::string const& path, process& owner, std::chrono::seconds limit) {
  auto const end = std::chrono::steady_clock::now() + limit;
  while (access(path.c_str(), R_OK) != 0) {
    if (!owner.running()) throw std::runtime_error("the server ended before it was ready");
    if (std::chrono::steady_clock::now() > end)
      throw std::runtime_error("the server was not ready in time");
    std::this_thread::sleep_for(2ms);
  }
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace muster::bench

#include "client/programs/launchers.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/write.hpp>
#include <map>
#include <system_error>
#include <thread>
#include <utility>

#include "base/process/child.hpp"
#include "base/process/line_splitter.hpp"
#include "client/log_line.hpp"

namespace muster {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

constexpr std::size_t report_bytes_max = std::size_t{1} << 20;

// Variables that ranks inherit from the worker; an allowlist, so that no credentials leak.
constexpr char const* inherited[] = {
    "PATH",       "HOME",        "USER",        "LOGNAME",         "SHELL",
    "LANG",       "TZ",          "TMPDIR",      "LD_LIBRARY_PATH", "LANGUAGE",
    "PYTHONPATH", "VIRTUAL_ENV", "CONDA_PREFIX"};

environment_map environment_of_ranks() {
  auto const all = current_environment();
  environment_map chosen;
  for (auto const* name : inherited)
    if (auto const it = all.find(name); it != all.end()) chosen.insert(*it);
  for (auto const& [name, value] : all)
    if (name.starts_with("LC_")) chosen[name] = value;
  return chosen;
}

struct reader {
  reader(asio::io_context& io, line_splitter::line_function f)
      : pipe(io), lines(std::move(f), report_bytes_max) {}
  asio::posix::stream_descriptor pipe;
  line_splitter lines;
  std::array<char, std::size_t{16} << 10> buffer;
};

struct launcher {
  launcher(asio::io_context& io, line_splitter::line_function report)
      : orders(io), reports(io, std::move(report)), errors(io, [this](std::string_view line) {
          last_error = line;
          log(log_level::warning, "rank launcher: " + std::string(line));
        }) {}
  asio::posix::stream_descriptor orders;
  reader reports, errors;
  std::string waiting, writing;  // orders, a few hundred bytes each
  std::string last_error;
  pid_t pid = 0;
};

// The launcher receives the read end.
std::pair<file_descriptor, file_descriptor> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    throw std::system_error(errno, std::generic_category(), "pipe");
  return {file_descriptor(ends[0]), file_descriptor(ends[1])};
}

}  // namespace

struct launchers::state {
  state(std::vector<std::string> words, callbacks c)
      : program(std::move(words)), on(std::move(c)), work(io.get_executor()) {}

  void start(std::uint64_t id, std::string order) {
    auto const early = expected.extract(id);
    ++given[id];
    if (closing) return on.on_gone(id, given[id], false, "the worker is leaving");
    if (auto const it = all.find(id); it != all.end()) return say(it->second, order, early);
    auto made = std::make_shared<launcher>(
        io, [this, id](std::string_view line) { on.on_report(id, std::string(line)); });
    try {
      auto [reading, writing] = make_pipe();
      auto c = start_child({.argv = program,
                            .environment = environment_of_ranks(),
                            .cwd = "/",
                            .in = reading.get()});
      made->pid = c.pid;
      made->orders.assign(writing.release());
      made->reports.pipe.assign(c.out.release());
      made->errors.pipe.assign(c.err.release());
    } catch (std::exception const& e) {
      return on.on_gone(id, given[id], false,
                        std::string("the launcher cannot be started: ") + e.what());
    }
    all[id] = made;
    read(made, made->errors, [] {});
    read(made, made->reports, [this, id] { gone(id); });
    say(made, order, early);
  }

  using waiting_lines = std::map<std::uint64_t, std::vector<std::string>>;

  void say(std::shared_ptr<launcher> const& to, std::string const& order,
           waiting_lines::node_type const& early) {
    tell(to, order);
    if (early)
      for (auto const& line : early.mapped()) tell(to, line);
  }

  // There is no deadline, because ranks can run indefinitely.
  void read(std::shared_ptr<launcher> const& of, reader& r, std::function<void()> ended) {
    r.pipe.async_read_some(asio::buffer(r.buffer), [this, of, &r, ended = std::move(ended)](
                                                       error_code error, std::size_t n) mutable {
      if (error) return ended();
      r.lines.add({r.buffer.data(), n});
      read(of, r, std::move(ended));
    });
  }

  void tell(std::shared_ptr<launcher> const& l, std::string order) {
    l->waiting += std::move(order) + "\n";
    if (l->writing.empty()) write(l);
  }

  void write(std::shared_ptr<launcher> const& l) {
    l->writing = std::exchange(l->waiting, {});
    asio::async_write(l->orders, asio::buffer(l->writing),
                      [this, l](error_code error, std::size_t) {
                        l->writing.clear();
                        if (!error && !l->waiting.empty()) write(l);
                      });
  }

  // Called when both processes have closed their output, so the second process is about to exit.
  void gone(std::uint64_t id) {
    auto const it = all.find(id);
    if (it == all.end()) return;
    auto const ended = it->second;
    all.erase(it);
    error_code ignored;
    ended->orders.close(ignored);
    ended->errors.pipe.close(ignored);
    int raw = 0;
    ::waitpid(ended->pid, &raw, 0);
    bool const well = WIFEXITED(raw) && WEXITSTATUS(raw) == 0;
    auto const& why = ended->last_error;
    if (!expected.contains(id))  // otherwise the launcher is being restarted
      on.on_gone(id, given[id], true, well ? "" : why.empty() ? "the launcher was killed" : why);
    if (closing && all.empty()) work.reset();
  }

  void end() {
    closing = true;
    error_code ignored;
    for (auto const& [id, l] : all) l->orders.close(ignored);
    if (all.empty()) work.reset();
  }

  std::vector<std::string> const program;
  callbacks const on;
  asio::io_context io{1};
  asio::executor_work_guard<asio::io_context::executor_type> work;
  std::map<std::uint64_t, std::shared_ptr<launcher>> all;
  waiting_lines expected;  // orders to send after the start
  std::map<std::uint64_t, std::uint32_t> given;
  asio::thread_pool disk{1};
  bool closing = false;
  std::thread thread;
};

launchers::launchers(std::vector<std::string> program, callbacks c)
    : state_(std::make_unique<state>(std::move(program), std::move(c))) {
  state_->thread = std::thread([s = state_.get()] { s->io.run(); });
}

launchers::~launchers() {
  close();
}

void launchers::start(std::uint64_t id, std::string order) {
  post([s = state_.get(), id, order = std::move(order)] { s->start(id, order); });
}

void launchers::expect(std::uint64_t id) {
  post([s = state_.get(), id] { s->expected[id]; });
}

void launchers::forget(std::uint64_t id) {
  post([s = state_.get(), id] {
    s->expected.erase(id);
    s->given.erase(id);
  });
}

void launchers::tell(std::uint64_t id, std::string order) {
  post([s = state_.get(), id, order = std::move(order)] {
    if (auto const it = s->expected.find(id); it != s->expected.end())
      return it->second.push_back(order);
    if (auto const it = s->all.find(id); it != s->all.end()) s->tell(it->second, order);
  });
}

void launchers::dismiss(std::uint64_t id) {
  post([s = state_.get(), id] {
    error_code ignored;
    if (auto const it = s->all.find(id); it != s->all.end() && !s->expected.contains(id))
      it->second->orders.close(ignored);
  });
}

void launchers::post_to_disk(std::function<void()> work) {
  asio::post(state_->disk, std::move(work));
}

void launchers::post(std::function<void()> work) {
  asio::post(state_->io, std::move(work));
}

void launchers::close() {
  if (!state_->thread.joinable()) return;
  state_->disk.join();
  post([s = state_.get()] { s->end(); });
  state_->thread.join();
}

}  // namespace muster

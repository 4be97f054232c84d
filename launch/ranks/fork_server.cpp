#include "launch/ranks/fork_server.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>
#include <charconv>
#include <cstring>
#include <system_error>
#include <utility>

#include "launch/ending.hpp"

extern char const muster_fork_server_code[];

namespace muster::launch {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

constexpr std::chrono::minutes import_patience{5};
constexpr std::chrono::seconds fork_patience{30};
constexpr std::chrono::milliseconds rest_patience{100};  // time limit for reading the last output
constexpr std::size_t asked_max = 8;  // number of requests that fit into the socket's buffer

constexpr char const* start_of_code =
    "import sys;exec(compile(sys.argv.pop(1),'<muster>','exec'),{'__name__':'muster_fork_server'})";

std::pair<file_descriptor, file_descriptor> make_sockets(int type) {
  int ends[2];
  if (::socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends) != 0)
    throw std::system_error(errno, std::generic_category(), "socketpair");
  return {file_descriptor(ends[0]), file_descriptor(ends[1])};
}

std::pair<file_descriptor, file_descriptor> make_output() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    throw std::system_error(errno, std::generic_category(), "pipe");
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  return {file_descriptor(ends[0]), file_descriptor(ends[1])};
}

// Returns the input of begin() in fork_server.py.
file_descriptor description_of(rank_role const& role) {
  auto const& python = *role.python;
  auto const& environment = role.program.environment;
  std::string text = role.program.cwd;
  auto const add = [&text](std::string const& more) { (text += '\0') += more; };
  add(std::string(1, python.mode));
  add(std::to_string(environment.size()));
  add(std::to_string(python.words.size()));
  for (auto const& [name, value] : environment) add(name + "=" + value);
  for (auto const& word : python.words) add(word);
  for (auto const& word : role.program.argv) add(word);
  auto file = opened(::memfd_create("rank", MFD_CLOEXEC), "memfd");
  for (std::size_t done = 0; done < text.size();) {
    auto const n = ::write(file.get(), text.data() + done, text.size() - done);
    if (n <= 0) throw std::system_error(errno, std::generic_category(), "memfd");
    done += static_cast<std::size_t>(n);
  }
  ::lseek(file.get(), 0, SEEK_SET);
  return file;
}

bool send_descriptors(int to, std::array<int, 4> const& fds) {
  char word = 'r';
  iovec bytes{&word, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof fds)] = {};
  msghdr message{};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  auto* const header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof fds);
  std::memcpy(CMSG_DATA(header), fds.data(), sizeof fds);
  return ::sendmsg(to, &message, MSG_NOSIGNAL | MSG_DONTWAIT) == 1;
}

// Returns whether the PID is a child of this process. User code reports the PID, and signals are
// sent to its process group. A fork becomes a child before it reports.
bool is_child(pid_t pid) {
  siginfo_t about{};
  return ::waitid(P_PID, static_cast<id_t>(pid), &about, WEXITED | WNOHANG | WNOWAIT) == 0;
}

}  // namespace

bool forked_rank::let_go() const {
  return ::kill(process.pid, 0) == 0 && ::send(line.get(), "g", 1, MSG_NOSIGNAL) == 1;
}

struct fork_server::request {
  request(asio::io_context& io, rank_role const& r, on_forked d)
      : role(r), done(std::move(d)), line(io), patience(io) {}
  rank_role role;
  on_forked done;
  file_descriptor out, err;
  asio::posix::stream_descriptor line;
  asio::steady_timer patience;
  std::array<char, 32> answer{};
};

fork_server::fork_server(asio::io_context& io, fork_plan plan)
    : io_(io),
      plan_(std::move(plan)),
      line_(io),
      out_(io),
      err_(io),
      out_lines_([](std::string_view) {}),
      err_lines_([this](std::string_view line) { last_error_ = line; }),
      patience_(io) {
  try {
    start();
  } catch (std::system_error const& e) {
    asio::post(io_, [this, why = start_error(plan_.interpreter.front(), e)] { gone(why); });
  }
}

fork_server::~fork_server() {
  if (pid_ != 0) ::kill(-pid_, SIGKILL);
}

void fork_server::start() {
  auto [own, other] = make_sockets(SOCK_SEQPACKET);
  auto argv = plan_.interpreter;
  for (auto const* word : {"-c", start_of_code, muster_fork_server_code}) argv.emplace_back(word);
  argv.insert(argv.end(), plan_.modules.begin(), plan_.modules.end());
  auto c = start_child({.argv = std::move(argv),
                        .environment = plan_.environment,
                        .cwd = "/",
                        .user = plan_.user,
                        .in = other.get(),
                        .dies_with_thread = true,
                        .keeps_ignored_signals = true});
  pid_ = c.pid;
  line_.assign(own.release());
  out_.assign(c.out.release());
  err_.assign(c.err.release());
  listen();
  patience_.expires_after(import_patience);
  patience_.async_wait([this](error_code error) {
    if (!error) gone("the imports took longer than 5 minutes");
  });
}

void fork_server::listen() {
  line_.async_read_some(asio::buffer(answer_), [this](error_code error, std::size_t n) {
    if (error == asio::error::operation_aborted) return;
    if (error) return closed_unexpectedly();
    std::string_view const said(answer_.data(), n);
    if (said != "ready") return gone(std::string(said));
    settle({});
    listen();
  });
  if (is_ready_) return;
  read_output(out_, out_lines_);
  read_output(err_, err_lines_);
}

// Discards the modules' output, except the last line, which explains why the process exited.
void fork_server::read_output(asio::posix::stream_descriptor& from, line_splitter& lines) {
  auto& buffer = &from == &out_ ? out_buffer_ : err_buffer_;
  from.async_read_some(asio::buffer(buffer), [&, this](error_code error, std::size_t n) {
    if (error) return;
    lines.add({buffer.data(), n});
    read_output(from, lines);
  });
}

void fork_server::settle(std::string why_not) {
  patience_.cancel();
  is_ready_ = true;
  why_not_ = std::move(why_not);
  if (on_settled_) std::exchange(on_settled_, {})();
}

void fork_server::gone(std::string why) {
  if (pid_ != 0) ::kill(-std::exchange(pid_, 0), SIGKILL);
  error_code ignored;
  for (auto* s : {&line_, &out_, &err_}) s->close(ignored);
  settle(why);
  for (auto const& r : std::set(asked_)) finish(r, {});
  send_next();
}

void fork_server::closed_unexpectedly() {
  killed_ = true;
  bool const says_why = !is_ready_ && !last_error_.empty();
  gone(says_why ? last_error_ : "the fork server was killed");
}

void fork_server::ended(pid_t pid) {
  if (pid_ == 0 || pid != pid_) return;
  patience_.expires_after(rest_patience);
  patience_.async_wait([this](error_code error) {
    if (!error) closed_unexpectedly();
  });
}

void fork_server::notify_when_ready(std::function<void()> settled) {
  on_settled_ = std::move(settled);
  if (!is_ready_) return;
  asio::post(io_, [this] {
    if (on_settled_) std::exchange(on_settled_, {})();
  });
}

void fork_server::fork(rank_role const& role, on_forked done) {
  waiting_.push_back(std::make_shared<request>(io_, role, std::move(done)));
  asio::post(io_, [this] { send_next(); });
}

void fork_server::send_next() {
  while (!waiting_.empty() && asked_.size() < asked_max) {
    auto const r = waiting_.front();
    waiting_.pop_front();
    asked_.insert(r);
    try {
      send(r);
    } catch (std::exception const&) {
      finish(r, {});
    }
  }
}

// Closes the other side's descriptors here, so that reads end when the rank exits.
void fork_server::send(request_ptr const& r) {
  if (!why_not_.empty()) return finish(r, {});
  auto [own, others] = make_sockets(SOCK_STREAM);
  auto [out, out_writing] = make_output();
  auto [err, err_writing] = make_output();
  auto const description = description_of(r->role);
  r->line.assign(own.release());
  r->out = std::move(out);
  r->err = std::move(err);
  if (!send_descriptors(line_.native_handle(),
                        {description.get(), out_writing.get(), err_writing.get(), others.get()}))
    return finish(r, {});
  r->patience.expires_after(fork_patience);
  r->patience.async_wait([this, r](error_code error) {
    if (!error) finish(r, {});
  });
  await_pid(r);
}

void fork_server::await_pid(request_ptr const& r) {
  r->line.async_read_some(asio::buffer(r->answer), [this, r](error_code error, std::size_t n) {
    if (error == asio::error::operation_aborted) return;
    pid_t pid = 0;
    std::from_chars(r->answer.data(), r->answer.data() + n, pid);
    if (error || pid <= 1 || pid == pid_ || !is_child(pid)) return finish(r, {});
    finish(r, forked_rank{{pid, std::move(r->out), std::move(r->err)},
                          file_descriptor(r->line.release())});
  });
}

void fork_server::finish(request_ptr const& r, std::optional<forked_rank> result) {
  if (asked_.erase(r) == 0) return;
  r->patience.cancel();
  error_code ignored;
  r->line.close(ignored);
  if (r->done) std::exchange(r->done, {})(std::move(result));
  send_next();
}

void fork_server::forget() {
  on_settled_ = {};
  waiting_.clear();
  for (auto const& r : asked_) r->done = {};
}

}  // namespace muster::launch

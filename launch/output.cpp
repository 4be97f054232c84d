#include "launch/output.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <utility>

namespace muster::launch {
namespace {

// Omits red, which would look like an error.
constexpr char const* colours[] = {"\x1b[36m", "\x1b[33m", "\x1b[32m", "\x1b[35m", "\x1b[34m"};

std::string prefix_of(std::string const& name, std::size_t number, bool colour) {
  auto const* on = colour ? colours[number % std::size(colours)] : "";
  return on + name + " |" + (colour ? "\x1b[0m" : "") + " ";
}

std::string source_of(std::size_t task, output::stream s) {
  return std::to_string(task) + (s == output::stream::err ? "e" : "o");
}

constexpr std::uint64_t hole_bytes = std::uint64_t{1} << 20;

// Returns "worker-3.log" for "worker:3". A role name can contain any characters.
std::string file_name(std::string name) {
  for (auto& c : name)
    if (c == ':' || c == '/' || c == '\0') c = '-';
  if (name.starts_with(".")) name.front() = '-';
  return name + ".log";
}

}  // namespace

output::output(boost::asio::io_context& io, output_options o)
    : io_(io), options_(std::move(o)), writer_(callbacks()) {
  if (options_.directory.empty()) return;
  std::error_code error;
  std::filesystem::create_directories(options_.directory, error);
  if (error)
    throw std::runtime_error("--output-dir " + options_.directory + ": " + error.message());
}

descriptor_writer::callbacks output::callbacks() {
  namespace asio = boost::asio;
  return {[this] {
            asio::post(io_, [this] {
              if (resume) resume();
            });
          },
          [this] {
            asio::post(io_, [this] {
              if (done_) done_();
            });
          },
          [this](int fd, int error) { asio::post(io_, [=, this] { broken(fd, error); }); }};
}

std::size_t output::add_task(std::string const& name) {
  if (auto const known = numbers_.find(name); known != numbers_.end()) return known->second;
  auto const number = tasks_.size();
  task t;
  if (options_.prefix) {
    t.prefix[0] = prefix_of(name, number, options_.colour_out);
    t.prefix[1] = prefix_of(name, number, options_.colour_err);
  }
  if (!options_.directory.empty()) {
    t.path = (std::filesystem::path(options_.directory) / file_name(name)).string();
    t.file = file_descriptor(
        ::open(t.path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0644));
    if (!t.file)
      throw std::runtime_error("--output-dir: cannot write " + t.path + ": " +
                               std::strerror(errno));
  }
  tasks_.push_back(std::move(t));
  numbers_[name] = number;
  return number;
}

void output::line(std::size_t number, stream s, std::string_view text) {
  auto& t = tasks_[number];
  if (options_.shown)
    show(s, source_of(number, s), t.prefix[s == stream::err] + std::string(text), true);
  if (t.file) store(t, std::string(text) + '\n');
}

void output::unfinished(std::size_t number, stream s, std::string_view text) {
  auto& t = tasks_[number];
  text = text.substr(0, unfinished_bytes_max);
  if (is_terminal(s))
    show(s, source_of(number, s), t.prefix[s == stream::err] + std::string(text), false);
  if (t.file && !options_.shown) store(t, std::string(text) + '\r');
}

void output::show(stream s, std::string_view source, std::string_view line, bool ended) {
  auto const fd = s == stream::err ? STDERR_FILENO : STDOUT_FILENO;
  writer_.post(fd, is_terminal(s) ? last_.show(source, line, ended) : std::string(line) + '\n');
}

void output::store(task& t, std::string_view line) {
  writer_.post(t.file.get(), line);
  t.bytes += line.size();
  auto const max = options_.file_bytes_max;
  if (max == 0 || t.bytes < t.gone + max + hole_bytes) return;
  t.gone += hole_bytes;
  ::fallocate(t.file.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
              static_cast<off_t>(t.gone));
}

void output::mark(std::function<void()> written) {
  writer_.mark([this, written = std::move(written)] { boost::asio::post(io_, written); });
}

void output::say(std::string_view text) {
  show(stream::err, {}, "muster run: " + std::string(text), true);
}

void output::broken(int fd, int error) {
  auto const t = std::find_if(tasks_.begin(), tasks_.end(),
                              [fd](auto const& one) { return one.file.get() == fd; });
  if (t != tasks_.end())
    say(t->path + ": " + std::strerror(error) + "; the output of the task is no longer stored");
}

void output::finish(std::function<void()> done) {
  if (abandoned_) {
    boost::asio::post(io_, std::move(done));
    return;
  }
  done_ = std::move(done);
  writer_.finish();
}

void output::abandon() {
  abandoned_ = true;
  writer_.abandon();
  if (done_) boost::asio::post(io_, std::exchange(done_, {}));
}

}  // namespace muster::launch

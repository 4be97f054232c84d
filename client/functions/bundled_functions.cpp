#include "client/functions/bundled_functions.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <unordered_map>

#include "base/process/file_descriptor.hpp"
#include "base/process/process.hpp"
#include "base/text.hpp"
#include "base/utf8.hpp"
#include "muster/function_error.hpp"

namespace muster {
namespace {

namespace json = boost::json;

constexpr double sleep_ms_max = 7.0 * 24 * 3600 * 1000;
constexpr std::size_t chunk_bytes = std::size_t{256} << 10;

[[noreturn]] void throw_cancelled() {
  throw function_error(failure_kind::cancelled, "cancelled");
}

double span_in_ms(json::value const& span) {
  if (auto const* text = span.if_string())
    if (auto const parsed = parse_duration(std::string_view(*text)))
      return std::chrono::duration<double, std::milli>(*parsed).count();
  boost::system::error_code not_a_number;
  auto const ms = span.to_number<double>(not_a_number);
  return not_a_number ? -1 : ms;
}

void sleep(context& c, json::value const& span) {
  auto const ms = span_in_ms(span);
  if (!(ms >= 0 && ms <= sleep_ms_max))
    throw function_error(failure_kind::input,
                         "argument 1: expected 0 to 604800000 ms, or a string such as \"250ms\"");
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  never.wait_for(lock, c.stop_token(), std::chrono::duration<double, std::milli>(ms),
                 [] { return false; });
  if (c.cancelled()) throw_cancelled();
}

void fail(std::string const& message, std::optional<std::vector<std::string>> const& dependencies) {
  if (dependencies) throw dependency_lost(*dependencies, message);
  throw function_error(message, "muster.fail");
}

json::object worker_info(context& c) {
  char host[256] = {};
  gethostname(host, sizeof host - 1);
  return {{"job", c.job()},
          {"index", c.index()},
          {"slots", c.worker().slots},
          {"credits", c.worker().credits},
          {"incarnation", hex16(c.worker().incarnation)},
          {"host", to_utf8(host)},
          {"pid", getpid()},
          {"server", c.worker().server},
          {"server_version", c.server_version()}};
}

// Returns the letter in lower case, or 0 if `c` is not a letter.
char letter(char c) {
  if (c >= 'a' && c <= 'z') return c;
  if (c >= 'A' && c <= 'Z') return static_cast<char>(c - 'A' + 'a');
  return 0;
}

json::object word_count(context& c, std::string const& path) {
  json::object counts;
  auto const words = count_words(path, c.stop_token());
  if (c.cancelled()) throw_cancelled();
  counts.reserve(words.size());
  for (auto const& [word, count] : words) counts.emplace(word, count);
  return counts;
}

/// Returns a message such as "make: exit status 2: no rule to make target", with the last lines of
/// standard error. If standard error has several lines, they start on a new line.
std::string failed_program(std::vector<std::string> const& argv, process_end const& end) {
  constexpr int lines_shown = 5;
  auto tail = to_utf8(end.stderr_tail);
  while (!tail.empty() && (tail.back() == '\n' || tail.back() == '\r')) tail.pop_back();
  auto begin = tail.size();
  for (int i = 0; i < lines_shown && begin != 0; ++i) {
    auto const end_of_line = tail.rfind('\n', begin - 1);
    begin = end_of_line == tail.npos ? 0 : end_of_line;
  }
  tail.erase(0, tail.starts_with('\n') || begin > 0 ? begin + 1 : 0);
  auto const text = argv.front() + ": exit status " + std::to_string(end.exit_code);
  if (tail.empty()) return text;
  bool const several = tail.find('\n') != tail.npos;
  return text + (several ? "; standard error ends with:\n" : ": ") + tail;
}

std::vector<std::string> words_of(json::value const& argv) {
  auto words = json::try_value_to<std::vector<std::string>>(argv);
  if (words && !words->empty()) return std::move(*words);
  auto const shown = json::serialize(argv);
  throw function_error(failure_kind::input,
                       "argument 1 (argv): expected an array of strings, such as [\"ls\", \"-l\"]; "
                       "got " +
                           shortened(shown, 60),
                       "muster::argument_error");
}

json::object exec(context& c, json::value const& command,
                  std::optional<std::map<std::string, std::string>> const& env,
                  std::optional<std::string> const& cwd,
                  std::optional<std::string> const& standard_input,
                  std::optional<bool> const& check) {
  auto const argv = words_of(command);
  process_options options;
  options.argv = argv;
  if (env) options.env = *env;
  if (cwd) options.cwd = *cwd;
  if (standard_input) options.standard_input = *standard_input;
  options.on_line = [&c](process_stream from, std::string_view line) {
    c.output(from == process_stream::out ? output_stream::standard_output
                                         : output_stream::standard_error,
             line);
  };
  auto const end = run_process(options, c.stop_token());
  if (c.cancelled()) throw_cancelled();
  if (check.value_or(true) && end.exit_code != 0)
    throw function_error(failed_program(argv, end), "muster.exec");
  return {{"exit_code", end.exit_code},
          {"stdout_tail", to_utf8(end.stdout_tail)},
          {"stderr_tail", to_utf8(end.stderr_tail)}};
}

}  // namespace

std::map<std::string, std::uint64_t> count_words(std::string const& path, std::stop_token stop) {
  auto const fail = [&path] { throw std::system_error(errno, std::generic_category(), path); };
  file_descriptor const file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) fail();

  std::unordered_map<std::string, std::uint64_t> counts;
  std::string word;  // can span chunks
  std::vector<char> chunk(chunk_bytes);
  while (!stop.stop_requested()) {
    auto const got = read(file.get(), chunk.data(), chunk.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail();
    if (got == 0) break;
    for (ssize_t i = 0; i < got; ++i) {
      if (char const c = letter(chunk[static_cast<std::size_t>(i)])) {
        word += c;
      } else if (!word.empty()) {
        ++counts[word];
        word.clear();
      }
    }
  }
  if (!word.empty()) ++counts[word];
  return {counts.begin(), counts.end()};
}

void add_bundled_functions(worker& w, bundled_options options) {
  w.quick_raw_function("muster.noop", [](context&, value_view, value&) {});
  w.quick_raw_function("muster.echo", echo);
  w.function("muster.sleep", sleep, {"ms"});
  w.function("muster.fail", fail, {"message", "dependencies"});
  w.function("muster.worker_info", worker_info);
  w.function("text.word_count", word_count, {"path"});
  if (options.allow_exec) w.function("muster.exec", exec, {"argv", "env", "cwd", "stdin", "check"});
}

}  // namespace muster

// Fuzzes configuration files of `muster serve --config`. The input is the file. It is parsed, and
// then read through the flags of the commands, from a file in memory.
//
// Checked properties:
// - A refusal has the exit status for wrong usage. Its message begins with the file and a line
//   that the file has.
// - Each setting has a line and a value. Settings that are written again are read unchanged.
// - The settings that `--print-config` shows are a configuration file with the same values.
#include <sys/mman.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/process/file_descriptor.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/settings.hpp"
#include "cli/words/config_file.hpp"
#include "tests/fuzz/require.hpp"

namespace {

using namespace muster::cli;
using fuzz::require;

std::size_t lines_in(std::string_view text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')) + 1;
}

void check_refusal(command_error const& e, std::string const& path, std::size_t lines) {
  require(e.status() == exit_usage, "a wrong configuration file is a wrong usage");
  std::string_view message = e.what();
  require(message.starts_with(path + ":"), "the message begins with the file");
  message.remove_prefix(path.size() + 1);
  auto const line = muster::parse_number(message.substr(0, message.find(':')));
  require(line && *line >= 1 && *line <= lines, "the message has a line of the file");
}

std::optional<config_file> parsed(std::string const& text, std::string const& path) {
  std::istringstream stream(text);
  try {
    return parse_config(stream, path);
  } catch (command_error const& e) {
    check_refusal(e, path, lines_in(text));
    return {};
  }
}

// Returns the settings as text. Each has its section before its name, because a section in a
// setting can contain characters that a section in brackets cannot.
std::string written(config_file const& f) {
  std::string text;
  for (auto const& [at, value] : f.settings) {
    auto const& [section, key] = at;
    text += "\"" + (section.empty() ? key : section + "." + key) + "\" = [";
    for (auto const& one : value.texts) text += config_text(one) + ", ";
    text += "]\n";
  }
  return text;
}

void check_settings(config_file const& f, std::size_t lines) {
  for (auto const& [at, value] : f.settings) {
    require(value.line >= 1 && value.line <= lines, "a setting has a line of the file");
    require(!value.texts.empty(), "a setting has a value");
  }
  auto const again = parsed(written(f), "written");
  require(again.has_value(), "settings that are written are read");
  require(std::equal(f.settings.begin(), f.settings.end(), again->settings.begin(),
                     again->settings.end(),
                     [](auto const& a, auto const& b) {
                       return a.first == b.first && a.second.texts == b.second.texts;
                     }),
          "settings that are written are read unchanged");
}

// The command line, with the commands that the examples configure. All inputs share it, because its
// construction takes longer than reading a file.
class command_line {
 public:
  command_line() {
    add_serve(app_, chosen_);
    add_worker(app_, chosen_);
    install_settings(app_);
    file_ = muster::file_descriptor(::memfd_create("configuration", MFD_CLOEXEC));
    require(static_cast<bool>(file_), "the system has memory files");
    path_ = "/proc/self/fd/" + std::to_string(file_.get());
  }

  std::string const& path() const { return path_; }
  CLI::App const& serve() const { return *app_.get_subcommand("serve"); }
  void read(std::string const& text) {
    bool const is_written =
        ::ftruncate(file_.get(), 0) == 0 &&
        ::pwrite(file_.get(), text.data(), text.size(), 0) == static_cast<ssize_t>(text.size());
    require(is_written, "the file is written");
    app_.parse(std::vector<std::string>{path_, "--config", "serve"});  // in reverse order
  }

 private:
  CLI::App app_{"", "muster"};
  choice chosen_;
  muster::file_descriptor file_;
  std::string path_;
};

void check_printed(CLI::App const& serve) {
  auto const printed = parsed(settings_of(serve), "printed");
  require(printed.has_value(), "printed settings are a configuration file");
  for (auto const* option : serve.get_options()) {
    auto const& names = option->get_lnames();
    if (option->results().empty() || !option->get_configurable() || names.empty()) continue;
    auto const* const shown = printed->find("serve", names.front());
    require(shown && shown->texts == option->results(), "printed settings have the same values");
  }
}

void read_as_server(std::string const& text) {
  static command_line shared;
  try {
    shared.read(text);
  } catch (command_error const& e) {
    return check_refusal(e, shared.path(), lines_in(text));
  } catch (CLI::ParseError const&) {  // refused by a rule for several flags
    return;
  }
  check_printed(shared.serve());
}

// Resolvers can read files and the environment.
bool has_resolver(config_file const& f) {
  return std::any_of(f.settings.begin(), f.settings.end(),
                     [](auto const& s) { return s.first.second == "cluster-from"; });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  std::string const text(reinterpret_cast<char const*>(data), size);
  auto const f = parsed(text, "muster.toml");
  if (!f) return 0;
  check_settings(*f, lines_in(text));
  if (!f->settings.empty() && !has_resolver(*f)) read_as_server(text);
  return 0;
}

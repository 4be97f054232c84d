// Columns are counted in characters, because every character of the help is one column wide.
#include "cli/tree/help_formatter.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <sstream>
#include <vector>

namespace muster::cli {
namespace {

constexpr std::size_t columns_min = 40, columns_max = 100;

std::size_t characters(std::string const& text) {
  auto const begins = [](unsigned char c) { return (c & 0xc0) != 0x80; };
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), begins));
}

std::vector<std::string> lines_of(std::string const& text) {
  std::vector<std::string> lines;
  std::istringstream all(text);
  for (std::string line; std::getline(all, line);) lines.push_back(std::move(line));
  return lines;
}

// Returns whether the line was broken only because the next word did not fit.
bool goes_on(std::string const& line, std::string const& next) {
  constexpr std::size_t full = 70;
  return characters(line) > full && !next.empty() && next.front() != ' ' && next.back() != ':' &&
         !next.starts_with("Exit");
}

std::string indented(std::string const& line, std::size_t columns) {
  auto const begin = line.find_first_not_of(' ');
  auto const gap = line.find("  ", begin);
  auto const text = gap == line.npos ? begin : line.find_first_not_of(' ', gap);
  if (text == line.npos) return line;
  auto const head = line.substr(0, text);
  auto const at = characters(head);
  return head + wrapped(line.substr(text), columns, gap == line.npos ? at + 2 : at, at);
}

// Returns whether the line is a command that users paste unchanged.
bool is_command(std::string const& line, std::string const& before) {
  return line.find("muster ") != line.npos || before.ends_with('\\');
}

}  // namespace

std::size_t help_columns() {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return columns_max;
  return std::clamp<std::size_t>(size.ws_col, columns_min, columns_max);
}

std::string wrapped(std::string const& text, std::size_t columns, std::size_t indent,
                    std::size_t at) {
  std::string all;
  std::istringstream words(text);
  bool first = true;
  for (std::string word; words >> word; first = false) {
    auto const length = characters(word);
    if (!first && at + 1 + length > columns) {
      all += "\n" + std::string(indent, ' ');
      at = indent;
    } else if (!first) {
      all += ' ';
      ++at;
    }
    all += word;
    at += length;
  }
  return all;
}

help_formatter::help_formatter(std::size_t columns) : columns_(columns) {
  column_width(columns < 80 ? 18 : 30);
}

std::string help_formatter::make_description(CLI::App const* app) const {
  std::string all;
  for (auto const& line : lines_of(app->get_description()))
    all += wrapped(line, columns_, 0, 0) + "\n";
  return all;
}

std::string help_formatter::make_usage(CLI::App const* app, std::string name) const {
  auto usage = CLI::Formatter::make_usage(app, std::move(name));
  // CLI11 does not show arguments that a verb parses by itself.
  if (app->get_prefix_command())
    usage += " [--] COMMAND…";
  else if (app->get_allow_extras())
    usage += " [ARG…]";
  return wrapped(usage, columns_, 7, 0) + "\n";
}

std::string help_formatter::in_two_columns(std::string const& left,
                                           std::string const& right) const {
  auto text = "  " + wrapped(left, columns_, 6, 2);
  auto const column = get_column_width();
  auto const used = characters(text);
  bool const below = used + 1 > column || text.find('\n') != text.npos;
  auto lines = lines_of(right);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    bool const beside = i == 0 && !below;
    text += (beside ? std::string() : "\n") + std::string(beside ? column - used : column, ' ');
    text += wrapped(lines[i], columns_, column, column);
  }
  return text + "\n";
}

std::string help_formatter::make_help(CLI::App const* app, std::string name,
                                      CLI::AppFormatMode mode) const {
  brief_ = app->get_help_all_ptr() != nullptr && mode != CLI::AppFormatMode::All;
  left_out_ = 0;
  auto text = CLI::Formatter::make_help(app, std::move(name), mode);
  for (auto at = text.find("\n\n\n"); at != text.npos; at = text.find("\n\n\n")) text.erase(at, 1);
  return text;
}

std::string help_formatter::make_group(std::string group, bool is_positional,
                                       std::vector<CLI::Option const*> options) const {
  bool const rare = group == "Limits" || group == "Advanced";
  if (!brief_ || !rare)
    return CLI::Formatter::make_group(std::move(group), is_positional, std::move(options));
  left_out_ += options.size();
  return {};
}

std::string help_formatter::make_subcommand(CLI::App const* verb) const {
  return in_two_columns(verb->get_display_name(true), verb->get_description());
}

std::string help_formatter::make_option(CLI::Option const* option, bool is_positional) const {
  return in_two_columns(make_option_name(option, is_positional) + make_option_opts(option),
                        make_option_desc(option));
}

std::string help_formatter::make_footer(CLI::App const* app) const {
  std::string all, paragraph;
  if (left_out_ > 0)
    all +=
        wrapped(std::to_string(left_out_) + " more flags (limits and rarely used flags): muster " +
                    app->get_name() + " --help-all",
                columns_, 0, 0) +
        "\n\n";
  auto const lines = lines_of(app->get_footer());
  for (std::size_t i = 0; i < lines.size(); ++i) {
    auto const& line = lines[i];
    if (line.starts_with(' ')) {
      bool const pasted = is_command(line, i > 0 ? lines[i - 1] : std::string());
      all += (pasted ? line : indented(line, columns_)) + "\n";
      continue;
    }
    paragraph += (paragraph.empty() ? "" : " ") + line;
    if (i + 1 < lines.size() && goes_on(line, lines[i + 1])) continue;
    all += wrapped(paragraph, columns_, 0, 0) + "\n";
    paragraph.clear();
  }
  return all;
}

}  // namespace muster::cli

// What --help looks like: CLI11's layout, its lines broken to fit the terminal.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace muster::cli {

/// Columns of the terminal that stdout is, at most 100; of what is no terminal 100.
std::size_t help_columns();

/// Words of `text` in lines of `columns`, those after the first behind `indent` spaces. A word that
/// is longer than a line has one of its own. `at`: what the first line has before it.
std::string wrapped(std::string const& text, std::size_t columns, std::size_t indent,
                    std::size_t at);

class help_formatter : public CLI::Formatter {
 public:
  explicit help_formatter(std::size_t columns);

  std::string make_description(CLI::App const* app) const override;
  std::string make_usage(CLI::App const* app, std::string name) const override;
  std::string make_subcommand(CLI::App const* verb) const override;
  /// --help of a verb with --help-all leaves out the groups "Limits" and "Advanced".
  std::string make_help(CLI::App const* app, std::string name,
                        CLI::AppFormatMode mode) const override;
  std::string make_group(std::string group, bool is_positional,
                         std::vector<CLI::Option const*> options) const override;
  std::string make_option(CLI::Option const* option, bool is_positional) const override;
  /// Lines that are as long as the source's are one paragraph with the next. Commands, which are to
  /// be pasted, stay as they are.
  std::string make_footer(CLI::App const* app) const override;

 private:
  std::string in_two_columns(std::string const& left, std::string const& right) const;

  std::size_t columns_;
  mutable bool brief_ = false;        // while make_help runs
  mutable std::size_t left_out_ = 0;  // flags, until the footer
};

}  // namespace muster::cli

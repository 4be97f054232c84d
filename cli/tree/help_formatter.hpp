// CLI11's layout of --help, wrapped to the terminal's width.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace muster::cli {

/// Returns the width of the terminal on stdout, at most 100; returns 100 without a terminal.
std::size_t help_columns();

/// Wraps `text` to `columns`, with all but the first line indented. `at` is the number of columns
/// already used on the first line.
std::string wrapped(std::string const& text, std::size_t columns, std::size_t indent,
                    std::size_t at);

class help_formatter : public CLI::Formatter {
 public:
  explicit help_formatter(std::size_t columns);

  std::string make_description(CLI::App const* app) const override;
  std::string make_usage(CLI::App const* app, std::string name) const override;
  std::string make_subcommand(CLI::App const* verb) const override;
  /// Omits the groups "Limits" and "Advanced" if the command has --help-all.
  std::string make_help(CLI::App const* app, std::string name,
                        CLI::AppFormatMode mode) const override;
  std::string make_group(std::string group, bool is_positional,
                         std::vector<CLI::Option const*> options) const override;
  std::string make_option(CLI::Option const* option, bool is_positional) const override;
  /// Joins full lines into paragraphs. Commands stay unchanged, for pasting.
  std::string make_footer(CLI::App const* app) const override;

 private:
  std::string in_two_columns(std::string const& left, std::string const& right) const;

  std::size_t columns_;
  mutable bool brief_ = false;
  mutable std::size_t left_out_ = 0;
};

}  // namespace muster::cli

// Prints the output of a program's ranks as lines that begin with the rank. Includes attempts that
// begin and end between two queries. A terminal also shows incomplete lines. Used on the main
// thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/process/line_splitter.hpp"
#include "cli/log_lines.hpp"
#include "cli/rest.hpp"

namespace muster::cli {

struct rank_logs_asked {
  std::int64_t attempt = 0;            // attempt to read first; 0 means the last attempt
  std::optional<std::int64_t> rank{};  // if not set, all ranks are printed
  bool one_attempt = false;
  bool once = false;
};

class rank_log_reader {
 public:
  rank_log_reader(rest& server, std::string path, rank_logs_asked asked)
      : server_(server), path_(std::move(path)), asked_(asked), attempt_(asked.attempt) {}

  enum class left {
    more,
    waiting,  // a later query may return more
    nothing   // complete, or the remaining output is unavailable
  };
  /// Prints new output. `program` and `ranks` are the server's answers; query `program` first.
  left look(json::value const& program, json::array const& ranks);
  void begin_row() { printer_.end(); }
  /// Prints incomplete lines that will not be completed.
  void finish();
  /// Describes output that was unavailable since the last call; can be empty.
  std::string missing() { return std::exchange(missing_, {}); }

 private:
  struct rank {
    std::string label;
    std::uint64_t offset = 0;
    std::optional<std::uint64_t> size{};
    bool complete = false;
    bool gone = false;  // the server reports that the log is unavailable
    std::unique_ptr<line_splitter> lines{};
  };
  /// Returns the ranks by number, with the known labels.
  std::map<std::int64_t, std::string> ranks_to_ask(json::array const& ranks, bool last);
  left read_all_logs(json::array const& ranks, bool last, bool over);
  void print(rank const& r, std::string_view line);
  bool look(rank& r, std::int64_t number, bool over);
  void end_attempt();

  rest& server_;
  std::string const path_;
  rank_logs_asked const asked_;
  std::int64_t attempt_;
  std::optional<std::int64_t> count_{};  // number of ranks; not set for the last attempt
  int polls_after_end_ = 0;              // queries since the attempt ended
  line_printer printer_;
  std::map<std::int64_t, rank> ranks_;
  std::string why_, missing_;
};

/// Prints the output of one rank or all ranks, from one attempt or the last attempt. With `follow`,
/// continues until the program or the given attempt ends.
/// @throws request_error if the rank or the attempt does not exist
void print_program_logs(rest& server, std::string const& path, std::optional<std::uint32_t> rank,
                        std::optional<std::uint32_t> attempt, bool follow);

}  // namespace muster::cli

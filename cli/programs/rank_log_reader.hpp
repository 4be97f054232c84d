// What the ranks of a program print, piece by piece, as lines with the rank in front: attempt after
// attempt, also of those that began and ended between two looks. A terminal also shows lines that
// have not ended. Main thread.
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
  std::int64_t attempt = 0;            // to begin with; 0: the last one
  std::optional<std::int64_t> rank{};  // without it all
  bool one_attempt = false;            // none but it
  bool once = false;                   // what there is now, and no more
};

class rank_log_reader {
 public:
  /// `path`: of the program.
  rank_log_reader(rest& server, std::string path, rank_logs_asked asked)
      : server_(server), path_(std::move(path)), asked_(asked), attempt_(asked.attempt) {}

  enum class left {
    more,     // there is more just now
    waiting,  // another look in a while may tell more
    nothing   // it is all, or what is missing cannot be had
  };
  /// Prints what is new. `program` and `ranks` as the server tells of them; the program was asked
  /// for before.
  left look(json::value const& program, json::array const& ranks);
  /// Begins a new row if the last line has not ended, for text of the caller.
  void begin_row() { printer_.end(); }
  /// Prints lines that have begun and will not end.
  void finish();
  /// What could not be had since it was asked, in words; empty: nothing.
  std::string missing() { return std::exchange(missing_, {}); }

 private:
  struct rank {
    std::string label;
    std::uint64_t offset = 0;
    std::optional<std::uint64_t> size{};  // when it was first looked at
    bool complete = false;
    bool gone = false;  // its server says that it cannot be had
    std::unique_ptr<line_splitter> lines{};
  };
  /// The ranks to ask for, by number, each with its name as far as that is known.
  std::map<std::int64_t, std::string> ranks_to_ask(json::array const& ranks, bool last);
  left look_at_all(json::array const& ranks, bool last, bool over);
  void print(rank const& r, std::string_view line);
  /// True: there is more just now.
  bool look(rank& r, std::int64_t number, bool over);
  void end_attempt();

  rest& server_;
  std::string const path_;
  rank_logs_asked const asked_;
  std::int64_t attempt_;                 // that is looked at
  std::optional<std::int64_t> count_{};  // ranks of it, when it is not the last
  int looks_ = 0;                        // since it was over
  line_printer printer_;
  std::map<std::int64_t, rank> ranks_;
  std::string why_, missing_;
};

/// Prints the output of the ranks of the program at `path`: of one rank or of all, of one attempt
/// or of the last one. `follow`: until the program, or the attempt that was asked for, ends.
/// Errors: request_error, for a rank or an attempt that there is not.
void print_program_logs(rest& server, std::string const& path, std::optional<std::uint32_t> rank,
                        std::optional<std::uint32_t> attempt, bool follow);

}  // namespace muster::cli

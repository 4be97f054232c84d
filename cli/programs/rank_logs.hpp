// What the ranks of a program print, piece by piece, as whole lines with the rank in front. Main
// thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "cli/rest.hpp"
#include "process/line_splitter.hpp"

namespace muster::cli {

class rank_logs {
 public:
  /// `path`: of the program.
  rank_logs(rest& server, std::string path) : server_(server), path_(std::move(path)) {}

  /// Prints what is new of those ranks, as the server lists them. True: there may be more.
  bool look(json::array const& ranks, std::int64_t attempt);

 private:
  struct rank {
    std::uint64_t offset = 0;
    bool complete = false;
    std::unique_ptr<line_splitter> lines;
  };
  /// True: there is more just now.
  bool look(rank& r, std::int64_t number, std::int64_t attempt);

  rest& server_;
  std::string const path_;
  std::int64_t attempt_ = 0;
  std::map<std::int64_t, rank> ranks_;
};

}  // namespace muster::cli

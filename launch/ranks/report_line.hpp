// Reports of the launcher of a program's ranks to its worker: one JSON object per line on standard
// output, in order. Never blocks on a worker that does not read. The launcher owns it and uses it
// on its thread.
//
//   {"started": {"rank": 3, "pid": 4711, "not_preloaded": ""}}
//   {"ended": {"rank": 3, "exit_status": 1, "stderr": ["…"], …}}     see RankEnded in
//   programs.proto
#pragma once

#include <sys/types.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/process/file_descriptor.hpp"

namespace muster::launch {

struct rank_end {
  std::uint32_t rank = 0;
  int exit_status = 0, signal = 0;
  std::string not_started{};  // reason; empty if the rank was started
  bool stopped = false, lease_ran_out = false, out_of_memory = false;
  std::vector<std::string> last_errors{}, last_output{};  // last lines of stderr and of stdout
};

class report_line {
 public:
  report_line(boost::asio::io_context& io, file_descriptor to);

  /// Pending text is limited to two lines for each rank.
  void started(std::uint32_t rank, pid_t pid, std::string const& not_preloaded);
  void ended(rank_end const& e);
  /// Calls `done` when all reports were written, or when the reader has closed the pipe.
  void finish(std::function<void()> done);

 private:
  void add(std::string const& line);
  void write();

  boost::asio::posix::stream_descriptor to_;
  std::string waiting_, writing_;
  std::function<void()> done_;
  bool broken_ = false;
};

}  // namespace muster::launch

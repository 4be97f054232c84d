// Writes the output of all tasks to this process's stdout and stderr, prefixed with the task name,
// and to one file for each task. The launcher owns it and uses it on its thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/process/file_descriptor.hpp"
#include "base/unfinished_line.hpp"
#include "launch/descriptor_writer.hpp"

namespace muster::launch {

struct output_options {
  bool shown = true;  // whether output is also shown on stdout and stderr
  bool prefix = true;
  std::string directory{};  // created if needed; if empty, no files are written
  bool colour_out = false, colour_err = false;
  bool terminal_out = false, terminal_err = false;
  /// Approximate number of newest bytes to keep in each file. Older bytes become a hole, so offsets
  /// do not change. If 0, all bytes are kept.
  std::uint64_t file_bytes_max = 0;
};

class output {
 public:
  enum class stream { out, err };

  /// @throws std::runtime_error with a message that names the directory
  output(boost::asio::io_context& io, output_options o);

  /// Returns the task's number, which its lines must use. If the task was added before, its file
  /// continues.
  /// @throws std::runtime_error with a message that names the file
  std::size_t add_task(std::string const& name);
  void line(std::size_t task, stream s, std::string_view text);
  /// Shows an unfinished line on a terminal. If output is not shown, stores the line with a
  /// carriage return at its end; readers that use `overwritten` replace this line with the next
  /// line. Text beyond `unfinished_bytes_max` is omitted.
  void unfinished(std::size_t task, stream s, std::string_view text);
  static constexpr std::size_t unfinished_bytes_max = 1000;
  void say(std::string_view text);

  /// Returns whether readers should pause until `resume` is called.
  bool full() const { return !abandoned_ && writer_.full(); }
  std::function<void()> resume;

  /// Calls `written` once all output so far was written or abandoned.
  void mark(std::function<void()> written);
  void finish(std::function<void()> done);
  void abandon();

 private:
  struct task {
    std::string prefix[2];
    file_descriptor file;
    std::string path;
    std::uint64_t bytes = 0;
    std::uint64_t gone = 0;  // number of bytes that a hole has replaced
  };
  descriptor_writer::callbacks callbacks();
  bool is_terminal(stream s) const {
    return options_.shown && (s == stream::err ? options_.terminal_err : options_.terminal_out);
  }
  void show(stream s, std::string_view source, std::string_view line, bool ended);
  void store(task& t, std::string_view line);
  void broken(int fd, int error);

  boost::asio::io_context& io_;
  output_options options_;
  std::vector<task> tasks_;
  std::map<std::string, std::size_t> numbers_;
  std::function<void()> done_;
  bool abandoned_ = false;
  unfinished_line last_;      // last line on the terminal, shared by both streams
  descriptor_writer writer_;  // must be the last member, because its thread must end before the
                              // files close
};

}  // namespace muster::launch

// Where the lines of all tasks go: to this process's stdout and stderr with the task's name in
// front, and to a file for each task. Owned by the launcher, one thread.
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
  bool shown = true;  // on stdout and stderr; else lines go into files only
  bool prefix = true;
  std::string directory{};  // empty: no files; it is made if it is not there
  bool colour_out = false, colour_err = false;
  bool terminal_out = false, terminal_err = false;  // show lines that have not ended
  /// Of each file so many of its newest bytes stay on the disk, and a little more: what is older
  /// becomes a hole, so what is there keeps its offset. 0: all.
  std::uint64_t file_bytes_max = 0;
};

class output {
 public:
  enum class stream { out, err };

  /// Errors: std::runtime_error names the directory.
  output(boost::asio::io_context& io, output_options o);

  /// Gives the number to use for its lines. The same name again, after a restart, goes on in the
  /// same file. Errors: std::runtime_error names the file.
  std::size_t add_task(std::string const& name);
  /// Shows a line of a task, with the task's name before it.
  void line(std::size_t task, stream s, std::string_view text);
  /// Shows a line that has not ended, on a terminal. If nothing is shown, stores it with a carriage
  /// return at its end. Readers that use `overwritten` show only the next line of the task
  /// instead. The text is cut at `unfinished_bytes_max`.
  void unfinished(std::size_t task, stream s, std::string_view text);
  static constexpr std::size_t unfinished_bytes_max = 1000;
  /// A line of the launcher's own, on stderr.
  void say(std::string_view text);

  /// Whether readers should pause; `resume` is called once they need not.
  bool full() const { return !abandoned_ && writer_.full(); }
  std::function<void()> resume;

  /// `written` is called when everything up to here was written, or abandoned.
  void mark(std::function<void()> written);
  /// `done` is called when everything was written, or abandoned.
  void finish(std::function<void()> done);
  /// What was not written by now never is.
  void abandon();

 private:
  struct task {
    std::string prefix[2];  // by stream
    file_descriptor file;
    std::string path;
    std::uint64_t bytes = 0;  // posted
    std::uint64_t gone = 0;   // of them, made a hole
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
  unfinished_line last_;      // on the terminal, which both streams share
  descriptor_writer writer_;  // last: its thread ends first, before files close
};

}  // namespace muster::launch

// The values that a process shares with other processes through memory and with other hosts, and
// how long the process holds these values. Thread-safe. Uses the thread of its sockets (the loop),
// the engine thread for streams, and the threads of the peer_value_server.
//
// An argument is held while this process has a blob or an unfinished call that refers to the
// argument, and a little longer for consecutive calls. If anything else refers to the argument, it
// is stored on the server before it is dropped. An output of a worker function is held until the
// server reports that no value refers to it. Copies of values that worker functions have fetched
// are held in the same way. Copies are also dropped when room is needed, or when the server lists
// enough other copies.
#pragma once

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "client/blobs/content_reporter.hpp"
#include "client/blobs/giving.hpp"
#include "client/blobs/memory.hpp"
#include "client/blobs/peer_giving.hpp"
#include "client/blobs/peer_taking.hpp"
#include "client/blobs/taking.hpp"

namespace muster::detail {

class shared_values : public std::enable_shared_from_this<shared_values> {
 public:
  /// Minimum size of a shared value; smaller values are sent through the server.
  static constexpr std::size_t size_min = (std::size_t{1} << 20) + 1;
  static constexpr std::chrono::seconds stays{5};

  using clock = std::chrono::steady_clock;
  using memory = std::shared_ptr<mapping const>;

  /// Called until close() has returned.
  struct callbacks {
    /// Called on the engine thread.
    std::function<void(std::string const& name)> on_upload_requested;
    /// A fetched value must be released. Called on the loop or the engine thread.
    std::function<void(std::string const& name)> on_dropped;
    std::function<void(std::string const& name)>
        put;  // this blocks, and throws the same errors as blob_content::named_by_output
  };

  /// Throws std::system_error if sockets or threads cannot be created.
  shared_values(blobs_options const& o, std::size_t bytes_max, callbacks on);
  /// Precondition: close() has been called.
  ~shared_values();

  struct held {
    std::string name;
    std::shared_ptr<blob_content const> content;
  };
  /// Returns an empty object if the value must be stored on the server. `task` is the worker whose
  /// function created the value; empty for an argument.
  held hold(std::string_view bytes, std::string const& task);
  memory own(std::string const& name);
  /// Returns true if this process can use the memory of other processes, because the server has
  /// acknowledged all values of this process. See hold() for `task`.
  bool may_take(std::string const& task) { return reporter_for(task)->ready(first_answer_timeout); }
  /// Asks the server where a value can be fetched. Returns false if there is no answer.
  using locate = std::function<bool(std::string const& host, v1::BlobPlace& into)>;
  /// Fetches a value from a process that holds it, preferably on this host. Returns null if the
  /// value must be fetched from the server. `then` is called before the function returns, possibly
  /// on the loop's thread, and must remain valid afterwards.
  using kept = std::function<void(memory const&)>;
  memory take(std::string const& name, std::string const& task, locate const& where,
              kept const& then);
  void record_server_time(std::uint64_t size, std::chrono::duration<double> took) {
    peer_taker_.record_server_time(size, took);
  }

  /// A value that this holder must store on the server. Holder 0 means that there is no stream.
  struct to_put {
    memory bytes;  // null if this process no longer holds the value
    std::uint64_t holder = 0;
  };
  to_put find(std::string const& name);
  /// Drops values that have been kept long enough. Returns the values that must be stored on the
  /// server before let_go() drops them.
  std::vector<std::string> tick(clock::time_point now);
  void let_go(std::string const& name);
  /// Returns the values that other processes may need after this object has been closed.
  std::vector<std::string> needed();

  void close();

 private:
  class held_content;
  struct entry {
    memory bytes;
    std::shared_ptr<content_reporter> via;
    bool output = false;
    bool copy = false;      // whether this is a copy of another process's output
    bool unneeded = false;  // whether the server has declared the output unneeded
    bool is_put = false;    // whether the value is being uploaded, to be dropped afterwards
    bool by_closure = false, elsewhere = false;
    std::weak_ptr<blob_content const> content;
    clock::time_point last_use{};  // time of the last use
  };
  static constexpr std::chrono::seconds first_answer_timeout{1};

  /// Returns the stream for arguments if `task` is empty.
  std::shared_ptr<content_reporter> reporter_for(std::string const& task);
  std::shared_ptr<content_reporter> make_holding(std::string const& task);
  void listen();
  memory take_shared(v1::BlobHolder const& from, std::string const& name,
                     v1::BlobPlace const& place, std::string const& task, kept const& then);
  memory take_copy(v1::BlobHolder const& from, std::string const& name, v1::BlobPlace const& place,
                   std::string const& task);
  void hold_copy(std::string const& name, file_descriptor fd, memory const& bytes,
                 std::string const& task);
  held same(std::string_view bytes);
  bool reserve(std::size_t size);
  std::vector<content_reporter::named> held_by(bool outputs);
  void content_released(std::string const& name, bool by_closure, bool elsewhere);
  void unneeded(std::string const& name);
  void unlisted(std::string const& name);
  bool drop_oldest_copy();
  void output_names(std::string const& name);
  std::map<std::string, entry>::iterator drop(std::map<std::string, entry>::iterator it);

  blobs_options const options_;
  callbacks const on_;
  std::shared_ptr<client_engine> engine_;
  boost::asio::io_context loop_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  memory_server giver_;
  memory_client taker_;
  peer_value_client peer_taker_;
  std::once_flag listens_;
  std::unique_ptr<peer_value_server> peers_;  // null if this process is not a worker

  std::mutex mutex_;  // protects the following members
  std::shared_ptr<content_reporter> arguments_, outputs_;
  std::map<std::string, entry> entries_;  // has the same names as the memory_server
  bool closed_ = false;

  std::thread thread_;
};

}  // namespace muster::detail

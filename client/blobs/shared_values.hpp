// What a process gives and takes over memory, or to and from other hosts: what it holds, for how
// long, and who tells the server of it. Owned by blobs; any thread. Threads: the loop of its
// sockets, the engine's, on which its streams are, and those of the peer_giver.
//
// An argument is held while a blob of it or a closure that names it lives here, and a little longer
// for calls that follow each other; where something else names it, it is put at the server before
// it goes. An output of a worker's function is held until the server says that no value names it.
// So is a copy of what such a function has taken, which goes when its room is needed, or the server
// lists enough others.
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

#include "client/blobs/giving.hpp"
#include "client/blobs/holding.hpp"
#include "client/blobs/memory.hpp"
#include "client/blobs/peer_giving.hpp"
#include "client/blobs/peer_taking.hpp"
#include "client/blobs/taking.hpp"

namespace muster::detail {

class shared_values : public std::enable_shared_from_this<shared_values> {
 public:
  /// What has less goes by the server.
  static constexpr std::size_t size_min = (std::size_t{1} << 20) + 1;
  static constexpr std::chrono::seconds stays{5};

  using clock = std::chrono::steady_clock;
  using memory = std::shared_ptr<mapping const>;

  /// Until close() has returned.
  struct callbacks {
    std::function<void(std::string const& name)> on_wanted;  // engine thread
    /// What was taken is to go. The loop's, or the engine thread.
    std::function<void(std::string const& name)> on_dropped;
    std::function<void(std::string const& name)> put;  // waits; throws what named_by_output throws
  };

  /// Errors: std::system_error, there are no sockets or threads.
  shared_values(blobs_options const& o, std::size_t bytes_max, callbacks on);
  /// REQUIRES: close() was called.
  ~shared_values();

  struct held {
    std::string name;
    std::shared_ptr<blob_content const> content;
  };
  /// Without content: it is to be put at the server. `task`: of the worker whose function has it;
  /// empty: it is an argument.
  held hold(std::string_view bytes, std::string const& task);
  /// Null: it is not held here.
  memory own(std::string const& name);
  /// Whether others' memory may be taken: the server knows of all this. `task`: as of hold.
  bool may_take(std::string const& task) { return told_by(task)->ready(settle_within); }
  /// False: the server does not say.
  using locate = std::function<bool(std::string const& host, v1::BlobPlace& into)>;
  /// From one of the processes that hold it, those of this host first. Null: have it from the
  /// server. `then` has been called when this returns, and outlives it: on the loop's thread, too.
  using kept = std::function<void(memory const&)>;
  memory take(std::string const& name, std::string const& task, locate const& where,
              kept const& then);
  /// So long it took for a value to come from the server.
  void by_server(std::uint64_t size, std::chrono::duration<double> took) {
    peer_taker_.by_server(size, took);
  }

  /// To be put at the server under its name, by this holder. Holder 0: there is no stream.
  struct to_put {
    memory bytes;  // null: it is not held any more
    std::uint64_t holder = 0;
  };
  to_put find(std::string const& name);
  /// Drops what has stayed for long enough. What is to be put first, and then is let_go().
  std::vector<std::string> tick(clock::time_point now);
  void let_go(std::string const& name);
  /// What others may need when this is closed.
  std::vector<std::string> needed();

  void close();

 private:
  class held_content;
  struct entry {
    memory bytes;
    std::shared_ptr<holding> via;
    bool output = false;
    bool copy = false;                           // of an output of another
    bool unneeded = false;                       // of an output
    bool is_put = false;                         // it is being put, to be dropped then
    bool by_closure = false, elsewhere = false;  // who has named it
    std::weak_ptr<blob_content const> content;
    clock::time_point last_use{};  // without content; of a copy
  };
  static constexpr std::chrono::seconds settle_within{1};

  /// The one of outputs, where there is a task.
  std::shared_ptr<holding> told_by(std::string const& task);
  std::shared_ptr<holding> make_holding(std::string const& task);
  void listen();
  memory take_shared(v1::BlobHolder const& from, std::string const& name,
                     v1::BlobPlace const& place, std::string const& task, kept const& then);
  memory take_copy(v1::BlobHolder const& from, std::string const& name, v1::BlobPlace const& place,
                   std::string const& task);
  void hold_copy(std::string const& name, file_descriptor fd, memory const& bytes,
                 std::string const& task);
  held same(std::string_view bytes);
  bool reserve(std::size_t size);
  std::vector<holding::named> held_by(bool outputs);
  void content_gone(std::string const& name, bool by_closure, bool elsewhere);
  void unneeded(std::string const& name);
  void unlisted(std::string const& name);
  bool drop_oldest_copy();
  void output_names(std::string const& name);
  // REQUIRES the mutex.
  std::map<std::string, entry>::iterator drop(std::map<std::string, entry>::iterator it);

  blobs_options const options_;
  callbacks const on_;
  std::shared_ptr<client_engine> engine_;
  boost::asio::io_context loop_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  giver giver_;
  taker taker_;
  peer_taker peer_taker_;
  std::once_flag listens_;
  std::unique_ptr<peer_giver> peers_;  // of a worker; null: other hosts go by the server

  std::mutex mutex_;  // protects all below
  std::shared_ptr<holding> arguments_, outputs_;
  std::map<std::string, entry> entries_;  // as many as the giver holds
  bool closed_ = false;

  std::thread thread_;
};

}  // namespace muster::detail

// Threads that stop together.
#pragma once

#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>

#include "muster/end_of_data.hpp"

namespace muster {

/// A group of threads that stop together: the first exception asks all threads to stop, and join()
/// throws it.
///
/// @code
/// muster::thread_coordinator threads;
/// threads.start("reader", [&threads] {
///   while (!threads.should_stop()) { /* read */
///   }
/// });
/// threads.request_stop();
/// threads.join();
/// @endcode
///
/// The members stop_on_exception, request_stop, should_stop and stop_token may be called from any
/// thread. The other members must be called on the thread that created the object.
class thread_coordinator {
 public:
  /// Options of a thread_coordinator.
  struct options {
    /// Time for threads to end after they were asked to stop.
    std::chrono::milliseconds grace = std::chrono::seconds(120);
    /// If true, muster::end_of_data asks the other threads to stop and is not an error. The name of
    /// the thread that threw the exception is logged.
    bool end_of_data_is_clean = true;
  };

  /// Constructs an object with default options.
  thread_coordinator();
  /// Constructs an object.
  /// @param o  the options
  explicit thread_coordinator(options o);
  /// Asks all threads to stop and waits for them as join() does. Ignores errors.
  ~thread_coordinator();
  thread_coordinator(thread_coordinator const&) = delete;

  /// Runs a function on a new thread and handles exceptions as stop_on_exception does. A thread
  /// that has not ended within the grace period is detached, so `f` must own everything it uses, or
  /// refer only to objects that outlive the thread.
  /// @param name  thread name for messages
  /// @param f  the function
  void start(std::string name, std::function<void()> f);
  /// Runs a function on this thread. If the function throws, all threads are asked to stop; join()
  /// throws the first exception.
  /// @param f  the function
  void stop_on_exception(std::function<void()> const& f);

  /// Asks all threads to stop.
  /// @param error  join() throws it if it is the first error; can be null
  void request_stop(std::exception_ptr error = {});
  /// Returns true if the threads were asked to stop.
  bool should_stop() const;
  /// Returns a token that is stopped when the threads are asked to stop.
  std::stop_token stop_token() const;

  /// Waits until all threads have ended, or until the grace period after a stop request has passed.
  /// Throws the first error.
  /// @throws std::runtime_error  there was no error, but some threads did not end; the message
  ///   names them
  void join();

 private:
  struct state;
  std::shared_ptr<state> state_;
};

}  // namespace muster

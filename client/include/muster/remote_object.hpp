// A handle of an object on a task.
#pragma once

#include <boost/json.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "muster/detail/argument_text.hpp"
#include "muster/remote_value.hpp"

namespace muster::detail {

class known_state;
class variable_core;

/// The location of an object.
struct object_place {
  std::uint64_t id = 0;
  std::string task{}, class_name{};
  std::string ticket{};  // session secret that authorises calls
};

/// Sends method calls for objects. Implemented by a coordinator's session and by a worker.
class object_caller {
 public:
  virtual ~object_caller() = default;
  using handle = std::shared_ptr<value_handle const>;

  /// Sends one call and returns its output.
  virtual handle call(object_place const& to, std::string_view method, value args) = 0;
  /// Sends several calls with encoded arrays as arguments, with a limited number of calls in flight
  /// at a time. Returns without waiting.
  virtual std::vector<handle> call_sequentially(object_place const& to, std::string_view method,
                                                std::vector<std::string> args) = 0;
  virtual void erase(object_place const& of) = 0;
};

/// Waits for the call outputs among the arguments, and returns the encoded arguments. Throws the
/// errors of these calls, or std::invalid_argument if an argument is a per_worker_value or too
/// large.
std::string plain_arguments(request r);

}  // namespace muster::detail

namespace muster {

/// A handle of an object on a task.
///
/// @code
/// muster::cluster_coordinator c({.server = "127.0.0.1:8476"});
/// auto steps = c.create({.task = "ps:0",.name = "steps"}, "Counter", 0);
/// muster::remote_value<int> n = steps.call<int>("add", 2);
/// c.schedule<void>("train", steps);  // a handle can be an argument, at any depth
/// @endcode
///
/// Calls from one caller are executed in order, each at most once. A caller is a coordinator or a
/// worker; all functions and methods of a worker form one caller. Copies refer to the same object.
/// Members may be called from any thread.
class remote_object {
 public:
  /// Constructs an empty handle. All members except valid() throw std::logic_error.
  remote_object() = default;
  /// Constructs a handle; used by the library.
  /// @param place  the location of the object
  /// @param caller  sends the calls; null if this process cannot call objects
  remote_object(std::shared_ptr<detail::object_place const> place,
                std::shared_ptr<detail::object_caller> caller)
      : place_(std::move(place)), caller_(std::move(caller)) {}

  /// Returns false if the handle is empty.
  bool valid() const noexcept { return place_ != nullptr; }
  /// Returns the task that stores the object, for example "ps:0". Precondition: valid().
  std::string const& task() const { return place().task; }
  /// Returns the class name of the object. Precondition: valid().
  std::string const& class_name() const { return place().class_name; }

  /// Calls a method without waiting for its result. Waits for call outputs among the arguments.
  /// Also waits while this caller has 8,192 unanswered calls, or unanswered calls with 64 MiB of
  /// arguments. Method calls cannot be cancelled.
  /// @param method  method name
  /// @param args  JSON arguments, as for cluster_coordinator::schedule
  /// @return the output handle
  /// @throws unavailable_error  the session has ended
  /// @throws std::invalid_argument  the arguments are too large
  /// @throws closure_error  or a subtype: a call whose output is an argument failed
  template <class Result, class... Args>
  remote_value<Result> call(std::string_view method, Args const&... args) const {
    detail::request r;
    detail::append_arguments(r, args...);
    return remote_value<Result>(
        caller().call(place(), method, {detail::plain_arguments(std::move(r)), encoding::json}));
  }

  /// Deletes the object. Unanswered calls fail with cancelled_error.
  /// @throws std::logic_error  called by a worker function
  void erase() const { caller().erase(place()); }

  /// Returns true if both handles are empty or refer to the same object.
  /// @param other  another handle
  bool operator==(remote_object const& other) const {
    return valid() == other.valid() && (!valid() || place_->id == other.place_->id);
  }

  /// Writes the handle as JSON.
  /// @param to  receives the JSON
  /// @param from  the handle
  /// @throws std::logic_error  the handle is empty
  friend void tag_invoke(boost::json::value_from_tag, boost::json::value& to,
                         remote_object const& from) {
    from.write(to);
  }
  /// Reads a handle from JSON.
  /// @param from  the JSON
  /// @throws std::invalid_argument  the JSON is not a handle
  friend remote_object tag_invoke(boost::json::value_to_tag<remote_object>,
                                  boost::json::value const& from) {
    return read(from);
  }

 private:
  friend class detail::known_state;
  friend class detail::variable_core;

  detail::object_place const& place() const;
  detail::object_caller& caller() const;
  void write(boost::json::value& to) const;
  static remote_object read(boost::json::value const& from);

  std::shared_ptr<detail::object_place const> place_;
  std::shared_ptr<detail::object_caller> caller_;  // null if this process cannot call objects
};

}  // namespace muster

// A handle of an object on a task.
//
//   auto steps = c.create({.task = "ps:0", .name = "steps"}, "Counter", 0);
//   muster::remote_value<int> n = steps.call<int>("add", 2);
//   c.schedule<void>("train", steps);     // a handle is an argument, at any depth
//
// Calls of one caller (a coordinator, or a worker with all its functions and methods) are executed
// in the order in which they were made, each once or not at all. Copies are the same object. Any
// thread.
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

/// What a handle says of its object.
struct object_place {
  std::uint64_t id = 0;
  std::string task{}, class_name{};
  std::string ticket{};  // a secret of the session
};

/// Who calls: a coordinator's session, or a worker.
class object_caller {
 public:
  virtual ~object_caller() = default;
  using handle = std::shared_ptr<value_handle const>;

  virtual handle call(object_place const& to, std::string_view method, value args) = 0;
  /// Of arrays, each with its own arguments; only some are under way at one time. Waits for
  /// nothing.
  virtual std::vector<handle> call_in_turn(object_place const& to, std::string_view method,
                                           std::vector<std::string> args) = 0;
  virtual void erase(object_place const& of) = 0;
};

/// The arguments with outputs of closures in place, for which it waits. Errors: those of the
/// outputs; std::invalid_argument (a PerWorkerValue, or too large).
std::string plain_arguments(request r);

}  // namespace muster::detail

namespace muster {

class remote_object {
 public:
  /// Of nothing: all members but valid() throw std::logic_error.
  remote_object() = default;
  remote_object(std::shared_ptr<detail::object_place const> place,
                std::shared_ptr<detail::object_caller> caller)
      : place_(std::move(place)), caller_(std::move(caller)) {}

  /// False of a handle of nothing.
  bool valid() const noexcept { return place_ != nullptr; }
  /// "ps:0"
  std::string const& task() const { return place().task; }
  /// The class that its worker has. REQUIRES: valid.
  std::string const& class_name() const { return place().class_name; }

  /// Calls a method with arguments as those of schedule and returns at once; outputs of closures
  /// and of methods among them are waited for. Waits while 8192 calls of this caller, or 64 MiB of
  /// them, are not answered. Cancel does nothing to a call. Errors: unavailable_error (the session
  /// is over), std::invalid_argument (arguments too large), those of outputs.
  template <class Result, class... Args>
  remote_value<Result> call(std::string_view method, Args const&... args) const {
    detail::request r;
    detail::append_arguments(r, args...);
    return remote_value<Result>(
        caller().call(place(), method, {detail::plain_arguments(std::move(r)), encoding::json}));
  }

  /// Deletes the object: calls that are not answered fail with cancelled_error. Errors:
  /// std::logic_error in functions of workers.
  void erase() const { caller().erase(place()); }

  bool operator==(remote_object const& other) const {
    return valid() == other.valid() && (!valid() || place_->id == other.place_->id);
  }

  /// A handle among arguments. Errors: std::logic_error (of nothing); std::invalid_argument (the
  /// JSON is no handle).
  friend void tag_invoke(boost::json::value_from_tag, boost::json::value& to,
                         remote_object const& from) {
    from.write(to);
  }
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
  std::shared_ptr<detail::object_caller> caller_;  // null: where nobody can call
};

}  // namespace muster

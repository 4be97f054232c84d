// Classes whose objects workers create and store; see docs/objects.md.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "muster/function.hpp"

namespace muster {

namespace detail {

/// The functions of a class registered with a worker.
struct class_entry {
  using maker = std::function<std::shared_ptr<void>(context& c, value_view args)>;
  using method = std::function<void(void* object, context& c, value_view args, value& result)>;

  std::string name;
  maker make{};
  std::map<std::string, method, std::less<>> methods{};
  std::uint32_t concurrency = 1;
  bool takes_arrays = false;  // arguments are encoded arrays instead of JSON
};

/// Parameters and result of a method: a member function, or a callable whose first parameter is the
/// object.
template <class Arguments>
struct without_object;
template <class Object, class... A>
struct without_object<std::tuple<Object, A...>> : parameters_of<std::tuple<A...>> {};
template <class M>
struct method_signature : without_object<boost::callable_traits::args_t<M, std::tuple>> {
  using result = std::remove_cvref_t<boost::callable_traits::return_type_t<M>>;
};

}  // namespace detail

/// A class whose objects coordinators can create on a worker and call.
///
/// @code
/// struct counter {
///   explicit counter(int from) : n(from) {}
///   int add(int by) { return n += by; }
///   int n;
/// };
///
/// muster::worker w({.server = "127.0.0.1:8476"});
/// muster::object_class<counter> counters("Counter");
/// counters.constructor<int>().method("add", &counter::add);
/// w.object(counters);
/// @endcode
///
/// Methods and functions run on separate threads. Methods of one object run one after the other,
/// unless both the class (concurrency) and the object (object_options::concurrency) allow more.
/// @tparam T  the C++ class
template <class T>
class object_class {
 public:
  /// Registers T's default constructor, if it exists.
  /// @param name  class name that coordinators use
  explicit object_class(std::string name) : entry_{std::move(name)} {
    if constexpr (std::default_initializable<T>) constructor<>();
  }

  /// Creates objects with T(Args…). JSON arguments are converted as in worker::function.
  /// @param parameters  ordered parameter names, for keyword arguments
  template <class... Args>
  object_class& constructor(std::vector<std::string> parameters = {}) {
    return made_by([](Args... a) { return std::make_shared<T>(std::move(a)...); },
                   std::move(parameters));
  }
  /// Creates objects with a callable.
  /// @param f  returns a std::shared_ptr to T; its first parameter can be a `context&`
  /// @param parameters  ordered names of the other parameters, for keyword arguments
  template <class F>
  object_class& made_by(F f, std::vector<std::string> parameters = {}) {
    using signature = detail::signature<std::decay_t<F>>;
    using arguments = typename signature::arguments;
    entry_.make = [f = std::move(f), parameters = std::move(parameters)](
                      context& c, value_view args) -> std::shared_ptr<void> {
      auto given = detail::convert<arguments>(
          c, detail::argument_list(c, args, parameters, std::tuple_size_v<arguments>), parameters);
      auto const invoke = [&](auto&... a) {
        if constexpr (signature::takes_context)
          return f(c, std::move(a)...);
        else
          return f(std::move(a)...);
      };
      std::shared_ptr<T> made = std::apply(invoke, given);
      if (!made) throw std::runtime_error("the constructor of the class returned no object");
      return made;
    };
    return *this;
  }

  /// Adds a method. Parameters and result are converted as in worker::function.
  /// @param name  method name
  /// @param m  a member function of T, or a callable whose first parameter is a `T&`; the next
  ///   parameter can be a `context&`
  /// @param parameters  ordered names of the other parameters, for keyword arguments
  /// @throws std::invalid_argument  a method with this name exists
  template <class M>
  object_class& method(std::string name, M m, std::vector<std::string> parameters = {}) {
    using signature = detail::method_signature<std::decay_t<M>>;
    using arguments = typename signature::arguments;
    auto called = [m = std::move(m), parameters = std::move(parameters)](
                      void* object, context& c, value_view args, value& result) {
      auto given = detail::convert<arguments>(
          c, detail::argument_list(c, args, parameters, std::tuple_size_v<arguments>), parameters);
      auto& self = *static_cast<T*>(object);
      auto const invoke = [&](auto&... a) -> decltype(auto) {
        if constexpr (signature::takes_context)
          return std::invoke(m, self, c, std::move(a)...);
        else
          return std::invoke(m, self, std::move(a)...);
      };
      if constexpr (std::is_void_v<typename signature::result>)
        std::apply(invoke, given);
      else if constexpr (std::is_same_v<typename signature::result, value>)
        result = std::apply(invoke, given);
      else
        result.bytes = to_json(detail::written(std::apply(invoke, given)));
    };
    if (!entry_.methods.emplace(name, std::move(called)).second)
      throw std::invalid_argument("'" + entry_.name + "' already has a method '" + name + "'");
    return *this;
  }

  /// Adds the methods save_state and load_state, which checkpoints call. Python classes define
  /// methods with these names.
  /// @param save  a method that returns the state as JSON
  /// @param load  a method that receives this state
  template <class Save, class Load>
  object_class& saved(Save save, Load load) {
    method("save_state", std::move(save));
    return method("load_state", std::move(load));
  }

  /// Allows several methods of one object to run at the same time, which requires a thread-safe T.
  /// The default is 1.
  /// @param most  maximum number of methods
  object_class& concurrency(std::uint32_t most) {
    entry_.concurrency = most;
    return *this;
  }

  /// Returns the registered functions. Called by the worker class.
  detail::class_entry const& entry() const { return entry_; }

 private:
  detail::class_entry entry_;
};

}  // namespace muster

// A class whose objects a worker holds for those who make and call them; see docs/objects.md.
//
//   struct counter {
//     explicit counter(int from) : n(from) {}
//     int add(int by) { return n += by; }
//     int n;
//   };
//   w.object(muster::object_class<counter>("Counter").constructor<int>().method("add",
//                                                                            &counter::add));
//
// Objects have threads of their own, beside those of functions. Methods of one object run one after
// the other unless its class says concurrency(n) and who makes the object asks for it.
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

/// What a worker knows of a class.
struct class_entry {
  using maker = std::function<std::shared_ptr<void>(context& c, value_view args)>;
  using method = std::function<void(void* object, context& c, value_view args, value& result)>;

  std::string name;
  maker make{};
  std::map<std::string, method, std::less<>> methods{};
  std::uint32_t concurrency = 1;
  bool takes_arrays = false;  // and no JSON: arguments are bytes
};

/// Of a method: a member function, or a callable whose first parameter is the object.
template <class Arguments>
struct without_object;
template <class Object, class... A>
struct without_object<std::tuple<Object, A...>> : parameters_of<std::tuple<A...>> {};
template <class M>
struct method_signature : without_object<boost::callable_traits::args_t<M, std::tuple>> {
  using result = std::remove_cvref_t<boost::callable_traits::return_type_t<M>>;
};

}  // namespace detail

template <class T>
class object_class {
 public:
  /// Where T has a constructor without parameters, that makes the objects unless another is named.
  explicit object_class(std::string name) : entry_{std::move(name)} {
    if constexpr (std::default_initializable<T>) constructor<>();
  }

  /// Objects are made by T(Args…), of JSON as arguments of functions are. `parameters` names them
  /// for callers that pass keyword arguments.
  template <class... Args>
  object_class& constructor(std::vector<std::string> parameters = {}) {
    return made_by([](Args... a) { return std::make_shared<T>(std::move(a)...); },
                   std::move(parameters));
  }
  /// The same by a callable that returns a std::shared_ptr<T>, with an optional first `context&`.
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
      if (!made) throw std::runtime_error("no object was made");
      return made;
    };
    return *this;
  }

  /// A member function of T, or a callable whose first parameter is a T&, with an optional
  /// `context&` before the others. Parameters and results are as those of worker::function.
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
      throw std::invalid_argument("'" + entry_.name + "' has a method '" + name + "' already");
    return *this;
  }

  /// For checkpoints, which have what `save` returns as JSON, and give it to `load`; both are as of
  /// method(). Python's classes have methods of these names.
  template <class Save, class Load>
  object_class& saved(Save save, Load load) {
    method("save_state", std::move(save));
    return method("load_state", std::move(load));
  }

  /// So many methods of one object may run at one time: T is safe for it. 1 unless it is called.
  object_class& concurrency(std::uint32_t most) {
    entry_.concurrency = most;
    return *this;
  }

  /// For the worker.
  detail::class_entry const& entry() const { return entry_; }

 private:
  detail::class_entry entry_;
};

}  // namespace muster

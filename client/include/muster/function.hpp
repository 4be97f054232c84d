// Converts an ordinary callable into a function that takes and returns encoded values.
#pragma once

#include <boost/json.hpp>
#include <functional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "muster/context.hpp"
#include "muster/detail/conversion.hpp"
#include "muster/json.hpp"
#include "muster/value.hpp"

namespace muster {

/// A function that takes and returns encoded values. `args` is valid during the call. `result` is
/// empty JSON when the function is called. Assign to `result.bytes` to reuse its memory between
/// calls.
using raw_function = std::function<void(context& c, value_view args, value& result)>;

/// Wraps a callable; see worker::function for its parameters and result.
/// @param f  the callable
/// @param parameters  ordered parameter names, for keyword arguments
template <class F>
raw_function make_raw(F f, std::vector<std::string> parameters = {}) {
  using signature = detail::signature<std::decay_t<F>>;
  using arguments = typename signature::arguments;
  return [f = std::move(f), parameters = std::move(parameters)](context& c, value_view args,
                                                                value& result) mutable {
    auto converted = detail::convert<arguments>(
        c, detail::argument_list(c, args, parameters, std::tuple_size_v<arguments>), parameters);
    auto const invoke = [&](auto&... a) -> decltype(auto) {
      if constexpr (signature::takes_context)
        return f(c, std::move(a)...);
      else
        return f(std::move(a)...);
    };
    if constexpr (std::is_void_v<typename signature::result>) {
      std::apply(invoke, converted);
      result.bytes = "null";
    } else if constexpr (detail::is_shared<typename signature::result>::value) {
      detail::keep_object(c, std::apply(invoke, converted), result);
    } else if constexpr (std::is_same_v<typename signature::result, value>) {
      result = std::apply(invoke, converted);
    } else {
      result.bytes = to_json(detail::written(std::apply(invoke, converted)));
    }
  };
}

}  // namespace muster

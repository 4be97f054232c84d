// Flags whose values are members of a request body. By default, a member has the flag's name. The
// server checks limits and sets defaults. Used on the main thread.
#pragma once

#include <functional>
#include <memory>

#include "cli/command.hpp"
#include "cli/durations.hpp"
#include "cli/rest.hpp"

namespace muster::cli {

class body_flags {
 public:
  using texts = std::vector<std::string>;

  void of(CLI::App& verb) { verb_ = &verb; }

  /// `T` is a string, a number, or a list of strings.
  template <class T = std::string>
  CLI::Option* value(std::string const& flag, std::string const& type, std::string const& help,
                     std::string_view member = {}) {
    auto const to = std::make_shared<T>();
    auto* const option = add_value(*verb_, flag, *to, type, help);
    add(flag, member, [to, option](json::value& into) {
      bool given = option->count() > 0;
      if constexpr (requires { to->empty(); }) given = given && !to->empty();
      if (given) into = json::value_from(*to);
    });
    return option;
  }
  template <class N = std::uint32_t>
  CLI::Option* number(std::string const& flag, std::string const& help) {
    return value<N>(flag, "N", help);
  }
  CLI::Option* list(std::string const& flag, std::string const& type, std::string const& help) {
    return value<texts>(flag, type, help)->delimiter(',');
  }
  CLI::Option* time(std::string const& flag, std::string const& help) {
    auto const to = std::make_shared<std::optional<duration>>();
    add(flag, {}, [to](json::value& into) {
      if (*to) into = to_string(**to);
    });
    return add_duration(*verb_, flag, *to, help);
  }
  CLI::Option* pairs(std::string const& flag, std::string const& type, std::string const& help,
                     std::string_view member = {},
                     json::value (*read)(std::string const&) = nullptr);
  /// Adds a flag without a value, which sets the member to `given`. "--durable,!--no-durable" also
  /// has a negative form.
  CLI::Option* flag(std::string const& flag, std::string const& help, std::string_view member = {},
                    bool given = true);

  /// Returns only the members whose flags were given. @throws command_error (usage)
  json::object body() const;

 private:
  void add(std::string const& flag, std::string_view member, std::function<void(json::value&)> put);

  CLI::App* verb_ = nullptr;
  std::vector<std::pair<std::string, std::function<void(json::value&)>>> members_;
};

}  // namespace muster::cli

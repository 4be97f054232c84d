// Creates resolvers from text, as in flags and configuration files:
//
//   KIND[:[VALUE;]key=value;…]          slurm    tf-config:task_id=1    file:/etc/cluster.json
//   simple:{"worker": ["a:1"]}          the JSON itself, or @FILE
//   KIND…+KIND…                         a union; `+` must precede a known kind
//
// Kinds are in a table, so that other libraries can add theirs. Throws cluster_error, which lists
// the known kinds or the keys of the kind.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "muster/cluster_error.hpp"
#include "muster/cluster_resolver.hpp"

namespace muster {

/// Value and keys in a resolver's text. Contains only keys that the kind accepts.
class resolver_arguments {
 public:
  resolver_arguments(std::string kind, std::string value, std::map<std::string, std::string> keys,
                     environment_lookup environment)
      : kind_(std::move(kind)),
        value_(std::move(value)),
        keys_(std::move(keys)),
        environment_(std::move(environment)) {}

  /// Returns the text before the keys. The text is empty if and only if the kind takes no value.
  std::string const& value() const { return value_; }
  environment_lookup const& environment() const { return environment_; }

  std::optional<std::string> text(std::string const& key) const;
  std::string text_or(std::string const& key, std::string const& fallback) const;
  /// @throws cluster_error (invalid) if the value is not an integer from `least` to `most`
  std::optional<int> number(std::string const& key, int least, int most) const;
  /// @throws cluster_error (invalid) if the value is neither true nor false
  std::optional<bool> flag(std::string const& key) const;

  /// Returns an error with a message such as "slurm: port_base: 'x' is not a number from 1 to
  /// 65535".
  cluster_error invalid_value_error(std::string const& key, std::string const& what) const;
  [[deprecated("use invalid_value_error")]] cluster_error wrong(std::string const& key,
                                                                std::string const& what) const {
    return invalid_value_error(key, what);
  }

 private:
  std::string const kind_;
  std::string const value_;
  std::map<std::string, std::string> const keys_;
  environment_lookup const environment_;
};

struct resolver_key {
  std::string name;
  std::string help;
};

struct resolver_kind {
  std::string name;
  std::string help;
  /// Placeholder for the value, for example "FILE". Empty if the kind takes no value.
  std::string value;
  std::vector<resolver_key> keys;
  std::function<std::shared_ptr<cluster_resolver>(resolver_arguments const&)> make;
  /// Reason why `make` is missing, used as the error message. A kind with a reason accepts any
  /// keys.
  std::string unavailable = {};
};

class resolver_kinds {
 public:
  /// Limits on the text and on the number of members of a union. Beyond a limit, cluster_error
  /// (invalid) is thrown.
  static constexpr std::size_t text_bytes_max = 1 << 20;
  static constexpr std::size_t union_max = 64;

  /// Replaces a kind with the same name.
  void add(resolver_kind kind);
  std::vector<resolver_kind> const& all() const { return kinds_; }

  std::shared_ptr<cluster_resolver> make(
      std::string_view text, environment_lookup const& environment = process_environment()) const;

 private:
  resolver_kind const* find(std::string_view name) const;
  std::vector<std::string_view> members(std::string_view text) const;
  std::shared_ptr<cluster_resolver> make_one(std::string_view text,
                                             environment_lookup const& environment) const;

  std::vector<resolver_kind> kinds_;
};

/// Returns the kinds simple, file, tf-config, slurm and sagemaker, which do not use the network.
resolver_kinds local_resolver_kinds();

/// Creates a resolver of a local kind. Programs with more kinds should use their own table.
std::shared_ptr<cluster_resolver> make_resolver(
    std::string_view text, environment_lookup const& environment = process_environment());

/// Returns the first position of a character outside of JSON strings, objects and lists, or npos.
std::size_t find_outside_json(std::string_view text, char wanted, std::size_t from = 0);

}  // namespace muster

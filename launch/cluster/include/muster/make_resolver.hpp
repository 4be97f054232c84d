// Resolvers from a line of text, as flags and configuration files have it:
//
//   KIND[:[VALUE;]key=value;…]          slurm    tf-config:task_id=1    file:/etc/cluster.json
//   simple:{"worker": ["a:1"]}          the JSON itself, or @FILE
//   KIND…+KIND…                         the union of several; `+` stands before a known kind
//
// The kinds are a table, so that libraries on top of this one add theirs. Faults are cluster_error:
// an unknown kind lists the known ones, an unknown key lists those of its kind.
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

/// What the text says after its kind; only keys that the kind has.
class resolver_arguments {
 public:
  resolver_arguments(std::string kind, std::string value, std::map<std::string, std::string> keys,
                     environment_lookup environment)
      : kind_(std::move(kind)),
        value_(std::move(value)),
        keys_(std::move(keys)),
        environment_(std::move(environment)) {}

  /// What stands before the keys; never empty where the kind has one, else always.
  std::string const& value() const { return value_; }
  environment_lookup const& environment() const { return environment_; }

  std::optional<std::string> text(std::string const& key) const;
  std::string text_or(std::string const& key, std::string const& fallback) const;
  /// invalid unless it is a whole number from `least` to `most`.
  std::optional<int> number(std::string const& key, int least, int most) const;
  /// invalid unless it is true or false.
  std::optional<bool> flag(std::string const& key) const;

  /// "slurm: port_base: 'x' is not a number from 1 to 65535".
  cluster_error wrong(std::string const& key, std::string const& what) const;

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
  /// What its value is, "FILE"; empty: it takes none.
  std::string value;
  std::vector<resolver_key> keys;
  std::function<std::shared_ptr<cluster_resolver>(resolver_arguments const&)> make;
  /// Why there is no `make`, in the words of the error; such a kind takes any keys.
  std::string unavailable = {};
};

class resolver_kinds {
 public:
  /// The text's bytes and the members of one union; more is invalid.
  static constexpr std::size_t text_bytes_max = 1 << 20;
  static constexpr std::size_t union_max = 64;

  /// Replaces one of the same name.
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

/// simple, file, tf-config, slurm and sagemaker: those that ask nobody over the network.
resolver_kinds local_resolver_kinds();

/// One of these; a program that knows more kinds asks its own table.
std::shared_ptr<cluster_resolver> make_resolver(
    std::string_view text, environment_lookup const& environment = process_environment());

/// Where in `text` the character stands outside of JSON's strings, objects and lists; npos:
/// nowhere.
std::size_t find_outside_json(std::string_view text, char wanted, std::size_t from = 0);

}  // namespace muster

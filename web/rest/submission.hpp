// What a client submits, from JSON to the core's structs. Function names stay names until the
// engine thread makes numbers of them. Pure functions, web thread.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "server/core/coordinator.hpp"
#include "web/json/arguments.hpp"
#include "web/json/json_check.hpp"

namespace muster::web {

/// Closures and the functions that they name. `function` is set by `number`.
struct closure_batch {
  std::vector<core::closure_spec> closures;
  std::vector<std::string> names;

  /// Appends one; finds or makes the name's position.
  void add(std::string const& function, encoded_arguments arguments,
           core::closure_options const& options = {});
  void clear();

  /// `ids`: the core's numbers of `names`.
  void number(std::vector<core::function_id> const& ids);

 private:
  std::unordered_map<std::string, std::uint32_t> positions_;
  std::vector<std::uint32_t> position_of_;  // in `names`, by closure
  // Of the closure before without inputs: those with the same options share them.
  std::shared_ptr<core::closure_extras const> last_;
};

struct submission {
  core::session_spec spec;
  closure_batch batch;
};

/// The body of POST /api/v1/jobs.
submission read_submission(json_check& check, json_ref const& body);
/// One element of `closures`, or one line of NDJSON.
void read_closure(json_check& check, json_ref const& item, closure_batch& into);
/// A JSON array of closures.
void read_closures(json_check& check, json_ref const& list, closure_batch& into);

}  // namespace muster::web

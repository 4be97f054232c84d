// Who may what: four roles, and what a call or a request asks for. Pure data, any thread.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/enum_names.hpp"

namespace muster::core {

using muster::name;

enum class role : std::uint8_t { viewer = 0, submitter = 1, worker = 2, admin = 3 };
constexpr auto enum_names(role) {
  using enum role;
  return enumerators<role>(viewer, "viewer", submitter, "submitter", worker, "worker", admin,
                           "admin");
}

/// What a request needs.
enum class permission : std::uint8_t {
  nothing,     // open to everybody: health, the page's files, this API's description
  view,        // to look at jobs, tasks, clusters, keys, values, logs, metrics
  submit,      // jobs, sessions, values and blobs of one's own
  work,        // to attach a worker, which sees the arguments of what it runs
  share,       // blobs: whoever submits or works
  coordinate,  // to be a task of a cluster: keys, barriers, errors
  read_keys,   // what tasks of a cluster tell each other: whoever looks, or is one
  administer,  // clusters, cordons and drains, tokens, and what others submitted
};

constexpr bool allows(role r, permission p) {
  switch (p) {
    case permission::nothing:
    case permission::read_keys:
      return true;
    case permission::view:
      return r != role::worker;
    case permission::submit:
      return r == role::submitter || r == role::admin;
    case permission::work:
    case permission::coordinate:
      return r == role::worker || r == role::admin;
    case permission::share:
      return r != role::viewer;
    case permission::administer:
      return r == role::admin;
  }
  return false;
}

/// For people: "submit jobs".
std::string_view description(permission p);

}  // namespace muster::core

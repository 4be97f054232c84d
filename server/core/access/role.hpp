// Roles of credentials, and the permissions that requests need.
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

enum class permission : std::uint8_t {
  nothing,     // public requests: health, dashboard files, API description
  view,        // read jobs, tasks, clusters, keys, values, logs and metrics
  submit,      // submit jobs, sessions, values and blobs, and change own submissions
  work,        // attach a worker, which receives the arguments of its calls
  share,       // exchange blobs; granted to submitters and workers
  coordinate,  // act as a task of a cluster: keys, barriers, errors
  read_keys,   // read the keys of a cluster; granted to every role
  administer,  // manage clusters, cordons, drains, tokens, and other users' submissions
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

std::string_view description(permission p);

}  // namespace muster::core

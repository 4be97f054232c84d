// What `muster data check` has found, for people and for scripts. One thread.
#pragma once

#include <iosfwd>

#include "server/journal/etcd/etcd_view.hpp"
#include "server/journal/rocks_view.hpp"
#include "server/journal/stored_blobs.hpp"

namespace muster::cli {

/// What stands there at one moment. Of the pointers the one of its kind is set; they are its own.
struct opened {
  std::unique_ptr<server::journal::view> all;
  server::journal::rocks_view const* directory = nullptr;
  server::journal::etcd::etcd_view const* in_etcd = nullptr;
};

struct checked {
  opened from;
  server::journal::contents has;
  server::journal::found_blobs blobs;
  std::optional<int> user;  ///< the process that has the directory; see user_of
};

void print_json(checked const& c);
void print(checked const& c);
/// A line a blob that is named and not there.
void tell_missing(std::ostream& out, server::journal::found_blobs const& blobs);

}  // namespace muster::cli

// The findings of `muster data check`, for terminals and for scripts. Not thread-safe.
#pragma once

#include <iosfwd>

#include "server/journal/etcd/etcd_view.hpp"
#include "server/journal/rocks_view.hpp"
#include "server/journal/stored_blobs.hpp"

namespace muster::cli {

/// A data directory or etcd store at a point in time. `all` owns the view; one of the pointers also
/// points to it.
struct opened {
  std::unique_ptr<server::journal::view> all;
  server::journal::rocks_view const* directory = nullptr;
  server::journal::etcd::etcd_view const* in_etcd = nullptr;
};

struct checked {
  opened from;
  server::journal::contents has;
  server::journal::found_blobs blobs;
  std::optional<int> user;
};

void print_json(checked const& c);
void print(checked const& c);
void print_missing_blobs(std::ostream& out, server::journal::found_blobs const& blobs);

}  // namespace muster::cli

// Converts a batch to etcd transactions. A transaction can contain a key only once, so the plan has
// the final change of each key, and disjoint ranges to erase. The operations can run in any order,
// and twice. Pure and thread-safe functions. Keys:
//
//   PREFIX/leader             the leader; with a lease
//   PREFIX/d/KEY              an entry: "=" and its value, or "#" and the number of its pieces
//   PREFIX/p/NUMBER/INDEX     a piece of a large value; piece 0 contains the key
//   PREFIX/r/SEQUENCE/INDEX   a part of a batch that is too large for one transaction
//   PREFIX/r/SEQUENCE/end     number of parts; written when all parts are stored
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/text.hpp"
#include "etcd/rpc.pb.h"
#include "server/journal/store.hpp"

namespace muster::server::journal::etcd {

namespace wire = etcdserverpb;

/// Limits of a transaction, below etcd's default limits of 128 operations and 1.5 MiB. The leader's
/// key needs one more operation.
constexpr std::size_t operations_max = 120;
constexpr std::size_t transaction_bytes_max = std::size_t{1} << 20;
/// Maximum length of a value that is stored as a single piece.
constexpr std::size_t piece_bytes = std::size_t{512} << 10;

struct names {
  std::string prefix;

  std::string leader() const { return prefix + "/leader"; }
  std::string entry(std::string_view key) const { return prefix + "/d/" + std::string(key); }
  std::string pieces() const { return prefix + "/p/"; }
  std::string pieces(std::uint64_t number) const { return pieces() + hex16(number) + "/"; }
  std::string piece(std::uint64_t number, std::size_t index) const {
    return pieces(number) + eight_digits(index);
  }
  std::string redos() const { return prefix + "/r/"; }
  std::string redo(std::uint64_t sequence) const { return redos() + hex16(sequence) + "/"; }
  std::string redo_part(std::uint64_t sequence, std::size_t index) const {
    return redo(sequence) + eight_digits(index);
  }
  std::string redo_end(std::uint64_t sequence) const { return redo(sequence) + "end"; }

 private:
  static std::string eight_digits(std::size_t n) {
    auto const digits = std::to_string(n);
    return std::string(digits.size() < 8 ? 8 - digits.size() : 0, '0') + digits;
  }
};

/// Maps an entry with a large value to the number under which its pieces are stored. Each number is
/// used only once.
struct piece_table {
  std::map<std::string, std::uint64_t, std::less<>> numbers;
  std::uint64_t next = 1;
};

std::string reference(std::uint64_t number);
std::optional<std::uint64_t> referenced(std::string_view value);

struct plan {
  std::vector<wire::RequestOp> operations;
  piece_table pieces;
};
plan plan_of(names const& n, std::vector<change> const& batch, piece_table pieces);

std::vector<std::vector<wire::RequestOp>> cut(std::vector<wire::RequestOp> operations,
                                              std::size_t count_max, std::size_t bytes_max);

wire::RequestOp put(std::string key, std::string value);
wire::RequestOp erase(std::string key);
wire::RequestOp erase(std::string key, std::string end);

}  // namespace muster::server::journal::etcd

// Splits a client's byte stream into commands. Detects from the first bytes which numbering of
// command codes the client uses.
//
// Owned by the connection; used only on the connection's thread. Pure. Lengths are checked against
// `limits` before memory is allocated.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "server/torch/limits.hpp"
#include "server/torch/wire/commands.hpp"

namespace muster::torch {

struct command {
  op what{};
  std::vector<std::string_view> words;  // keys, then values
  std::int64_t number = 0;
};

class command_reader {
 public:
  /// @param early Command numbering of clients that do not announce their numbering.
  /// REQUIRES: `l` outlives the reader.
  command_reader(limits const& l, numbering early) : limits_(&l), numbering_(early) {}

  /// REQUIRES: `bytes` is valid until `keep`.
  void feed(std::string_view bytes);
  /// Reads the next command, whose words are valid until the next call. Returns false if the
  /// command is incomplete. Returns INVALID_ARGUMENT for an invalid command; the reader must not be
  /// used afterwards.
  muster::result<bool> next(command& c);
  /// Stores the remaining input. Must be called after the last `next` of a feed.
  void keep();

  numbering speaks() const { return numbering_; }
  bool has_begun() const { return has_begun_; }
  std::size_t kept_bytes() const { return rest_.capacity(); }

 private:
  struct span {
    std::size_t at = 0, bytes = 0;
  };

  muster::result<bool> recognise();
  muster::result<bool> begin();
  muster::result<bool> read_count();
  muster::result<bool> read_word();
  bool has(std::size_t bytes) const { return input_.size() - from_ - at_ >= bytes; }
  std::uint64_t take_number(unsigned bytes);
  muster::status refusal(std::string_view field, std::string_view what,
                         std::uint64_t limit = 0) const;
  std::string_view called() const { return begun_ ? name(what_) : std::string_view("a command"); }

  limits const* limits_;
  numbering numbering_;
  bool has_begun_ = false;

  std::string rest_;
  std::string_view input_;
  std::size_t from_ = 0;

  // State of the current command. Positions are relative to the command's start.
  std::size_t at_ = 0;
  bool begun_ = false;
  op what_{};
  shape shape_;
  bool has_count_ = false;
  bool has_length_ = false;
  std::size_t length_ = 0;
  std::size_t bytes_ = 0;
  std::uint64_t words_left_ = 0;
  std::vector<span> spans_;
};

}  // namespace muster::torch

// Cuts what one client sends into commands, however it is cut into pieces on the way, and tells by
// its first bytes which numbering it speaks.
//
// Owned by the connection; the thread of its station. Pure. Limits: those of `limits` on each
// length before anything is kept for it; what is kept is what has come of one command.
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
  std::vector<std::string_view> words;  // keys, and values behind them
  std::int64_t number = 0;
};

class command_reader {
 public:
  /// `early`: the numbering of a client that does not say which. REQUIRES: `l` outlives it.
  command_reader(limits const& l, numbering early) : limits_(&l), numbering_(early) {}

  /// What has come, behind what was kept. REQUIRES: valid until `keep`.
  void feed(std::string_view bytes);
  /// True: a command, whose words are valid until the next call. False: it takes more bytes.
  /// INVALID_ARGUMENT: no command of a client's; nothing is read from then on.
  muster::result<bool> next(command& c);
  /// Keeps what is left. Call it after the last `next` of a feed.
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
  bool has_begun_ = false;  // its first bytes have said the numbering

  std::string rest_;        // kept from earlier feeds
  std::string_view input_;  // all that is there
  std::size_t from_ = 0;    // where the command begins that is read

  // Of that command, with places counted from its beginning.
  std::size_t at_ = 0;
  bool begun_ = false;
  op what_{};
  shape shape_;
  bool has_count_ = false;
  bool has_length_ = false;
  std::size_t length_ = 0;
  std::size_t bytes_ = 0;  // of its words
  std::uint64_t words_left_ = 0;
  std::vector<span> spans_;
};

}  // namespace muster::torch

// Parsing resumes where the last input ended, so receiving a command byte by byte takes no more
// processor time.
#include "server/torch/wire/command_reader.hpp"

namespace muster::torch {
namespace {

// Buffers larger than this are freed after use.
constexpr std::size_t idle_bytes = 4'096;
constexpr std::size_t idle_spans = 64;

std::uint64_t little_endian(std::string_view bytes) {
  std::uint64_t n = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) n = n << 8 | static_cast<unsigned char>(bytes[i]);
  return n;
}

}  // namespace

void command_reader::feed(std::string_view bytes) {
  if (rest_.empty()) {
    input_ = bytes;
    return;
  }
  rest_.append(bytes);
  input_ = rest_;
}

void command_reader::keep() {
  auto const left = input_.substr(from_);
  if (left.empty()) {
    rest_.clear();
    if (rest_.capacity() > idle_bytes) std::string().swap(rest_);
  } else if (rest_.empty()) {
    rest_.assign(left);
  } else {
    rest_.erase(0, from_);
  }
  from_ = 0;
  input_ = rest_;
}

muster::status command_reader::refusal(std::string_view field, std::string_view what,
                                       std::uint64_t limit) const {
  auto const where = std::string(called()).append(": ").append(field);
  return wrong_field(where, what, limit);
}

std::uint64_t command_reader::take_number(unsigned bytes) {
  auto const n = little_endian(input_.substr(from_ + at_, bytes));
  at_ += bytes;
  return n;
}

// Byte 0 is the command SET of an early client, followed by a key length. As a key length, the
// magic number would exceed every limit.
muster::result<bool> command_reader::recognise() {
  if (!has(1)) return false;
  if (input_[from_] == 0) {
    if (!has(5)) return false;
    if (little_endian(input_.substr(from_ + 1, 4)) == magic) numbering_ = numbering::c;
  }
  has_begun_ = true;
  return true;
}

muster::result<bool> command_reader::begin() {
  if (!has_begun_) {
    auto const known = recognise();
    if (!known || !*known) return known;
  }
  if (!has(1)) return false;
  auto const byte = static_cast<std::uint8_t>(take_number(1));
  auto const found = command_of(numbering_, byte);
  if (!found)
    return refusal("number", std::to_string(byte) + " is not a command in protocol numbering " +
                                 std::string(name(numbering_)));
  what_ = *found;
  shape_ = shape_of(what_);
  words_left_ = shape_.words;
  has_count_ = !shape_.counted;
  begun_ = true;
  return true;
}

muster::result<bool> command_reader::read_count() {
  if (!has(8)) return false;
  auto const n = take_number(8);
  if (n > limits_->keys_of_a_call)
    return refusal(
        "keys",
        std::to_string(n) + " keys, the limit is " + std::to_string(limits_->keys_of_a_call),
        limits_->keys_of_a_call);
  words_left_ = n * shape_.words;
  has_count_ = true;
  return true;
}

muster::result<bool> command_reader::read_word() {
  if (!has_length_) {
    if (!has(8)) return false;
    auto const n = take_number(8);
    bool const is_key = spans_.size() % shape_.words == 0;
    auto const most = is_key ? limits_->key_bytes : limits_->value_bytes;
    if (n > most)
      return refusal(is_key ? "key" : "value",
                     std::to_string(n) + " bytes, the limit is " + std::to_string(most), most);
    bytes_ += n;
    if (bytes_ > limits_->call_bytes)
      return refusal("keys and values",
                     "more than " + std::to_string(limits_->call_bytes) + " bytes in one call",
                     limits_->call_bytes);
    length_ = n;
    has_length_ = true;
  }
  if (!has(length_)) return false;
  spans_.push_back({at_, length_});
  at_ += length_;
  has_length_ = false;
  --words_left_;
  return true;
}

muster::result<bool> command_reader::next(command& c) {
  if (!begun_) {
    auto const has = begin();
    if (!has || !*has) return has;
  }
  if (!has_count_) {
    auto const has = read_count();
    if (!has || !*has) return has;
  }
  while (words_left_ > 0) {
    auto const has = read_word();
    if (!has || !*has) return has;
  }
  if (!has(shape_.number_bytes)) return false;

  c.what = what_;
  c.number = static_cast<std::int64_t>(take_number(shape_.number_bytes));
  c.words.clear();
  for (auto const& s : spans_) c.words.push_back(input_.substr(from_ + s.at, s.bytes));
  from_ += at_;
  at_ = bytes_ = 0;
  begun_ = false;
  spans_.clear();
  if (spans_.capacity() > idle_spans) std::vector<span>().swap(spans_);
  return true;
}

}  // namespace muster::torch

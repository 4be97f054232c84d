#include <gtest/gtest.h>

#include <string>

#include "muster/array.hpp"
#include "tests/client/raised_by.hpp"

namespace muster::detail {
namespace {

std::string error_of(std::string const& bytes) {
  try {
    decode(bytes);
  } catch (std::invalid_argument const& e) {
    return e.what();
  }
  return "none";
}

// Returns encode([np.array([[1, 2]], "int32"), "ps", None]) of python/muster/objects/arrays.py.
std::string python_wrote() {
  using namespace std::string_literals;
  return "\x93"
         "ARRAYS\x01\x03\0\0\0"
         "\x05int32\x02\x01\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0\x08\0\0\0\0\0\0\0"
         "\x04utf8\x01\x02\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0"
         "\x04none\0\0\0\0\0\0\0\0\0"
         "\0"
         "\x01\0\0\0\x02\0\0\0"
         "\0\0\0\0\0\0\0\0"
         "ps"
         "\0\0\0\0\0\0\0\0\0\0\0\0\0\0"s;
}

TEST(arrays, encoding_equals_that_of_python) {
  std::int32_t const numbers[] = {1, 2};
  auto const written = encode(std::vector<array_view>{
      view_of(std::span<std::int32_t const>(numbers), {1, 2}), text_view("ps"), {"none", {}, {}}});
  EXPECT_EQ(written, python_wrote());
  auto const all = decode(written);
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].dtype, "int32");
  EXPECT_EQ(all[0].shape, (shape{1, 2}));
  EXPECT_EQ(all[1].data, "ps");
  EXPECT_EQ(all[2].dtype, "none");
}

TEST(arrays, rows_are_joined_into_one_array) {
  float const a[] = {1, 2}, b[] = {3, 4, 5, 6};
  auto const bytes = encode_rows({3, 2}, std::vector{view_of(std::span<float const>(a), {1, 2}),
                                                     view_of(std::span<float const>(b), {2, 2})});
  auto const made = array_from<array<float>>({bytes, encoding::bytes}, "f");
  EXPECT_EQ(made.shape, (shape{3, 2}));
  EXPECT_EQ(made.data, (std::vector<float>{1, 2, 3, 4, 5, 6}));
  EXPECT_THROW((array_from<array<double>>({bytes, encoding::bytes}, "f")), std::invalid_argument);
}

TEST(arrays, truncated_array_is_an_error_at_every_length) {
  auto const whole = python_wrote();
  auto const last = whole.rfind("ps") + 2;  // the padding behind it is not read
  for (std::size_t n = 0; n < last; ++n)
    EXPECT_TRUE(error_of(whole.substr(0, n)).starts_with("arrays: ")) << n;
  EXPECT_EQ(error_of(whole.substr(0, last)), "none");
}

TEST(arrays, invalid_encoding_names_the_field_and_the_limit) {
  auto const with = [](std::size_t at, std::string const& what) {
    auto bytes = python_wrote();
    return error_of(bytes.replace(at, what.size(), what));
  };
  EXPECT_EQ(with(0, "\x80"), "arrays: magic: these bytes are not encoded arrays");
  EXPECT_EQ(with(9, "\x04"), "arrays: count: 1027, the limit is 1000");
  EXPECT_EQ(with(13, "x"), "arrays: array 0: dtype: 'xnt32' is not supported");
  EXPECT_EQ(with(18, "\x09"), "arrays: array 0: dimensions: 9, the limit is 8");
  EXPECT_EQ(with(19, "\x02"),
            "arrays: array 0: bytes: 8 does not match dtype int32 and shape (2, 2)");
  EXPECT_EQ(
      with(26, "\xff"),
      "arrays: array 0: bytes: 8 does not match dtype int32 and shape (18374686479671623681, 2)");
  EXPECT_EQ(shown({}), "()");
  EXPECT_EQ(shown({3}), "(3,)");
}

}  // namespace
}  // namespace muster::detail

#include "tests/support/goldens.hpp"

#include <absl/strings/escaping.h>
#include <absl/strings/str_split.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/unknown_field_set.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <functional>

namespace muster::test {
namespace golden_details {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::UnknownField;
using google::protobuf::UnknownFieldSet;

std::string path_of(std::string const& file) {
  return std::string(MUSTER_SOURCE_DIR) + "/" + file;
}

std::vector<std::string> lines_of(std::string const& file) {
  std::vector<std::string> all;
  std::ifstream in(path_of(file));
  EXPECT_TRUE(in) << "cannot read " << file;
  for (std::string line; std::getline(in, line);) all.push_back(line);
  return all;
}

std::string line_of(golden const& g) {
  return absl::CEscape(g.name) + '\t' + g.what + '\t' + absl::CEscape(g.key) + '\t' +
         absl::CEscape(g.value);
}

bool parse(UnknownFieldSet& into, std::string_view bytes) {
  return into.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
}

bool is_message(Descriptor const& form, UnknownField const& f) {
  auto const* const known = form.FindFieldByNumber(f.number());
  return known && known->type() == FieldDescriptor::TYPE_MESSAGE;
}

// Applies `change` to the fields of nested messages first.
std::string rewritten(Descriptor const& form, std::string_view bytes,
                      std::function<void(UnknownFieldSet&)> const& change) {
  UnknownFieldSet fields;
  EXPECT_TRUE(parse(fields, bytes));
  for (int i = 0; i < fields.field_count(); ++i) {
    auto& f = *fields.mutable_field(i);
    if (!is_message(form, f)) continue;
    auto const& inner = *form.FindFieldByNumber(f.number())->message_type();
    *f.mutable_length_delimited() = rewritten(inner, f.length_delimited(), change);
  }
  change(fields);
  std::string to;
  EXPECT_TRUE(fields.SerializeToString(&to));
  return to;
}

// Passes variants in which one nested message is a byte shorter.
void each_cut(Descriptor const& form, std::string_view bytes,
              std::function<void(std::string const&)> const& take) {
  UnknownFieldSet fields;
  EXPECT_TRUE(parse(fields, bytes));
  for (int i = 0; i < fields.field_count(); ++i) {
    auto& f = *fields.mutable_field(i);
    if (!is_message(form, f)) continue;
    auto const whole = f.length_delimited();
    auto const with = [&](std::string const& part) {
      *f.mutable_length_delimited() = part;
      std::string to;
      EXPECT_TRUE(fields.SerializeToString(&to));
      take(to);
    };
    if (!whole.empty()) with(whole.substr(0, whole.size() - 1));
    each_cut(*form.FindFieldByNumber(f.number())->message_type(), whole, with);
    *f.mutable_length_delimited() = whole;
  }
}

// Removes the package: "Hang.evidence".
std::string short_name(std::string const& full_name, std::string const& package) {
  return full_name.substr(package.size() + 1);
}
std::string short_name(FieldDescriptor const* f) {
  return short_name(f->full_name(), f->file()->package());
}

std::uint64_t number_in(Message const& m, FieldDescriptor const* f, int i) {
  auto const& r = *m.GetReflection();
  bool const many = f->is_repeated();
  switch (f->cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return static_cast<std::uint64_t>(many ? r.GetRepeatedInt32(m, f, i) : r.GetInt32(m, f));
    case FieldDescriptor::CPPTYPE_INT64:
      return static_cast<std::uint64_t>(many ? r.GetRepeatedInt64(m, f, i) : r.GetInt64(m, f));
    case FieldDescriptor::CPPTYPE_UINT32:
      return many ? r.GetRepeatedUInt32(m, f, i) : r.GetUInt32(m, f);
    case FieldDescriptor::CPPTYPE_UINT64:
      return many ? r.GetRepeatedUInt64(m, f, i) : r.GetUInt64(m, f);
    case FieldDescriptor::CPPTYPE_BOOL:
      return many ? r.GetRepeatedBool(m, f, i) : r.GetBool(m, f);
    default:
      ADD_FAILURE() << f->full_name() << " has a type that this test does not know";
      return 0;
  }
}

bool is_number(FieldDescriptor const* f) {
  return f->cpp_type() != FieldDescriptor::CPPTYPE_STRING &&
         f->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE &&
         f->cpp_type() != FieldDescriptor::CPPTYPE_FLOAT;
}

bool is_64_bits(FieldDescriptor const* f) {
  return f->cpp_type() == FieldDescriptor::CPPTYPE_INT64 ||
         f->cpp_type() == FieldDescriptor::CPPTYPE_UINT64;
}

// Formats a value for comparison with other fields of the same wire type.
std::string value_in(Message const& m, FieldDescriptor const* f, int i) {
  auto const& r = *m.GetReflection();
  bool const many = f->is_repeated();
  if (is_number(f)) return std::to_string(number_in(m, f, i));
  if (f->cpp_type() == FieldDescriptor::CPPTYPE_FLOAT)
    return std::to_string(many ? r.GetRepeatedFloat(m, f, i) : r.GetFloat(m, f));
  if (f->cpp_type() == FieldDescriptor::CPPTYPE_STRING)
    return many ? r.GetRepeatedString(m, f, i) : r.GetString(m, f);
  if (!many && !r.HasField(m, f)) return "absent";
  return (many ? r.GetRepeatedMessage(m, f, i) : r.GetMessage(m, f)).SerializeAsString();
}

std::vector<std::string> values_in(Message const& m, FieldDescriptor const* f) {
  std::vector<std::string> all;
  if (!f->is_repeated()) all.push_back(value_in(m, f, 0));
  for (int i = 0; f->is_repeated() && i < m.GetReflection()->FieldSize(m, f); ++i)
    all.push_back(value_in(m, f, i));
  return all;
}

// Fields of equal wire type and equal values in all records can be swapped unnoticed.
int wire_type(FieldDescriptor const* f) {
  int const many = f->is_repeated() ? 100 : 0;
  if (f->type() == FieldDescriptor::TYPE_FIXED64) return many + 1;
  if (f->type() == FieldDescriptor::TYPE_SINT64) return many + 2;
  if (f->cpp_type() == FieldDescriptor::CPPTYPE_FLOAT) return many + 3;
  return many + (is_number(f) ? 4 : 5);
}

}  // namespace golden_details

using namespace golden_details;

std::vector<golden> read_goldens(std::string const& file) {
  std::vector<golden> all;
  for (auto const& line : lines_of(file)) {
    std::vector<std::string> const parts = absl::StrSplit(line, '\t');
    auto& g = all.emplace_back();
    bool const ok = parts.size() == 4 && absl::CUnescape(parts[0], &g.name) &&
                    absl::CUnescape(parts[2], &g.key) && absl::CUnescape(parts[3], &g.value);
    EXPECT_TRUE(ok) << file << ": " << line;
    if (ok) g.what = parts[1];
  }
  EXPECT_FALSE(all.empty()) << file;
  return all;
}

void expect_golden_lines(std::string const& file, std::vector<std::string> const& lines) {
  if (auto const* const root = std::getenv("MUSTER_WRITE_GOLDENS")) {
    auto const path = std::string(root) + "/" + file;
    std::ofstream out(path);
    for (auto const& line : lines) out << line << '\n';
    ASSERT_TRUE(out.flush()) << "cannot write " << path;
    return;
  }
  auto const known = lines_of(file);
  for (std::size_t i = 0; i < std::max(known.size(), lines.size()); ++i)
    ASSERT_EQ(i < lines.size() ? lines[i] : "no line", i < known.size() ? known[i] : "no line")
        << file << ":" << i + 1
        << ": if only new lines and new fields differ, write the file again with "
           "MUSTER_WRITE_GOLDENS=<root of the source tree>";
}

void expect_goldens(std::string const& file, std::vector<golden> const& records) {
  std::vector<std::string> lines;
  for (auto const& g : records) lines.push_back(line_of(g));
  expect_golden_lines(file, lines);
}

bool has_whole_fields(std::string_view bytes) {
  UnknownFieldSet fields;
  return parse(fields, bytes);
}

std::string with_unknown_fields(Descriptor const& form, std::string_view bytes) {
  return rewritten(form, bytes, [](UnknownFieldSet& fields) {
    fields.AddVarint(100'001, ~std::uint64_t{0});
    fields.AddFixed32(100'002, 7);
    fields.AddFixed64(100'003, 8);
    *fields.AddLengthDelimited(100'004) = "\xff unknown";
  });
}

std::string with_fields_reversed(Descriptor const& form, std::string_view bytes) {
  return rewritten(form, bytes, [](UnknownFieldSet& fields) {
    std::map<int, UnknownFieldSet, std::greater<>> by_number;
    for (int i = 0; i < fields.field_count(); ++i)
      by_number[fields.field(i).number()].AddField(fields.field(i));
    fields.Clear();
    for (auto const& [number, all] : by_number) fields.MergeFrom(all);
  });
}

std::vector<std::string> with_nested_message_cut(Descriptor const& form, std::string_view bytes) {
  std::vector<std::string> all;
  each_cut(form, bytes, [&all](std::string const& one) { all.push_back(one); });
  return all;
}

void field_coverage::add(Message const& record) {
  add(record,
      short_name(record.GetDescriptor()->full_name(), record.GetDescriptor()->file()->package()));
}

void field_coverage::add(Message const& m, std::string const& path) {
  auto const& r = *m.GetReflection();
  auto const& form = *m.GetDescriptor();
  EXPECT_TRUE(r.GetUnknownFields(m).empty()) << path << " has a field that is not described";
  for (int n = 0; n < form.field_count(); ++n) {
    auto const* const f = form.field(n);
    auto& use = uses_[f];
    auto const name = path + "." + f->name();
    int const size = f->is_repeated() ? r.FieldSize(m, f) : r.HasField(m, f);
    auto const values = values_in(m, f);
    if (size == 0) use.absent = true;
    if (size > 0) set_paths_.insert(name);
    if (f->has_presence() && size > 0 && is_number(f) && number_in(m, f, 0) == 0) use.zero = true;
    if (std::set(values.begin(), values.end()).size() > 1) use.several = true;
    for (int i = 0; is_number(f) && i < static_cast<int>(values.size()); ++i) {
      auto const number = number_in(m, f, i);
      use.numbers.insert(number);
      if (number >> 32 != 0 && number >> 32 != 0xffff'ffff) use.wide = true;
    }
    for (int other = 0; other < n; ++other)
      if (wire_type(form.field(other)) == wire_type(f) && values_in(m, form.field(other)) != values)
        different_.emplace(form.field(other), f);
    if (f->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) continue;
    for (int i = 0; i < size; ++i)
      add(f->is_repeated() ? r.GetRepeatedMessage(m, f, i) : r.GetMessage(m, f), name);
  }
}

std::set<std::string> field_coverage::gaps(Descriptor const& form) const {
  std::set<std::string> all;
  add_gaps(form, short_name(form.full_name(), form.file()->package()), all);
  return all;
}

void field_coverage::add_gaps(Descriptor const& form, std::string const& path,
                              std::set<std::string>& to) const {
  for (int n = 0; n < form.field_count(); ++n) {
    auto const* const f = form.field(n);
    if (!set_paths_.contains(path + "." + f->name())) to.insert(path + "." + f->name() + " unset");
    auto const found = uses_.find(f);
    auto const use = found == uses_.end() ? field_coverage::use() : found->second;
    auto const name = short_name(f);
    if (!use.absent) to.insert(name + " absent");
    if (f->has_presence() && is_number(f) && !use.zero) to.insert(name + " zero");
    if (f->is_repeated() && !use.several) to.insert(name + " several");
    if (is_64_bits(f) && !use.wide) to.insert(name + " wide");
    for (int other = 0; other < n; ++other)
      if (wire_type(form.field(other)) == wire_type(f) &&
          !different_.contains({form.field(other), f}))
        to.insert(short_name(form.field(other)) + " " + name + " same");
    if (f->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE)
      add_gaps(*f->message_type(), path + "." + f->name(), to);
  }
}

std::set<std::uint64_t> field_coverage::numbers(std::string const& field) const {
  for (auto const& [f, use] : uses_)
    if (short_name(f) == field) return use.numbers;
  ADD_FAILURE() << "no record has a field " << field;
  return {};
}

std::set<std::string> field_coverage::messages() const {
  std::set<std::string> all;
  for (auto const& [f, use] : uses_) all.insert(f->containing_type()->full_name());
  return all;
}

}  // namespace muster::test

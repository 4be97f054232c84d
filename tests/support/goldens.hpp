// Golden files of stored records, and checks that need only the Protobuf description of a record.
//
// A golden file has one line per record: the name of the case, the kind of change ("put", "erase",
// "erase_below"), the key, and the bytes. Tabs separate the columns; all but printable ASCII is
// escaped as in C.
//
// MUSTER_WRITE_GOLDENS=1 writes the files again. The diff must show only new lines, or lines with a
// new field: data of older servers must not change.
#pragma once

#include <google/protobuf/message.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace muster::test {

struct golden {
  std::string name;  ///< of the case
  std::string what;  ///< "put", "erase", "erase_below"
  std::string key;
  std::string value;

  bool operator==(golden const&) const = default;
};

/// Reads a golden file. `file` is relative to the source tree.
std::vector<golden> read_goldens(std::string const& file);
/// Writes the golden file instead if MUSTER_WRITE_GOLDENS is set.
void expect_goldens(std::string const& file, std::vector<golden> const& records);
/// Compares lines of text with a golden file.
void expect_golden_lines(std::string const& file, std::vector<std::string> const& lines);

/// Returns true if the bytes consist of complete fields.
bool has_whole_fields(std::string_view bytes);
/// Adds fields of every wire type, also to nested messages.
std::string with_unknown_fields(google::protobuf::Descriptor const& form, std::string_view bytes);
/// Reverses the order of fields, also in nested messages. Elements of a repeated field keep their
/// order.
std::string with_fields_reversed(google::protobuf::Descriptor const& form, std::string_view bytes);
/// Returns variants in which one nested message lacks its last byte. All lengths around it are
/// correct.
std::vector<std::string> with_nested_message_cut(google::protobuf::Descriptor const& form,
                                                 std::string_view bytes);

/// Fields that a set of records uses, and how.
class field_coverage {
 public:
  void add(google::protobuf::Message const& record);
  /// Returns what the records do not show of a message and of the messages in it, one line each:
  ///   PATH unset       no record sets the field, which is reached through these fields
  ///   FIELD absent     all records set the field
  ///   FIELD zero       no record has the `optional` field with the value 0
  ///   FIELD several    no record has two different elements of the repeated field
  ///   FIELD wide       no record has a value of more than 32 bits
  ///   FIELD FIELD same no record has different values in these two fields
  std::set<std::string> gaps(google::protobuf::Descriptor const& form) const;
  /// Values of an integer field, such as "Hang.evidence". Absent fields count as 0.
  std::set<std::uint64_t> numbers(std::string const& field) const;
  std::set<std::string> messages() const;

 private:
  using field = google::protobuf::FieldDescriptor const*;
  struct use {
    bool absent = false, zero = false, several = false, wide = false;
    std::set<std::uint64_t> numbers;
  };

  void add(google::protobuf::Message const& m, std::string const& path);
  void add_gaps(google::protobuf::Descriptor const& form, std::string const& path,
                std::set<std::string>& to) const;

  std::set<std::string> set_paths_;
  std::map<field, use> uses_;
  std::set<std::pair<field, field>> different_;
};

}  // namespace muster::test

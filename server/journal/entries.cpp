#include "server/journal/entries.hpp"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/unknown_field_set.h>
#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <memory>

#include "base/text.hpp"
#include "base/utf8.hpp"
#include "muster/journal/v1/records.pb.h"

namespace muster::server::journal {
namespace {

namespace wire = muster::journal::v1;

template <class Message>
google::protobuf::Message const& form() {
  return Message::default_instance();
}

bool repair_text(google::protobuf::Descriptor const& form,
                 google::protobuf::UnknownFieldSet& fields) {
  using google::protobuf::FieldDescriptor;
  for (int i = 0; i < fields.field_count(); ++i) {
    auto& f = *fields.mutable_field(i);
    auto const* const known = form.FindFieldByNumber(f.number());
    if (!known || f.type() != google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED) continue;
    if (known->type() == FieldDescriptor::TYPE_STRING)
      f.set_length_delimited(to_utf8(f.length_delimited()));
    if (known->type() != FieldDescriptor::TYPE_MESSAGE) continue;
    google::protobuf::UnknownFieldSet inner;
    if (!inner.ParseFromString(f.length_delimited()) ||
        !repair_text(*known->message_type(), inner) ||
        !inner.SerializeToString(f.mutable_length_delimited()))
      return false;
  }
  return true;
}

// Repairs texts that are not UTF-8, because Protobuf would reject the whole message. Returns null
// if the message has other damage.
std::unique_ptr<google::protobuf::Message> parsed(entry_kind const& kind, std::string_view value) {
  std::unique_ptr<google::protobuf::Message> m(kind.form().New());
  auto const size = static_cast<int>(value.size());
  if (m->ParseFromArray(value.data(), size)) return m;
  google::protobuf::UnknownFieldSet fields;
  std::string repaired;
  bool const fine = fields.ParseFromArray(value.data(), size) &&
                    repair_text(*m->GetDescriptor(), fields) &&
                    fields.SerializeToString(&repaired) && m->ParseFromString(repaired);
  return fine ? std::move(m) : nullptr;
}

}  // namespace

muster::result<wire::Format> read_format(store const& s) {
  wire::Format f;
  bool readable = true, empty = true;
  auto read = s.read(format_key, [&](std::string_view, std::string_view value) {
    readable = f.ParseFromArray(value.data(), static_cast<int>(value.size()));
    return false;
  });
  // Servers write the format entry first; copies write it last.
  if (read.ok() && readable && f.version() == 0)
    read = s.read({}, [&](auto, auto) { return empty = false; });
  if (!read.ok()) return read;
  if (!readable || !empty)
    return muster::status{
        code::failed_precondition,
        readable
            ? "is not Muster server data, or is an interrupted copy: its format entry is missing"
            : "its format entry cannot be read"};
  return f;
}

std::vector<entry_kind> const& entry_kinds() {
  static std::vector<entry_kind> const all = {
      {"format", "format", {}, form<wire::Format>},
      {"c", "cluster", {"cluster", ""}, form<wire::Cluster>},
      {"t", "task", {"cluster", "task"}, form<wire::Task>},
      {"k", "key", {"cluster", "key"}, form<wire::Key>},
      {"b", "barrier", {"cluster", "barrier"}, form<wire::Barrier>},
      {"j", "job", {"job"}, form<wire::DurableJob>},
      {"a", "accepted", {"job", "first"}, form<wire::Accepted>},
      {"e", "closure", {"job", "order"}, form<wire::ClosureState>},
      {"p", "per_worker", {"job", "value"}, form<wire::PerWorker>},
      {"u", "token", {"token"}, form<wire::Token>},
      {"g", "program", {"program"}, form<wire::Program>},
      {"h", "program_course", {"program"}, form<wire::ProgramCourse>},
      {"i", "program_attempt", {"program", "attempt"}, form<wire::ProgramAttempt>},
      {"l", "placement", {"program"}, form<wire::Placement>},
      {"r", "dead_rank", {"program", "rank"}, form<wire::DeadRank>},
      {"x", "attempt_record", {"program", "attempt"}, form<wire::AttemptRecord>},
  };
  return all;
}

std::string_view const* entry_name::part(std::string_view name) const {
  auto const it =
      std::find_if(parts.begin(), parts.end(), [&](auto const& p) { return p.name == name; });
  return it == parts.end() ? nullptr : &it->value;
}

std::string entry_name::text() const {
  if (!kind) return "entry of an unknown kind";
  auto text = std::string(kind->name);
  auto const* const cluster = part("cluster");
  for (auto const& p : parts)
    if (&p.value != cluster) text += " \"" + escaped(p.value) + "\"";
  if (cluster) text += (parts.size() > 1 ? " of cluster '" : " '") + escaped(*cluster) + "'";
  return text;
}

entry_name name_of(std::string_view key) {
  entry_name name;
  auto const tag = key.substr(0, key.find('\0'));
  auto const& all = entry_kinds();
  auto const kind =
      std::find_if(all.begin(), all.end(), [&](auto const& k) { return k.tag == tag; });
  if (kind == all.end()) return name;
  auto rest = key.substr(tag.size());
  for (std::size_t i = 0; i < kind->parts.size(); ++i) {
    if (rest.empty()) return name;
    rest.remove_prefix(1);
    auto const value = i + 1 == kind->parts.size() ? rest : rest.substr(0, rest.find('\0'));
    if (kind->parts[i].empty() && !value.empty()) return name;
    if (!kind->parts[i].empty()) name.parts.push_back({kind->parts[i], value});
    rest.remove_prefix(value.size());
  }
  if (rest.empty()) name.kind = &*kind;
  return name;
}

bool is_readable(entry_kind const& kind, std::string_view value) {
  return parsed(kind, value) != nullptr;
}

std::optional<std::string> as_json(entry_kind const& kind, std::string_view value) {
  auto const m = parsed(kind, value);
  if (!m) return {};
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  std::string text;
  if (!google::protobuf::util::MessageToJsonString(*m, &text, options).ok()) return {};
  return text;
}

}  // namespace muster::server::journal

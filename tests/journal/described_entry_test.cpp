// The field tables and records.proto describe the same bytes.
#include "server/journal/described_entry.hpp"

#include <google/protobuf/unknown_field_set.h>
#include <gtest/gtest.h>

#include "muster/journal/v1/records.pb.h"
#include "server/core/access/token_fields.hpp"
#include "server/core/api/attempt_record_fields.hpp"
#include "server/core/api/closure_fields.hpp"
#include "server/core/api/program_fields.hpp"
#include "server/core/coordination/api/coordination_fields.hpp"
#include "server/journal/job_entries.hpp"
#include "server/journal/program_entry.hpp"

namespace muster::server::journal {
namespace {

namespace wire = muster::journal::v1;
namespace protobuf = google::protobuf;

class filler {
 public:
  template <class V>
  void fill(V& to) {
    if constexpr (entry::number<V>) {
      bool ok = true;
      to = entry::from_bits<V>(std::is_enum_v<V> || std::is_same_v<V, bool> ? 1 : ++last_, ok);
    } else if constexpr (std::is_same_v<V, core::blob>) {
      to = core::blob("value " + std::to_string(++last_), core::encoding::bytes);
    } else if constexpr (entry::converted<V>) {
      auto e = entry_of(to);
      fill(e);
      (void)from_entry(std::move(e), to);
    } else if constexpr (std::is_same_v<V, std::string>) {
      to = "text " + std::to_string(++last_);
    } else if constexpr (core::described<V>) {
      core::each_stored<V>([&](auto const& f) { fill(f.get(to)); });
    } else if constexpr (entry::is_pair<V>) {
      fill(to.first);
      fill(to.second);
    } else if constexpr (entry::is_list<V>) {
      to.resize(2);
      for (std::size_t i = 0; i < to.size(); ++i) {
        typename V::value_type one{};
        fill(one);
        to[i] = std::move(one);
      }
    } else if constexpr (std::is_same_v<V, std::shared_ptr<core::closure_extras const>>) {
      core::closure_extras one;
      fill(one);
      to = std::make_shared<core::closure_extras const>(std::move(one));
    } else if constexpr (entry::is_optional<V>) {
      fill(to.emplace());
    }
  }

 private:
  std::uint32_t last_ = 0;
};

// Returns names that differ in REST, and flags stored as enumerations.
std::string_view name_in_entries(std::string_view name) {
  constexpr std::pair<std::string_view, std::string_view> others[] = {
      {"retry_delay", "retry_initial"},  {"retry_delay_max", "retry_max"},
      {"on_error", "continue_on_error"}, {"type", "service_type"},
      {"stateful", "stateful_jobs"},     {"agents", "agents_tls"},
      {"torch", "torch_port"},           {"torch_era", "torch_era_b"}};
  for (auto const& [rest, entry] : others)
    if (rest == name) return entry;
  return name;
}

template <class T, class Message>
void expect_same() {
  T filled{};
  filler().fill(filled);
  auto const bytes = encoded_entry(filled);
  Message m;
  ASSERT_TRUE(m.ParseFromString(bytes));
  auto const& form = *Message::descriptor();
  EXPECT_EQ(m.SerializeAsString(), bytes) << form.name();
  EXPECT_TRUE(m.GetReflection()->GetUnknownFields(m).empty()) << form.name();
  std::size_t stored = 0;
  auto const compare = [&](core::field_facts const& f) {
    ++stored;
    auto const* const known = form.FindFieldByNumber(static_cast<int>(f.number));
    ASSERT_NE(known, nullptr) << form.name() << " " << f.name;
    EXPECT_TRUE(known->name() == f.name || known->name() == name_in_entries(f.name))
        << form.name() << " " << f.name;
    if (known->type() == protobuf::FieldDescriptor::TYPE_STRING) {
      EXPECT_FALSE(f.bytes) << form.name() << " " << f.name;
    }
    if (known->type() == protobuf::FieldDescriptor::TYPE_BYTES) {
      EXPECT_TRUE(f.bytes) << form.name() << " " << f.name;
    }
  };
  core::each_stored<T>([&](auto const& f) {
    using value = std::remove_cvref_t<decltype(f.get(filled))>;
    if constexpr (entry::has_flag<value> || entry::has_encoding<value>) ++stored;
    if constexpr (entry::is_list<value>) {
      if constexpr (core::in_columns<typename value::value_type>)
        return core::each_stored<typename value::value_type>(compare);
    }
    compare(f);
  });
  EXPECT_EQ(stored, static_cast<std::size_t>(form.field_count())) << form.name();
  T read{};
  bool in_range = true;
  EXPECT_TRUE(decode_entry(bytes, read, in_range));
  EXPECT_TRUE(in_range);
  EXPECT_EQ(encoded_entry(read), bytes) << form.name();
  for (std::size_t n = 0; n < bytes.size(); ++n) {
    T part{};
    EXPECT_EQ(decode_entry(std::string_view(bytes).substr(0, n), part, in_range),
              m.ParseFromArray(bytes.data(), static_cast<int>(n)))
        << form.name() << " of " << n << " bytes";
  }
}

TEST(described_entry, programs_are_as_protobuf_writes_them) {
  expect_same<program_entry, wire::Program>();
  expect_same<core::program_tasks, wire::ProgramTasks>();
  expect_same<core::hang, wire::Hang>();
  expect_same<core::program_cause, wire::ProgramCause>();
  expect_same<core::coordination_failure, wire::CoordinationFailure>();
  expect_same<core::programs::course_fact, wire::ProgramCourse>();
  expect_same<core::agreed_stop, wire::AgreedStop>();
  expect_same<core::program_attempt_view, wire::ProgramAttempt>();
  expect_same<core::programs::placement_fact, wire::Placement>();
  expect_same<core::programs::placement_fact::place, wire::Placement::Place>();
  expect_same<core::programs::rank_fact, wire::DeadRank>();
}

TEST(described_entry, records_of_attempts_are_as_protobuf_writes_them) {
  using core::attempt_record;
  expect_same<attempt_record, wire::AttemptRecord>();
  expect_same<attempt_record::event, wire::AttemptRecord::Event>();
  expect_same<attempt_record::meeting, wire::AttemptRecord::Meeting>();
  expect_same<attempt_record::late_task, wire::AttemptRecord::Latecomer>();
  expect_same<attempt_record::stack, wire::AttemptRecord::Stack>();
  expect_same<attempt_record::ended_rank, wire::AttemptRecord::Rank>();
}

TEST(described_entry, clusters_are_as_protobuf_writes_them) {
  namespace coordination = core::coordination;
  expect_same<coordination::cluster_spec, wire::ClusterSpec>();
  expect_same<coordination::job_spec, wire::Job>();
  expect_same<coordination::fault_entry, wire::Fault>();
  expect_same<coordination::first_cause, wire::Cause>();
  expect_same<coordination::cluster_fact, wire::Cluster>();
  expect_same<coordination::task_fact, wire::Task>();
  expect_same<coordination::barrier_fact, wire::Barrier>();
  expect_same<coordination::key_fact, wire::Key>();
}

TEST(described_entry, jobs_and_closures_are_as_protobuf_writes_them) {
  expect_same<job_entry, wire::DurableJob>();
  expect_same<core::failure, wire::Failure>();
  expect_same<core::closure_extras, wire::Extras>();
  expect_same<core::input_ref, wire::Input>();
  expect_same<accepted_entry, wire::Accepted>();
  expect_same<core::callable_name, wire::Callable>();
  expect_same<core::closure_fact, wire::ClosureState>();
  expect_same<core::attempt_entry, wire::Attempt>();
  expect_same<per_worker_entry, wire::PerWorker>();
}

TEST(described_entry, tokens_are_as_protobuf_writes_them) {
  expect_same<core::token, wire::Token>();
  core::token never_ends, ended;
  ended.expires = {};
  wire::Token w;
  EXPECT_TRUE(w.ParseFromString(encoded_entry(never_ends)) && !w.has_expires());
  EXPECT_TRUE(w.ParseFromString(encoded_entry(ended)) && w.has_expires());
  bool in_range = true;
  core::token read;
  EXPECT_TRUE(decode_entry(encoded_entry(never_ends), read, in_range));
  EXPECT_EQ(read.expires, core::never);
}

TEST(described_entry, absent_fields_are_empty_and_unknown_ones_are_skipped) {
  core::hang h;
  h.rank = 7;
  h.task = "worker:1";
  bool in_range = true;
  std::string bytes;
  entry::put_bytes(bytes, 1'000, "of a later version");
  EXPECT_TRUE(decode_entry(bytes, h, in_range));
  EXPECT_TRUE(in_range);
  EXPECT_EQ(h.rank, 0);
  EXPECT_TRUE(h.task.empty());
}

TEST(described_entry, a_number_without_an_enumerator_is_out_of_range) {
  wire::Hang w;
  w.set_evidence(200);
  core::hang h;
  bool in_range = true;
  EXPECT_TRUE(decode_entry(w.SerializeAsString(), h, in_range));
  EXPECT_FALSE(in_range);
}

TEST(described_entry, text_that_is_not_utf8_is_repaired_and_bytes_are_kept) {
  core::hang h;
  h.task = h.line = "\xff";
  core::hang read;
  bool in_range = true;
  EXPECT_TRUE(decode_entry(encoded_entry(h), read, in_range));
  EXPECT_EQ(read.task, to_utf8("\xff"));
  EXPECT_EQ(read.line, "\xff");
}

TEST(described_entry, columns_of_different_lengths_are_out_of_range) {
  wire::Placement w;
  w.add_group(1);
  w.add_group(2);
  w.add_index(1);
  w.add_place(1);
  w.add_port(1);
  core::programs::placement_fact f;
  bool in_range = true;
  EXPECT_TRUE(decode_entry(w.SerializeAsString(), f, in_range));
  EXPECT_FALSE(in_range);
  EXPECT_EQ(f.ranks.size(), 1u);
}

}  // namespace
}  // namespace muster::server::journal

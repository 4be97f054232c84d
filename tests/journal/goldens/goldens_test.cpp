// Entries are encoded as servers have done since format 4, and decoded without loss. See
// tests/support/goldens.hpp.
#include "tests/support/goldens.hpp"

#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>

#include "muster/journal/v1/records.pb.h"
#include "server/journal/entries.hpp"
#include "tests/journal/goldens/numbers.hpp"
#include "tests/journal/goldens/scenes.hpp"

namespace muster::server::journal::goldens {
namespace golden_cases {

using test::golden;
using entries = std::map<std::string, std::string>;

constexpr auto records_file = "tests/journal/goldens/records";
constexpr auto shown_file = "tests/journal/goldens/shown";

char const* word(change::kind what) {
  if (what == change::kind::put) return "put";
  return what == change::kind::erase ? "erase" : "erase_below";
}

// Returns the records by case, without cases that have no entries.
std::map<std::string, entries> committed() {
  std::map<std::string, entries> all;
  for (auto const& g : test::read_goldens(records_file))
    if (g.what == "put") all[g.name][g.key] = g.value;
  return all;
}

// Calls `f(case, key, kind, value)` for each entry.
void each_committed(std::function<void(std::string const&, std::string const&, entry_kind const&,
                                       std::string const&)> const& f) {
  for (auto const& [name, of_it] : committed())
    for (auto const& [key, value] : of_it) {
      auto const* const kind = name_of(key).kind;
      if (!kind)
        ADD_FAILURE() << name << ": unknown kind of entry";
      else
        f(name, key, *kind, value);
    }
}

memory_store stored(entries const& all) {
  memory_store s;
  std::vector<change> batch;
  for (auto const& [key, value] : all) batch.push_back({change::kind::put, key, value});
  EXPECT_TRUE(s.write(batch).ok());
  return s;
}

entries entries_of(store const& s) {
  entries all;
  EXPECT_TRUE(s.read({}, [&all](auto key, auto value) {
                 all.emplace(key, value);
                 return true;
               }).ok());
  return all;
}

// Returns no entries if the journal rejects them.
entries reencoded_entries(entries const& all) {
  auto const back = reencoded(stored(all));
  return back ? entries_of(*back) : entries();
}

void expect_equal(entries const& got, entries const& want, std::string const& name) {
  for (auto const& [key, value] : want) {
    auto const it = got.find(key);
    if (it == got.end())
      ADD_FAILURE() << name << ": " << name_of(key).text() << " is missing";
    else
      EXPECT_EQ(it->second, value) << name << ": " << name_of(key).text() << "\n"
                                   << as_json(*name_of(key).kind, value).value_or("") << "\nnow\n"
                                   << as_json(*name_of(key).kind, it->second).value_or("");
  }
  EXPECT_EQ(got.size(), want.size()) << name;
}

entries with(std::string const& name, std::string const& key, std::string value) {
  static auto const all = committed();
  auto changed = all.at(name);
  changed[key] = std::move(value);
  return changed;
}

google::protobuf::Descriptor const& form_of(entry_kind const& kind) {
  return *kind.form().GetDescriptor();
}

std::unique_ptr<google::protobuf::Message> parsed(entry_kind const& kind,
                                                  std::string const& value) {
  std::unique_ptr<google::protobuf::Message> m(kind.form().New());
  EXPECT_TRUE(m->ParseFromString(value)) << kind.name;
  return m;
}

bool is_format(std::string const& key) {
  return key == format_key;
}

test::field_coverage coverage() {
  test::field_coverage all;
  each_committed([&all](auto const&, auto const&, entry_kind const& kind, auto const& value) {
    all.add(*parsed(kind, value));
  });
  return all;
}

TEST(journal_goldens, match_what_the_journal_writes) {
  std::vector<golden> all;
  for (auto const& s : all_scenes())
    for (auto const& c : s.batch) all.push_back({s.name, word(c.what), c.key, c.value});
  test::expect_goldens(records_file, all);
}

TEST(journal_goldens, are_shown_as_json) {
  std::vector<std::string> lines;
  each_committed([&lines](auto const& name, auto const& key, auto const& kind, auto const& value) {
    auto const json = as_json(kind, value);
    ASSERT_TRUE(json) << name;
    lines.push_back(name + '\t' + std::string(kind.name) + '\t' + *json);
    EXPECT_EQ(json->find('\n'), std::string::npos) << key;
  });
  test::expect_golden_lines(shown_file, lines);
}

TEST(journal_goldens, are_unchanged_after_loading) {
  for (auto const& [name, of_it] : committed()) {
    if (is_format(of_it.begin()->first)) continue;
    auto const back = reencoded(stored(of_it));
    ASSERT_TRUE(back) << name << ": " << back.error().message;
    expect_equal(entries_of(*back), of_it, name);
  }
}

TEST(journal_goldens, format_entries_are_readable) {
  for (auto const& [name, of_it] : committed()) {
    if (!is_format(of_it.begin()->first) || name == "empty format") continue;
    auto const f = read_format(stored(of_it));
    ASSERT_TRUE(f) << f.error().message;
    EXPECT_EQ(f->SerializeAsString(), of_it.begin()->second);
  }
}

TEST(journal_goldens, with_unknown_fields_are_loaded) {
  each_committed([](auto const& name, auto const& key, auto const& kind, auto const& value) {
    auto const newer = test::with_unknown_fields(form_of(kind), value);
    ASSERT_GT(newer.size(), value.size());
    EXPECT_TRUE(is_readable(kind, newer));
    if (!is_format(key))
      expect_equal(reencoded_entries(with(name, key, newer)), committed().at(name), name);
  });
}

// A repair by an older server writes unknown fields last.
TEST(journal_goldens, with_fields_in_another_order_are_loaded) {
  each_committed([](auto const& name, auto const& key, auto const& kind, auto const& value) {
    auto const turned = test::with_fields_reversed(form_of(kind), value);
    ASSERT_EQ(turned.size(), value.size());
    if (!is_format(key))
      expect_equal(reencoded_entries(with(name, key, turned)), committed().at(name), name);
  });
}

// Unreadable attempt records are skipped; all other unreadable entries are errors.
TEST(journal_goldens, truncated_entries_are_refused) {
  auto const expect_refused = [](auto const& name, auto const& key, auto const& part) {
    auto const back = reencoded(stored(with(name, key, part)));
    if (key.starts_with('x')) {
      ASSERT_TRUE(back) << name << ": " << back.error().message;
      EXPECT_FALSE(entries_of(*back).contains(key)) << name;
    } else {
      ASSERT_FALSE(back) << name << ": " << name_of(key).text() << " with " << part.size()
                         << " bytes is loaded";
      EXPECT_EQ(back.error().code, code::internal);
    }
  };
  each_committed([&](auto const& name, auto const& key, auto const& kind, auto const& value) {
    if (is_format(key)) return;
    for (std::size_t n = 0; n < value.size(); ++n) {
      auto const part = value.substr(0, n);
      if (test::has_whole_fields(part))
        (void)reencoded(stored(with(name, key, part)));  // must not crash
      else
        expect_refused(name, key, part);
    }
    for (auto const& part : test::with_nested_message_cut(form_of(kind), value))
      expect_refused(name, key, part);
  });
}

// Fields that loading requires, and fields of a shared message that its user does not set.
std::set<std::string> known_gaps() {
  return {"Accepted.args absent",
          "Accepted.extras.labels.amount unset",
          "Accepted.extras.resources.value unset",
          "Accepted.function absent",
          "Accepted.functions absent",
          "Accepted.ids absent",
          "AgreedStop.attempt absent",
          "ClosureState.state absent",
          "Cluster.spec absent",
          "DeadRank.attempt absent",
          "DurableJob.weight absent",
          "PerWorker.function absent",
          "Placement.Place.first_port absent",
          "Placement.Place.last_port absent",
          "Placement.Place.lease absent",
          "Placement.attempt absent",
          "Placement.group absent",
          "Placement.index absent",
          "Placement.place absent",
          "Placement.places absent",
          "Placement.port absent",
          "Program.hang_after absent",
          "Program.tasks absent",
          "Program.tasks.resources.value unset",
          "Program.weight absent",
          "ProgramCourse.failures.value unset",
          "ProgramTasks.max absent",
          "ProgramTasks.min absent",
          "Task.state absent"};
}

TEST(journal_goldens, show_every_field_of_every_message) {
  auto const all = coverage();
  std::set<std::string> gaps;
  for (auto const& kind : entry_kinds()) gaps.merge(all.gaps(form_of(kind)));
  EXPECT_EQ(gaps, known_gaps());
}

TEST(journal_goldens, show_every_message_of_the_description) {
  auto const seen = coverage().messages();
  auto const* const file = muster::journal::v1::Cluster::descriptor()->file();
  std::vector<google::protobuf::Descriptor const*> all;
  for (int i = 0; i < file->message_type_count(); ++i) all.push_back(file->message_type(i));
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (int n = 0; n < all[i]->nested_type_count(); ++n) all.push_back(all[i]->nested_type(n));
    EXPECT_TRUE(seen.contains(all[i]->full_name())) << all[i]->full_name();
  }
}

TEST(journal_goldens, show_every_enumerator) {
  auto const all = coverage();
  auto const expect = [&all](std::string const& field, auto const& numbers) {
    std::set<std::uint64_t> want;
    for (auto const& n : numbers) want.insert(n.stored);
    for (auto const n : want) EXPECT_TRUE(all.numbers(field).contains(n)) << field << " " << n;
  };
  expect("ClusterSpec.error_delivery", numbers::error_delivery);
  expect("ClusterSpec.agents_tls", numbers::agent_wire);
  expect("ClusterSpec.torch_era_b", numbers::torch_era);
  expect("Fault.code", numbers::code);
  expect("Task.state", numbers::agent_state);
  expect("Key.encoding", numbers::encoding);
  expect("Barrier.purpose", numbers::barrier_purpose);
  expect("DurableJob.continue_on_error", numbers::on_error);
  expect("DurableJob.state", numbers::job_state);
  expect("DurableJob.delivery", numbers::delivery);
  expect("Failure.kind", numbers::failure_kind);
  expect("Accepted.encodings", numbers::encoding);
  expect("PerWorker.encoding", numbers::encoding);
  expect("Attempt.end", numbers::attempt_end);
  expect("Attempt.blamed", numbers::blame);
  expect("ClosureState.state", numbers::closure_state);
  expect("ClosureState.encoding", numbers::encoding);
  expect("ClosureState.dropped", numbers::release_reason);
  expect("Token.role", numbers::role);
  expect("Program.store", numbers::store_place);
  expect("Program.on_hang", numbers::hang_policy);
  expect("CoordinationFailure.code", numbers::code);
  expect("Hang.evidence", numbers::hang_evidence);
  expect("ProgramCause.kind", numbers::cause_kind);
  expect("ProgramCourse.state", numbers::program_state);
  expect("ProgramCourse.goal", numbers::goal);
  expect("ProgramAttempt.end", numbers::program_end);
  expect("DeadRank.state", numbers::rank_state);
  expect("AttemptRecord.Event.kind", numbers::attempt_event);
  expect("AttemptRecord.Stack.state", numbers::stack_state);
  EXPECT_TRUE(all.numbers("ClosureState.state").contains(numbers::released_closure));
}

// Entries of older servers lack the newer fields.
TEST(journal_goldens, entries_of_older_servers_get_defaults) {
  auto all = committed().at("full program");
  for (auto& [key, value] : all) {
    if (!key.starts_with('g')) continue;
    muster::journal::v1::Program w;
    ASSERT_TRUE(w.ParseFromString(value));
    w.clear_weight();
    w.clear_hang_after();
    value = w.SerializeAsString();
  }
  auto const found = load_programs(stored(all));
  ASSERT_TRUE(found) << found.error().message;
  auto const& spec = *found->at(0).program.submitted.spec;
  EXPECT_EQ(spec.weight, 1u);
  EXPECT_EQ(spec.on_hang, core::hang_policy::tell);
  EXPECT_EQ(spec.hang_after, std::chrono::seconds(60));
}

}  // namespace golden_cases
}  // namespace muster::server::journal::goldens

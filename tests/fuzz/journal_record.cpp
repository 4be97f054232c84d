// Fuzzes the entries of the journal, as a server and `muster data` read them at the start. The
// input is a store: entries with the length of the key (1 byte), the key, the length of the value
// (2 bytes, little endian) and the value.
//
// Checked properties:
// - An entry is shown as JSON if and only if it is readable.
// - A refusal of the loader is INTERNAL and has a message.
// - Loaded facts are encoded to a store that loads, with equal facts. No entry of a job, a program
//   or a token is lost, and a further round changes no byte. This applies to stores whose keys have
//   the form that servers write.
// - After a planned repair the store loads, and a second plan changes nothing.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "muster/journal/v1/records.pb.h"
#include "server/journal/entries.hpp"
#include "server/journal/fact_encoding.hpp"
#include "server/journal/inspection.hpp"
#include "server/journal/repair.hpp"
#include "tests/fuzz/input_reader.hpp"
#include "tests/fuzz/require.hpp"
#include "tests/journal/memory_store.hpp"

namespace {

using namespace muster::server::journal;
using fuzz::require;
using muster::code;
namespace core = muster::core;

class view_of_memory final : public view {
 public:
  explicit view_of_memory(memory_store const& of) : of_(of) {}

  muster::status read(std::string_view prefix, visitor const& v) const override {
    return of_.read(prefix, v);
  }
  std::uint64_t bytes_on_disk() const override { return 0; }
  std::string name() const override { return "input"; }
  std::vector<std::string> const& notes() const override { return notes_; }

 private:
  memory_store const& of_;
  std::vector<std::string> notes_{};
};

struct loaded {
  std::vector<stored_job> jobs{};
  std::vector<stored_program> programs{};
  std::vector<stored_record> records{};
  std::vector<core::coordination::restored_cluster> clusters{};
  std::vector<core::token> tokens{};
};

using entry_list = std::vector<std::pair<std::string, std::string>>;

entry_list entries_of(store const& s) {
  entry_list all;
  (void)s.read({}, [&all](std::string_view key, std::string_view value) {
    all.emplace_back(key, value);
    return true;
  });
  return all;
}

memory_store store_of(fuzz::input_reader input) {
  std::vector<change> batch;
  while (!input.at_end()) {
    auto const key = input.piece(input.byte());
    auto const value = input.piece(input.two_bytes());
    batch.push_back({change::kind::put, std::string(key), std::string(value)});
  }
  memory_store s;
  (void)s.write(batch);
  return s;
}

template <class T>
bool take(muster::result<std::vector<T>> from, std::vector<T>& into) {
  if (!from) {
    require(from.error().code == code::internal, "an entry that cannot be loaded is INTERNAL");
    require(!from.error().message.empty(), "an entry that cannot be loaded is named");
    return false;
  }
  into = std::move(*from);
  return true;
}

// Loads everything, in the order in which a server does.
std::optional<loaded> load(store const& s) {
  loaded all;
  bool const whole = take(load_tokens(s), all.tokens) && take(load_clusters(s), all.clusters) &&
                     take(load_jobs(s), all.jobs) && take(load_programs(s), all.programs) &&
                     take(load_records(s), all.records);
  if (!whole) return {};
  return all;
}

void encode_job(stored_job const& j, std::vector<change>& into) {
  std::vector<core::fact> facts;
  if (j.job.job.id != core::session_id{}) facts.push_back(j.job.job);
  for (auto const& v : j.job.per_worker) facts.push_back(v);
  for (auto const& a : j.job.accepted) {
    facts.push_back(a);
    for (std::uint32_t n = 0; n < a.closures.size(); ++n)
      if (a.closures[n].forgotten) facts.push_back(core::closure_removed{a.job, a.first + n});
  }
  for (auto const& c : j.job.closures) facts.push_back(c);
  encode(j.cluster, facts, into);
}

void encode_program(stored_program const& p, std::vector<change>& into) {
  auto const id = p.program.submitted.program;
  std::vector<core::programs::fact> facts{p.program.submitted};
  for (auto const& a : p.program.attempts) facts.push_back(core::programs::attempt_fact{id, a});
  if (p.program.placement) facts.push_back(*p.program.placement);
  for (auto const& r : p.program.ended) facts.push_back(r);
  facts.push_back(p.program.course);
  encode(p.cluster, facts, into);
}

void encode_cluster(core::coordination::restored_cluster const& c, std::vector<change>& into) {
  auto const& name = c.cluster.spec.name;
  std::vector<core::coordination::fact> facts{{name, c.cluster}};
  for (auto const& t : c.tasks) facts.push_back({name, t});
  for (auto const& k : c.keys) facts.push_back({name, k});
  for (auto const& b : c.barriers) facts.push_back({name, b});
  encode(facts, into);
}

memory_store encoded(loaded const& all) {
  std::vector<change> batch;
  for (auto const& j : all.jobs) encode_job(j, batch);
  for (auto const& p : all.programs) encode_program(p, batch);
  for (auto const& r : all.records) encode(r.program, r.attempt, &r.what, batch);
  for (auto const& c : all.clusters) encode_cluster(c, batch);
  for (auto const& t : all.tokens)
    encode(core::token_change{t.id, std::make_shared<core::token const>(t)}, batch);
  memory_store s;
  (void)s.write(batch);
  return s;
}

// States of closures and clusters are compared only as bytes, because facts about clusters have
// pointers.
bool equal(stored_job const& a, stored_job const& b) {
  return a.cluster == b.cluster && a.job.job == b.job.job && a.job.per_worker == b.job.per_worker &&
         a.job.accepted == b.job.accepted && a.job.closures.size() == b.job.closures.size();
}
bool equal(stored_program const& a, stored_program const& b) {
  return a.cluster == b.cluster && a.program.submitted == b.program.submitted &&
         a.program.course == b.program.course && a.program.attempts == b.program.attempts &&
         a.program.placement == b.program.placement && a.program.ended == b.program.ended;
}
bool equal(stored_record const& a, stored_record const& b) {
  return a.program == b.program && a.attempt == b.attempt && a.what == b.what;
}
bool equal(core::token const& a, core::token const& b) {
  return a == b;
}

template <class T>
void require_equal(std::vector<T> const& a, std::vector<T> const& b, char const* promise) {
  require(std::equal(a.begin(), a.end(), b.begin(), b.end(),
                     [](T const& one, T const& other) { return equal(one, other); }),
          promise);
}

bool consists_of(std::string_view text, std::string_view characters) {
  return text.find_first_not_of(characters) == text.npos;
}

// Returns whether the entry belongs to a job, a program or a token, of which no entry is ignored.
bool is_loaded(std::string_view key) {
  return key.size() > 1 && key[1] == '\0' &&
         std::string_view("jaepghilru").find(key[0]) != std::string_view::npos;
}

// Returns whether a server writes numbers like those in the key.
bool is_written_so(std::string_view key) {
  constexpr std::string_view digits = "0123456789", hexadecimal = "0123456789abcdef";
  constexpr std::string_view most = "4294967295";
  constexpr std::size_t job_end = 18;
  if (key.size() < 2 || key[1] != '\0') return true;
  auto const is = [&key](std::string_view kinds) { return kinds.find(key[0]) != kinds.npos; };
  if (!is("jaepghilrx")) return true;
  if (!consists_of(key.substr(2, 16), hexadecimal)) return false;
  if (is("jghl")) return key.size() == job_end;
  if (key.size() <= job_end || key[job_end] != '\0') return false;
  auto const number = key.substr(job_end + 1);
  if (is("p")) return number.size() == 16 && consists_of(number, hexadecimal);
  return number.size() == most.size() && consists_of(number, digits) && number <= most;
}

std::vector<std::string_view> loaded_keys(entry_list const& of) {
  std::vector<std::string_view> keys;
  for (auto const& [key, value] : of)
    if (is_loaded(key)) keys.push_back(key);
  return keys;
}

void check_loaded(entry_list const& input, loaded const& all) {
  auto const is_ours = [](auto const& e) { return is_written_so(e.first); };
  if (!std::all_of(input.begin(), input.end(), is_ours)) return;
  auto const once = encoded(all);
  auto const again = load(once);
  require(again.has_value(), "encoded facts can be loaded");
  require_equal(all.jobs, again->jobs, "a job is loaded as it was encoded");
  require_equal(all.programs, again->programs, "a program is loaded as it was encoded");
  require_equal(all.records, again->records, "an attempt record is loaded as it was encoded");
  require_equal(all.tokens, again->tokens, "a token is loaded as it was encoded");
  auto const written = entries_of(once);
  require(entries_of(encoded(*again)) == written, "a second round changes no entry");
  require(loaded_keys(written) == loaded_keys(input), "no entry is lost or added");
}

void check_tools(entry_list const& input) {
  for (auto const& [key, value] : input) {
    auto const name = name_of(key);
    (void)name.text();
    if (name.kind)
      require(is_readable(*name.kind, value) == as_json(*name.kind, value).has_value(),
              "an entry that is readable is shown as JSON");
  }
}

void check_repair(memory_store const& s) {
  auto const plan = plan_repair(view_of_memory(s), true);
  if (!plan) return;
  auto repaired = s;
  (void)repaired.write(plan->changes);
  require(inspect(view_of_memory(repaired)).has_value(), "a store loads after its repair");
  auto const second = plan_repair(view_of_memory(repaired), true);
  require(second && second->changes.empty(), "a second repair changes nothing");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  auto const s = store_of({data, size});
  auto const input = entries_of(s);
  check_tools(input);
  if (auto const format = read_format(s); !format)
    require(format.error().code == code::failed_precondition, "a wrong format is refused");
  auto const all = load(s);
  if (all) check_loaded(input, *all);
  if (auto const found = inspect(view_of_memory(s)))
    require(all.has_value(), "a store without a fault can be loaded");
  check_repair(s);
  return 0;
}

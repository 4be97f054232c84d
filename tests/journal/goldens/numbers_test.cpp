// Enumerators are encoded and compared with the complete list in numbers.hpp.
#include "tests/journal/goldens/numbers.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <memory>

#include "muster/journal/v1/records.pb.h"
#include "server/journal/fact_encoding.hpp"
#include "tests/support/enumerators.hpp"

namespace muster::server::journal {
namespace number_cases {

using namespace core;
namespace wire = muster::journal::v1;

// `stored(value)` is the number that the journal writes. `others`: number of enumerators that are
// never stored.
template <class Enum, std::size_t n, class Stored>
void expect_numbers(numbers::number<Enum> const (&all)[n], std::size_t others, Stored stored) {
  EXPECT_EQ(n + others, test::enumerators<Enum>()) << "numbers.hpp lacks an enumerator";
  for (auto const& one : all)
    EXPECT_EQ(std::uint64_t{stored(one.value)}, one.stored)
        << "the enumerator at position " << static_cast<int>(one.value);
}

template <class Message>
Message last(std::vector<change> const& batch) {
  Message m;
  for (auto const& c : batch)
    EXPECT_TRUE(c.what != change::kind::put || m.ParseFromString(c.value));
  return m;
}
template <class Message>
Message written(fact const& f) {
  std::vector<change> batch;
  encode("", std::vector<fact>{f}, batch);
  return last<Message>(batch);
}
template <class Message>
Message written(programs::fact const& f) {
  std::vector<change> batch;
  encode("", std::vector<programs::fact>{f}, batch);
  return last<Message>(batch);
}
template <class Message, class What>
Message of_cluster(What const& what) {
  std::vector<change> batch;
  encode(std::vector<coordination::fact>{{"train", what}}, batch);
  return last<Message>(batch);
}

wire::ClusterSpec spec_with(std::function<void(coordination::cluster_spec&)> const& set) {
  coordination::cluster_fact c;
  set(c.spec);
  return of_cluster<wire::Cluster>(c).spec();
}
wire::Program program_with(std::function<void(program_spec&)> const& set) {
  program_spec s;
  set(s);
  return written<wire::Program>(
      programs::submitted_fact{{}, std::make_shared<program_spec const>(s), {}});
}
wire::ProgramCause cause_with(std::function<void(program_cause&)> const& set) {
  programs::attempt_fact f;
  set(f.about.cause.emplace());
  return written<wire::ProgramAttempt>(f).cause();
}
wire::Attempt attempt_with(attempt_end how, blame whom) {
  closure_fact f;
  f.newest.emplace();
  f.newest->outcome.how = how;
  f.newest->blamed = whom;
  return written<wire::ClosureState>(f).newest();
}
wire::AttemptRecord record(attempt_record const& r) {
  std::vector<change> batch;
  encode(program_id{1}, 1, &r, batch);
  return last<wire::AttemptRecord>(batch);
}

TEST(stored_numbers, of_clusters_never_change) {
  expect_numbers(numbers::error_delivery, 0,
                 [](auto e) { return spec_with([e](auto& s) { s.errors = e; }).error_delivery(); });
  expect_numbers(numbers::agent_wire, 0,
                 [](auto e) { return spec_with([e](auto& s) { s.agents = e; }).agents_tls(); });
  expect_numbers(numbers::torch_era, 0,
                 [](auto e) { return spec_with([e](auto& s) { s.torch = e; }).torch_era_b(); });
  expect_numbers(numbers::agent_state, 0, [](auto e) {
    return of_cluster<wire::Task>(coordination::task_fact{.task = 0, .state = e}).state();
  });
  expect_numbers(numbers::barrier_purpose, 0, [](auto e) {
    return of_cluster<wire::Barrier>(
               coordination::barrier_fact{.id = "b", .purpose = static_cast<std::uint8_t>(e)})
        .purpose();
  });
  expect_numbers(numbers::code, 0, [](auto e) {
    coordination::barrier_fact b{.id = "b"};
    coordination::fault f;
    f.code = e;
    b.result = std::make_shared<coordination::fault const>(f);
    return of_cluster<wire::Barrier>(b).result().code();
  });
  expect_numbers(numbers::encoding, 0, [](auto e) {
    return of_cluster<wire::Key>(coordination::key_fact{"k", blob("", e), {}}).encoding();
  });
}

TEST(stored_numbers, of_jobs_never_change) {
  expect_numbers(numbers::on_error, 0, [](auto e) {
    job_fact f;
    f.spec.on_error = e;
    return written<wire::DurableJob>(f).continue_on_error();
  });
  expect_numbers(numbers::job_state, 1, [](auto e) {
    job_fact f;
    f.state = e;
    return written<wire::DurableJob>(f).state();
  });
  expect_numbers(numbers::delivery, 3, [](auto e) {
    job_fact f;
    f.spec.delivery = e;
    return written<wire::DurableJob>(f).delivery();
  });
  expect_numbers(numbers::failure_kind, 0, [](auto e) {
    job_fact f;
    f.first_error.emplace().kind = e;
    return written<wire::DurableJob>(f).error().kind();
  });
}

TEST(stored_numbers, of_closures_never_change) {
  expect_numbers(numbers::encoding, 0, [](auto e) {
    closure_fact f;
    f.value = blob("", e);
    return written<wire::ClosureState>(f).encoding();
  });
  expect_numbers(numbers::encoding, 0, [](auto e) {
    per_worker_fact f;
    f.args = blob("", e);
    return written<wire::PerWorker>(f).encoding();
  });
  expect_numbers(numbers::encoding, 0, [](auto e) {
    accepted_fact f;
    f.closures.resize(2);
    f.closures[0].args = blob("", e);
    f.closures[1].args = blob("", encoding::bytes);
    return written<wire::Accepted>(f).encodings(0);
  });
  expect_numbers(numbers::closure_state, 1, [](auto e) {
    closure_fact f;
    f.state = e;
    return written<wire::ClosureState>(f).state();
  });
  EXPECT_EQ(written<wire::ClosureState>(closure_removed{}).state(), numbers::released_closure);
  expect_numbers(numbers::release_reason, 0, [](auto e) {
    closure_fact f;
    f.dropped = e;
    return written<wire::ClosureState>(f).dropped();
  });
  expect_numbers(numbers::attempt_end, 1,
                 [](auto e) { return attempt_with(e, blame::none).end(); });
  // With an end whose default blame differs.
  expect_numbers(numbers::blame, 0, [](auto e) {
    auto const how = e == blame::none ? attempt_end::worker_lost : attempt_end::succeeded;
    return attempt_with(how, e).blamed();
  });
}

TEST(stored_numbers, default_blame_is_stored_as_0) {
  for (auto const& [how, number] : numbers::attempt_end) {
    bool const is_of_worker = how == attempt_end::worker_lost || how == attempt_end::stale_handle;
    for (auto const& [whom, of_it] : numbers::blame) {
      bool const is_usual = whom == (is_of_worker ? blame::worker : blame::none);
      EXPECT_EQ(attempt_with(how, whom).blamed(), is_usual ? 0 : of_it) << number;
    }
  }
}

TEST(stored_numbers, of_programs_never_change) {
  expect_numbers(numbers::store_place, 0,
                 [](auto e) { return program_with([e](auto& s) { s.store = e; }).store(); });
  expect_numbers(numbers::hang_policy, 0,
                 [](auto e) { return program_with([e](auto& s) { s.on_hang = e; }).on_hang(); });
  expect_numbers(numbers::hang_evidence, 0, [](auto e) {
    return cause_with([e](auto& c) { c.hang.emplace().evidence = e; }).hang().evidence();
  });
  expect_numbers(numbers::cause_kind, 0,
                 [](auto e) { return cause_with([e](auto& c) { c.kind = e; }).kind(); });
  expect_numbers(numbers::code, 0, [](auto e) {
    return cause_with([e](auto& c) { c.coordination.emplace().code = e; }).coordination().code();
  });
  expect_numbers(numbers::program_state, 0, [](auto e) {
    programs::course_fact f;
    f.state = e;
    return written<wire::ProgramCourse>(f).state();
  });
  expect_numbers(numbers::goal, 0, [](auto e) {
    programs::course_fact f;
    f.goal = e;
    return written<wire::ProgramCourse>(f).goal();
  });
  expect_numbers(numbers::program_end, 0, [](auto e) {
    programs::attempt_fact f;
    f.about.end = e;
    return written<wire::ProgramAttempt>(f).end();
  });
  expect_numbers(numbers::rank_state, 0, [](auto e) {
    programs::rank_fact f;
    f.state = e;
    return written<wire::DeadRank>(f).state();
  });
}

TEST(stored_numbers, of_attempt_records_never_change) {
  expect_numbers(numbers::attempt_event, 0, [](auto e) {
    attempt_record r;
    r.events.push_back({{}, e, {}, {}});
    return record(r).events(0).kind();
  });
  expect_numbers(numbers::stack_state, 0, [](auto e) {
    attempt_record r;
    r.stacks.push_back({e, {}, {}, {}});
    return record(r).stacks(0).state();
  });
}

TEST(stored_numbers, of_tokens_never_change) {
  expect_numbers(numbers::role, 0, [](auto e) {
    token t;
    t.role = e;
    std::vector<change> batch;
    encode(token_change{t.id, std::make_shared<token const>(t)}, batch);
    return last<wire::Token>(batch).role();
  });
}

}  // namespace number_cases
}  // namespace muster::server::journal

// The number of every enumerator that the journal stores. Data directories contain these numbers:
// never change one, and never give a number to another enumerator.
#pragma once

#include <cstdint>

#include "base/status.hpp"
#include "server/core/access/role.hpp"
#include "server/core/api/attempt_outcome.hpp"
#include "server/core/api/attempt_record.hpp"
#include "server/core/api/blob.hpp"
#include "server/core/api/hangs.hpp"
#include "server/core/api/model.hpp"
#include "server/core/api/program_facts.hpp"
#include "server/core/coordination/api/coordination_changes.hpp"
#include "server/core/coordination/api/coordination_facts.hpp"
#include "server/core/coordination/api/declared_cluster.hpp"

namespace muster::server::journal::numbers {

template <class Enum>
struct number {
  Enum value;
  std::uint32_t stored;
};

// Clusters of agents.
inline constexpr number<core::coordination::error_delivery> error_delivery[] = {
    {core::coordination::error_delivery::automatic, 0},
    {core::coordination::error_delivery::poll, 1},
    {core::coordination::error_delivery::heartbeat, 2}};
inline constexpr number<core::coordination::agent_wire> agent_wire[] = {
    {core::coordination::agent_wire::plaintext, 0}, {core::coordination::agent_wire::tls, 1}};
inline constexpr number<core::coordination::torch_era> torch_era[] = {
    {core::coordination::torch_era::a, 0}, {core::coordination::torch_era::b, 1}};
inline constexpr number<core::coordination::agent_state> agent_state[] = {
    {core::coordination::agent_state::disconnected, 2},
    {core::coordination::agent_state::connected, 3},
    {core::coordination::agent_state::error, 4}};
inline constexpr number<core::coordination::barrier_purpose> barrier_purpose[] = {
    {core::coordination::barrier_purpose::user, 0},
    {core::coordination::barrier_purpose::registration, 1},
    {core::coordination::barrier_purpose::devices, 2},
    {core::coordination::barrier_purpose::shutdown, 3}};
inline constexpr number<muster::code> code[] = {{muster::code::ok, 0},
                                                {muster::code::cancelled, 1},
                                                {muster::code::unknown, 2},
                                                {muster::code::invalid_argument, 3},
                                                {muster::code::deadline_exceeded, 4},
                                                {muster::code::not_found, 5},
                                                {muster::code::already_exists, 6},
                                                {muster::code::permission_denied, 7},
                                                {muster::code::resource_exhausted, 8},
                                                {muster::code::failed_precondition, 9},
                                                {muster::code::aborted, 10},
                                                {muster::code::out_of_range, 11},
                                                {muster::code::unimplemented, 12},
                                                {muster::code::internal, 13},
                                                {muster::code::unavailable, 14},
                                                {muster::code::unauthenticated, 16}};
inline constexpr number<core::encoding> encoding[] = {{core::encoding::json, 0},
                                                      {core::encoding::bytes, 1}};

// Jobs, sessions and closures.
inline constexpr number<core::on_error> on_error[] = {{core::on_error::fail_fast, 0},
                                                      {core::on_error::continue_all, 1}};
/// Without `queued`, which the journal does not store.
inline constexpr number<core::job_state> job_state[] = {{core::job_state::running, 0},
                                                        {core::job_state::succeeded, 1},
                                                        {core::job_state::failed, 2},
                                                        {core::job_state::cancelled, 3}};
/// Without `stream`, `build` and `rebuild`, which are not durable.
inline constexpr number<core::delivery> delivery[] = {
    {core::delivery::job, 0}, {core::delivery::resumable, 1}, {core::delivery::unary, 2}};
inline constexpr number<core::failure_kind> failure_kind[] = {
    {core::failure_kind::user, 0},         {core::failure_kind::worker_lost, 1},
    {core::failure_kind::stale_handle, 2}, {core::failure_kind::dependency_lost, 3},
    {core::failure_kind::timeout, 4},      {core::failure_kind::cancelled, 5},
    {core::failure_kind::input, 6}};
/// Without `blocked`, which the journal does not store. A released closure has the number 6.
inline constexpr number<core::closure_state> closure_state[] = {
    {core::closure_state::queued, 1},
    {core::closure_state::running, 2},
    {core::closure_state::succeeded, 3},
    {core::closure_state::failed, 4},
    {core::closure_state::cancelled, 5}};
inline constexpr std::uint32_t released_closure = 6;
inline constexpr number<core::release_reason> release_reason[] = {
    {core::release_reason::client, 0},         {core::release_reason::session_end, 1},
    {core::release_reason::job_deleted, 2},    {core::release_reason::jobs, 3},
    {core::release_reason::bytes, 4},          {core::release_reason::age, 5},
    {core::release_reason::session_values, 6}, {core::release_reason::session_bytes, 7},
    {core::release_reason::spill_bytes, 8},    {core::release_reason::unreadable, 9},
    {core::release_reason::holder_lost, 10}};
/// Without `earlier`, which is stored as 0 with a text.
inline constexpr number<core::attempt_end> attempt_end[] = {
    {core::attempt_end::running, 0},         {core::attempt_end::succeeded, 1},
    {core::attempt_end::failed, 2},          {core::attempt_end::cancelled, 3},
    {core::attempt_end::worker_lost, 4},     {core::attempt_end::connection_broke, 5},
    {core::attempt_end::not_there, 6},       {core::attempt_end::stale_handle, 7},
    {core::attempt_end::dependency_lost, 8}, {core::attempt_end::timed_out, 9},
    {core::attempt_end::user_error, 10},     {core::attempt_end::value_lost, 11},
    {core::attempt_end::retracted, 12}};
/// 0 is the default blame of the attempt's end.
inline constexpr number<core::blame> blame[] = {
    {core::blame::none, 1}, {core::blame::worker, 2}, {core::blame::process, 3}};

// Programs.
inline constexpr number<core::store_place> store_place[] = {{core::store_place::rank0, 0},
                                                            {core::store_place::server, 1}};
inline constexpr number<core::hang_policy> hang_policy[] = {{core::hang_policy::off, 0},
                                                            {core::hang_policy::tell, 1},
                                                            {core::hang_policy::restart, 2},
                                                            {core::hang_policy::abort, 3}};
inline constexpr number<core::hang_evidence> hang_evidence[] = {
    {core::hang_evidence::undecided, 0}, {core::hang_evidence::barrier, 1},
    {core::hang_evidence::step, 2},      {core::hang_evidence::stopped, 3},
    {core::hang_evidence::in_kernel, 4}, {core::hang_evidence::stack, 5},
    {core::hang_evidence::ended, 6},     {core::hang_evidence::collective, 7}};
inline constexpr number<core::cause_kind> cause_kind[] = {
    {core::cause_kind::exit_status, 0},   {core::cause_kind::signal, 1},
    {core::cause_kind::out_of_memory, 2}, {core::cause_kind::not_started, 3},
    {core::cause_kind::worker_lost, 4},   {core::cause_kind::worker_left, 5},
    {core::cause_kind::deadline, 6},      {core::cause_kind::request, 7},
    {core::cause_kind::coordination, 8},  {core::cause_kind::hang, 9}};
inline constexpr number<core::program_state> program_state[] = {
    {core::program_state::pending, 0},  {core::program_state::starting, 1},
    {core::program_state::running, 2},  {core::program_state::restarting, 3},
    {core::program_state::stopping, 4}, {core::program_state::succeeded, 5},
    {core::program_state::failed, 6},   {core::program_state::cancelled, 7}};
inline constexpr number<core::programs::goal> goal[] = {
    {core::programs::goal::run, 0},     {core::programs::goal::again, 1},
    {core::programs::goal::succeed, 2}, {core::programs::goal::fail, 3},
    {core::programs::goal::cancel, 4},  {core::programs::goal::stop, 5}};
inline constexpr number<core::program_end> program_end[] = {
    {core::program_end::none, 0},      {core::program_end::succeeded, 1},
    {core::program_end::failed, 2},    {core::program_end::lost, 3},
    {core::program_end::cancelled, 4}, {core::program_end::preempted, 5},
    {core::program_end::hung, 6}};
inline constexpr number<core::rank_state> rank_state[] = {{core::rank_state::ordered, 0},
                                                          {core::rank_state::running, 1},
                                                          {core::rank_state::succeeded, 2},
                                                          {core::rank_state::failed, 3},
                                                          {core::rank_state::stopped, 4}};
inline constexpr number<core::attempt_event> attempt_event[] = {
    {core::attempt_event::task_failed, 0}, {core::attempt_event::barrier_failed, 1},
    {core::attempt_event::worker_lost, 2}, {core::attempt_event::worker_back, 3},
    {core::attempt_event::hangs, 4},       {core::attempt_event::progress_resumed, 5}};
inline constexpr number<core::stack_state> stack_state[] = {
    {core::stack_state::unknown, 0},    {core::stack_state::taken, 1},
    {core::stack_state::not_python, 2}, {core::stack_state::stopped, 3},
    {core::stack_state::in_kernel, 4},  {core::stack_state::no_answer, 5},
    {core::stack_state::off, 6},        {core::stack_state::away, 7},
    {core::stack_state::busy, 8},       {core::stack_state::native, 9}};

// Tokens.
inline constexpr number<core::role> role[] = {{core::role::viewer, 0},
                                              {core::role::submitter, 1},
                                              {core::role::worker, 2},
                                              {core::role::admin, 3}};

}  // namespace muster::server::journal::numbers

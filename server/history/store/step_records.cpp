// Of steps of ranks.
#include "muster/journal/v1/history.pb.h"
#include "server/history/store/record_parsing.hpp"
#include "server/history/store/record_times.hpp"
#include "server/history/store/records.hpp"

namespace muster::server {

std::string encoded(doctor::step_segment const& s) {
  muster::journal::v1::PastSteps w;
  w.set_program(raw(s.program));
  w.set_attempt(s.attempt);
  w.set_made(us_of(s.made));
  w.set_first(us_of(s.first));
  w.set_last(us_of(s.last));
  w.set_spans(s.spans);
  w.set_packed(s.bytes);
  return w.SerializeAsString();
}

doctor::step_segment steps_from(std::string_view bytes, std::size_t* unreadable) {
  auto w = whole_of<muster::journal::v1::PastSteps>(bytes, unreadable);
  return {core::program_id{w.program()},
          w.attempt(),
          from_us(w.made()),
          from_us(w.first()),
          from_us(w.last()),
          w.spans(),
          std::move(*w.mutable_packed())};
}

}  // namespace muster::server

// What a worker holds of one stream and has not answered: on its threads or waiting for one. Quick
// functions never get here. Bounded by the credits. Engine thread only.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>

#include "client/job.hpp"

namespace muster {

class held_closures {
 public:
  /// False: the closure is held already.
  bool add(std::shared_ptr<job> j);
  /// The job is finished: forgets it. False when it is not held (any more).
  bool remove(job const& j);

  enum class stopped { unknown, asked, dropped };
  /// A stop request: `dropped` had not started and is forgotten; `asked` will answer by itself.
  stopped stop(std::uint64_t closure, std::uint32_t attempt);

  /// Everything is void: running functions are asked to stop, their results dropped.
  void drop_all();

  bool empty() const { return jobs_.empty(); }
  std::size_t size() const { return jobs_.size(); }

 private:
  std::unordered_map<std::uint64_t, std::shared_ptr<job>> jobs_;
};

}  // namespace muster

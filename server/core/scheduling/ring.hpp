// An intrusive doubly linked list, used as a ring of turns: the front element is served, then
// rotated to the back. An element must be removed before its destruction. Not thread-safe.
#pragma once

#include "base/check.hpp"

namespace muster::core {

template <class T>
struct ring_link {
  T* previous = nullptr;
  T* next = nullptr;
  bool linked = false;
};

/// `LinkOf{}(element)` returns the element's link for this ring.
template <class T, class LinkOf>
class ring {
 public:
  explicit ring(LinkOf link_of = {}) : link_of_(link_of) {}

  bool empty() const { return front_ == nullptr; }
  T& front() const { return *front_; }
  bool contains(T& t) const { return link_of_(t).linked; }

  void push_back(T& t) {
    auto& link = link_of_(t);
    check(!link.linked, "an element must not be added to a ring twice");
    link = {back_, nullptr, true};
    (back_ ? link_of_(*back_).next : front_) = &t;
    back_ = &t;
  }

  void remove(T& t) {
    auto& link = link_of_(t);
    if (!link.linked) return;
    (link.previous ? link_of_(*link.previous).next : front_) = link.next;
    (link.next ? link_of_(*link.next).previous : back_) = link.previous;
    link = {};
  }

  /// REQUIRES: `f` does not change the ring.
  template <class F>
  void for_each(F f) const {
    for (T* t = front_; t; t = link_of_(*t).next) f(*t);
  }

  template <class Predicate>
  T* find(Predicate meets) const {
    for (T* t = front_; t; t = link_of_(*t).next)
      if (meets(*t)) return t;
    return nullptr;
  }

  void rotate() {
    if (front_ == back_) return;
    T& t = *front_;
    remove(t);
    push_back(t);
  }

 private:
  LinkOf link_of_;
  T* front_ = nullptr;
  T* back_ = nullptr;
};

}  // namespace muster::core

// Threads that want Python's lock after the interpreter's end.
#pragma once

#include <cxxabi.h>
#include <unistd.h>

namespace ferrule::python {

// Python ends such a thread by unwinding its stack, where frames of authors need not stand that (noexcept, C) and what
// frames of ours hold cannot be given back without the lock. So the thread stays where it is until the process ends, as
// Python itself lets it from 3.14 on.
template <class F>
auto or_stay(const F& takes_lock) noexcept {
  try {
    return takes_lock();
  } catch (const abi::__forced_unwind&) {
    for (;;) pause();
  }
}

}  // namespace ferrule::python

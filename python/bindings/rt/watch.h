// Calls that somebody watches (hooks, profiling, do_not_execute) go through Python: ferrule.hooks. While nobody does, a
// call reads one word.
#pragma once

#include <Python.h>

#include <atomic>

namespace ferrule::python {

// How many watchers there are, of all calls; and the bit of an object that has watchers of its own.
extern std::atomic<int> watchers;

inline bool is_watched() { return watchers.load(std::memory_order_relaxed) != 0; }

// ferrule.hooks.call(self, args, kwargs): a new reference, or null with a Python error set.
[[gnu::cold, gnu::noinline]] PyObject* call_watched(PyObject* self, PyObject* const* args, Py_ssize_t nargs,
                                                    PyObject* kwnames);

// Adds `_watch` to a module: _watch(by) adds to `watchers`.
bool add_watch_function(PyObject* module);

}  // namespace ferrule::python

// Stepping through the tables of a descriptor.
#pragma once

#include <cstdint>

namespace ferrule {

// Entry `i` of a table whose entries begin with their size: a module of a later minor version has longer entries than
// this library knows, all of one size.
template <class Entry>
const Entry& entry_at(const Entry* table, uint32_t i) {
  return *reinterpret_cast<const Entry*>(reinterpret_cast<const char*>(table) +
                                         static_cast<uintptr_t>(i) * table->size);
}

}  // namespace ferrule

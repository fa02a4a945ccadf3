// Element types as the buffer protocol (PEP 3118) and the array interface spell them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/dtype.h"

namespace ferrule {

// What a text says: a dtype in native byte order, or that the order is foreign, or neither for all other types.
struct ItemType {
  std::optional<DType> dtype;
  bool foreign_order = false;
};

// Of a Py_buffer: the kind that `format` names (null: unsigned bytes) with the size `item`; so 'l' is what it is here.
// A format whose number is of another size than the item is none.
ItemType parse_format(const char* format, int64_t item);

// Of __array_interface__: "<f8", "|b1".
ItemType parse_typestr(std::string_view text);

// Null for what NumPy does not have, such as bfloat16: the protocol does not have it, either.
const char* format_of(DType dtype);

// Empty for the same.
std::string typestr_of(DType dtype);

}  // namespace ferrule

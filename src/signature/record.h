// The layout of a struct as callers must have it: its fields by name, place and type.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/dtype.h"

namespace ferrule {

struct RecordField {
  std::string name;  // nested structs are flattened: "a.b", "points[2].x"
  int64_t offset = 0;
  DType dtype = DType::F64;
  int64_t count = 1;  // elements of an array field
  bool operator==(const RecordField&) const = default;
};

struct Record {
  int64_t bytes = 0;
  std::vector<RecordField> fields;  // in declared order
  std::string literal;              // Python text from which numpy.dtype makes the type again
  bool operator==(const Record&) const = default;
};

// What the address of such a struct is a multiple of: the alignment of C where every field lies as C lays it out,
// else 1.
int64_t alignment_of(const Record& record);

}  // namespace ferrule

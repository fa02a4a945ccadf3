#include "program/fold.h"

#include <cstring>

#include "ferrule/rt/cast.h"
#include "program/dispatch.h"

namespace ferrule {

uint64_t convert_bits(DType from, DType to, uint64_t bits) {
  uint64_t result = 0;
  with_type(from, [&]<class From>() {
    with_type(to, [&]<class To>() {
      From x;
      std::memcpy(&x, &bits, sizeof x);
      const To y = fr::cast<To>(x);
      std::memcpy(&result, &y, sizeof y);
    });
  });
  return result;
}

}  // namespace ferrule

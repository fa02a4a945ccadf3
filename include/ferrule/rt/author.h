// How the frame of a source kernel hands over values whose type has several spellings: complex numbers and half floats.
#pragma once

#include <stdint.h>

namespace fr_author {

// Any pointer that the author's function takes.
struct Pointer {
  void* address;
  template <class T>
  operator T*() const {
    return static_cast<T*>(address);
  }
};

// A value of `bytes` bytes as any type of that size.
template <int bytes>
struct Value {
  const void* address;
  template <class T>
  operator T() const {
    static_assert(sizeof(T) == bytes, "the author's function takes a type of another size");
    T value;
    __builtin_memcpy(&value, address, bytes);
    return value;
  }
};

template <int bytes, class T>
inline void store(void* address, const T& value) {
  static_assert(sizeof(T) == bytes, "the author's function gives a type of another size");
  __builtin_memcpy(address, &value, bytes);
}

}  // namespace fr_author

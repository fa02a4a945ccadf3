// How the frame of a source kernel hands over values whose type has several spellings (complex numbers, half floats,
// structs), and what an author's file may name: the type of a callback.
#pragma once

#include "ferrule/abi.h"

namespace fr_author {

// Any pointer that the author's function takes.
struct Pointer {
  void* address;
  template <class T>
  operator T*() const {
    return static_cast<T*>(address);
  }
};

// The same to elements of `bytes` bytes; a pointer to elements of another size does not compile.
template <int bytes>
struct Elements {
  void* address;
  template <class T>
  operator T*() const {
    if constexpr (!__is_same(const volatile T, const volatile void))
      static_assert(sizeof(T) == bytes, "the author's function takes a pointer to structs of another size");
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

// Whether every value of number type T is one of U, signs of integers aside: sizes that are not negative often are
// size_t.
template <class U, class T>
constexpr bool holds() {
  if constexpr (!requires(T value) {
                  static_cast<U>(value);
                  U(0.5) != U(0);
                }) {
    return false;
  } else {
    constexpr bool from_float = T(0.5) != T(0) && T(2) != T(1), to_float = U(0.5) != U(0) && U(2) != U(1);
    if (T(2) == T(1)) return true;   // bool
    if (U(2) == U(1)) return false;  // to bool
    return from_float == to_float && sizeof(U) >= sizeof(T);
  }
}

// A number that the author's function may take as its declared type or a wider one; a narrower one does not compile.
template <class T>
struct Number {
  T value;
  template <class U>
    requires(holds<U, T>())
  constexpr operator U() const {
    return static_cast<U>(value);
  }
};

template <class T>
constexpr Number<T> number(T value) {
  return {value};
}

template <int bytes, class T>
inline void store(void* address, const T& value) {
  static_assert(sizeof(T) == bytes, "the author's function gives a type of another size");
  __builtin_memcpy(address, &value, bytes);
}

// The author's status as that of an entry of abi.h: 0 stays, others keep apart from FrStatus's own. Positive ones are
// moved behind FR_STATUS_USER, negative ones stay; the few that do not fit become the largest.
template <class T>
int32_t status(T value) {
  static_assert(__is_enum(T) || requires { value % value; }, "a status is an int");
  static_assert(sizeof(T) < sizeof(int32_t) || (sizeof(T) == sizeof(int32_t) && T(-1) < T(0)), "a status is an int");
  const int64_t made = int64_t(value) + (int64_t(value) > 0 ? FR_STATUS_USER : 0);
  return made > INT32_MAX ? INT32_MAX : static_cast<int32_t>(made);
}

// The author's status again.
inline int32_t own_status(int32_t status) { return status > 0 ? status - FR_STATUS_USER : status; }

// A value of `bytes` bytes from or to any type of that size, for callbacks.
template <int bytes>
struct Any {
  alignas(bytes) unsigned char memory[bytes];
  Any() = default;
  template <class T>
  Any(const T& value) {
    static_assert(sizeof(T) == bytes, "the callback takes a type of another size");
    __builtin_memcpy(memory, &value, bytes);
  }
  template <class T>
  operator T() const {
    static_assert(sizeof(T) == bytes, "the callback gives a type of another size");
    T value;
    __builtin_memcpy(&value, memory, bytes);
    return value;
  }
};

// What a callback gave: `value` only where it is true. Where it is false the callable raised; the author's function
// returns as soon as it can, and its caller gets the exception.
template <class R>
struct Called {
  int32_t status;
  R value;
  explicit operator bool() const { return status == FR_OK; }
};
template <>
struct Called<void> {
  int32_t status;
  explicit operator bool() const { return status == FR_OK; }
};

// A Python callable as the author's function takes it: `Callback<double(int64_t, const double*, void*)>`, or a template
// parameter. Called like a function, from any thread of FrHost::parallel_for too. Scalars are passed by value, arrays
// by pointer, Python objects as the handles that the author's function was given or another callback returned. A
// returned handle is valid until the author's function ends.
template <class F>
class Callback;

template <class R, class... P>
class Callback<R(P...)> {
 public:
  Callback(const FrCall* call, int32_t argument, int32_t* failed) : call_(call), argument_(argument), failed_(failed) {}

  // FrHost::parallel_for: runs `body` over [0, n) in chunks of about `grain` on the host's threads, which may call
  // back.
  int32_t parallel_for(int64_t n, int64_t grain, FrBody body, void* closure) const {
    return call_->host->parallel_for(call_->ctx, n, grain, body, closure);
  }

  // Whether the caller gave a callable; an optional one may be None.
  bool given() const { return call_->args[argument_] != nullptr; }

  Called<R> operator()(P... values) const {
    void* addresses[] = {address(values)..., nullptr};
    Called<R> called{};
    if constexpr (__is_same(R, void))
      called.status = call(addresses, nullptr);
    else
      called.status = call(addresses, &called.value);
    return called;
  }

 private:
  int32_t call(void* const* addresses, void* result) const {
    const int32_t status = call_->host->callback(call_->ctx, argument_, sizeof...(P), addresses, result);
    if (status != FR_OK) __atomic_store_n(failed_, status, __ATOMIC_RELAXED);
    return status;
  }
  template <class T>
  static void* address(T& scalar) {
    return &scalar;
  }
  template <class T>
  static void* address(T*& pointer) {
    return const_cast<void*>(static_cast<const void*>(pointer));
  }

  const FrCall* call_;
  int32_t argument_;
  int32_t* failed_;
};

// Of a string: NULL and 0 for None.
inline const char* text(const void* string) {
  return string != nullptr ? static_cast<const FrString*>(string)->data : nullptr;
}
inline int64_t text_length(const void* string) {
  return string != nullptr ? static_cast<const FrString*>(string)->length : 0;
}

// Of an array of pointers: NULL and 0 for None.
inline Pointer pointers(const void* table) {
  return {table != nullptr ? const_cast<void**>(static_cast<const FrPointers*>(table)->data) : nullptr};
}
inline int64_t pointers_length(const void* table) {
  return table != nullptr ? static_cast<const FrPointers*>(table)->length : 0;
}

}  // namespace fr_author

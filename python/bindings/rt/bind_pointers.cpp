// Arrays of pointers: a list or tuple of arrays, an array of addresses, or a ctypes array of pointers.
#include <fmt/format.h>

#include <iterator>
#include <string_view>
#include <vector>

#include "advice.h"
#include "array/item_type.h"
#include "bind_args.h"
#include "bind_kinds.h"
#include "call/refuse.h"
#include "element_types.h"
#include "foreign_array.h"

namespace ferrule::python {
namespace {

void take_table(const ArgPlan& arg, void* const* data, int64_t length, Frame& frame) {
  static_assert(sizeof(FrPointers) <= sizeof(ScalarSlot));
  write_as(&frame.scalars()[arg.index], FrPointers{data, length});
  frame.pointers[arg.index] = &frame.scalars()[arg.index];
}

// Addresses that the caller vouches for, but for their alignment.
Outcome take_addresses(const Target& target, const ArgPlan& arg, const void* data, int64_t length, Frame& frame) {
  const auto* addresses = static_cast<const uint64_t*>(data);
  for (int64_t i = 0; i < length; ++i)
    if (addresses[i] % static_cast<uint64_t>(arg.alignment) != 0)
      return refuse_argument(
          target, arg, Builtin::Value,
          fmt::format("holds the address {:#x} at {}, which is no multiple of {}, the alignment of {}.", addresses[i],
                      i, arg.alignment, name_of(arg.dtype)));
  take_table(arg, static_cast<void* const*>(const_cast<void*>(data)), length, frame);
  return Outcome::Done;
}

Outcome take_address_array(const Target& target, const ArgPlan& arg, PyArrayObject* array, Frame& frame) {
  const int masked = is_masked_array(reinterpret_cast<PyObject*>(array));
  if (masked < 0) return Outcome::Raised;
  if (masked == 1)
    return refuse_argument(target, arg, Builtin::Type, "is a masked array, whose mask would be ignored.");
  if (dtype_of(PyArray_DESCR(array)) != DType::U64)
    return refuse_argument(target, arg, Builtin::Type,
                           fmt::format("is an array of dtype {}, but a sequence of {} arrays or a uint64 array of "
                                       "their addresses is expected; pass a list of arrays.",
                                       dtype_text(PyArray_DESCR(array)), name_of(arg.dtype)));
  if (PyArray_NDIM(array) != 1)
    return refuse_argument(target, arg, Builtin::Value,
                           fmt::format("is an array of addresses of rank {} and shape {}, but rank 1 is expected.",
                                       PyArray_NDIM(array), tuple_text(shape_of(array), PyArray_NDIM(array))));
  if (PyArray_SIZE(array) > 0 && !PyArray_IS_C_CONTIGUOUS(array))
    return refuse_argument(target, arg, Builtin::Value,
                           fmt::format("is an array of addresses with a stride of {} bytes, but 8 is expected; pass "
                                       "numpy.ascontiguousarray({}).",
                                       strides_of(array)[0], arg.declared->name));
  if (PyArray_SIZE(array) > 0 && !PyArray_ISALIGNED(array))
    return refuse_argument(
        target, arg, Builtin::Value,
        fmt::format("is an array of addresses that is not aligned to 8 bytes; pass {}.copy().", arg.declared->name));
  return take_addresses(target, arg, PyArray_DATA(array), PyArray_DIM(array, 0), frame);
}

// "'p'[2] <what>"
Outcome refuse_item(const Target& target, const ArgPlan& arg, Py_ssize_t i, Builtin builtin, const std::string& what) {
  return refuse_argument(target, arg, builtin, fmt::format("has at [{}] {}.", i, what));
}

Outcome check_item(const Target& target, const ArgPlan& arg, Py_ssize_t i, PyObject* item) {
  if (!PyArray_Check(item))
    return refuse_item(
        target, arg, i, Builtin::Type,
        fmt::format("{}, but a numpy.ndarray of dtype {} is expected", kind_of_object(item), name_of(arg.dtype)));
  auto* array = reinterpret_cast<PyArrayObject*>(item);
  const int masked = is_masked_array(item);
  if (masked < 0) return Outcome::Raised;
  if (masked == 1) return refuse_item(target, arg, i, Builtin::Type, "a masked array, whose mask would be ignored");
  if (!has_elements_of(arg, PyArray_DESCR(array)))
    return refuse_item(
        target, arg, i, Builtin::Type,
        fmt::format("an array of dtype {}, but {} is expected", dtype_text(PyArray_DESCR(array)), name_of(arg.dtype)));
  if (PyArray_SIZE(array) == 0) return Outcome::Done;
  if (!PyArray_IS_C_CONTIGUOUS(array))
    return refuse_item(target, arg, i, Builtin::Value,
                       fmt::format("an array that is not contiguous in C order: shape {}, strides {} bytes",
                                   tuple_text(shape_of(array), PyArray_NDIM(array)),
                                   tuple_text(strides_of(array), PyArray_NDIM(array))));
  if (!PyArray_ISALIGNED(array))
    return refuse_item(
        target, arg, i, Builtin::Value,
        fmt::format("an array that is not aligned to {} bytes, as {} must be", arg.alignment, name_of(arg.dtype)));
  if (arg.written && !PyArray_ISWRITEABLE(array))
    return refuse_item(target, arg, i, Builtin::Value, "a read-only array, but the program writes to it");
  return Outcome::Done;
}

// The arrays, kept alive however the list changes while the program runs, and their addresses.
struct Pointees {
  ~Pointees() {
    for (PyObject* array : arrays) Py_DECREF(array);
  }
  std::vector<PyObject*> arrays;
  std::vector<void*> addresses;
};

Outcome take_sequence(const Target& target, const ArgPlan& arg, PyObject* sequence, Attempt& attempt) {
  auto kept = std::make_shared<Pointees>();
  const auto length = static_cast<size_t>(PySequence_Fast_GET_SIZE(sequence));
  kept->arrays.reserve(length);
  kept->addresses.reserve(length + 1);
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(sequence); ++i) {
    PyObject* item = Py_NewRef(PySequence_Fast_GET_ITEM(sequence, i));
    kept->arrays.push_back(item);
    const Outcome fits = check_item(target, arg, i, item);
    if (fits != Outcome::Done) return fits;
    kept->addresses.push_back(PyArray_DATA(reinterpret_cast<PyArrayObject*>(item)));
  }
  take_table(arg, kept->addresses.data(), static_cast<int64_t>(kept->addresses.size()), attempt.frame);
  attempt.borrowed().keep(std::move(kept));
  return Outcome::Done;
}

// What the elements of a ctypes array of pointers lead to: "&<d", or "<P" for void*.
bool points_to(std::string_view format, const ArgPlan& arg) {
  if (format == "P" || format == "<P") return true;
  // parse_format() takes the size of an item from elsewhere.
  constexpr std::string_view kCodes = "?bBhHiIlLqQfd";
  constexpr int kSizes[] = {1, 1, 1, 2, 2, 4, 4, 8, 8, 8, 8, 4, 8};
  static_assert(sizeof(long) == 8 && std::size(kSizes) == kCodes.size());
  const size_t code = format.empty() ? kCodes.npos : kCodes.find(format.back());
  if (format.size() != 3 || format[0] != '&' || code == kCodes.npos) return false;
  return parse_format(std::string(format.substr(1)).c_str(), kSizes[code]).dtype == arg.dtype;
}

Outcome take_ctypes(const Target& target, const ArgPlan& arg, PyObject* object, Frame& frame) {
  Py_buffer buffer;
  if (PyObject_GetBuffer(object, &buffer, PyBUF_FORMAT | PyBUF_ND) != 0) {
    refuse_with_reason({target.plan().module->name, arg.declared->name}, "the buffer protocol");
    return Outcome::Raised;
  }
  const std::string format = buffer.format != nullptr ? buffer.format : "B";
  const bool fits = buffer.ndim == 1 && buffer.itemsize == sizeof(void*) && points_to(format, arg);
  void* data = buffer.buf;
  const int64_t length = fits ? buffer.shape[0] : 0;
  PyBuffer_Release(&buffer);  // the memory stays with the argument
  if (!fits)
    return refuse_argument(
        target, arg, Builtin::Type,
        fmt::format("has the buffer format '{}', but pointers to {} are expected.", format, name_of(arg.dtype)));
  return take_addresses(target, arg, data, length, frame);
}

}  // namespace

Outcome bind_pointers(const Target& target, const ArgPlan& arg, PyObject* object, Attempt& attempt) {
  if (PyList_Check(object) || PyTuple_Check(object)) return take_sequence(target, arg, object, attempt);
  if (PyArray_Check(object))
    return take_address_array(target, arg, reinterpret_cast<PyArrayObject*>(object), attempt.frame);
  const bool plain = PyBytes_Check(object) || PyByteArray_Check(object) || PyArray_IsScalar(object, Generic);
  if (PyObject_CheckBuffer(object) != 0 && !plain) return take_ctypes(target, arg, object, attempt.frame);
  return refuse_argument(
      target, arg, Builtin::Type,
      fmt::format("is {}, but a sequence of {} arrays is expected.", kind_of_object(object), name_of(arg.dtype)));
}

}  // namespace ferrule::python

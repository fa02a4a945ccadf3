// The C exchange table of fr.Array: what C++ libraries call instead of __dlpack__.
#include "../common/errors.h"
#include "array/tensor.h"
#include "array_object.h"
#include "foreign_array.h"

namespace ferrule::python {
namespace {

// Calls `body` and gives 0, or -1 with the Python error of what it throws.
template <class Body>
int guarded(Body&& body) {
  try {
    return body() ? 0 : -1;
  } catch (...) {
    raise_current_exception();
    return -1;
  }
}

const Array* checked(void* object) {
  const Array* array = array_of(static_cast<PyObject*>(object));
  if (array == nullptr)
    PyErr_Format(PyExc_TypeError, "An Array is expected, got %s.", Py_TYPE(static_cast<PyObject*>(object))->tp_name);
  return array;
}

int allocate(dlpack::Tensor* like, dlpack::ManagedVersioned** out, void* error_context,
             void (*set_error)(void*, const char*, const char*)) {
  try {
    if (like->device.type != dlpack::kCpu) throw user_error("Memory of the host alone can be had.", Builtin::Buffer);
    const std::optional<DType> dtype = ferrule::dtype_of(like->dtype);
    if (!dtype.has_value()) throw user_error("The element type is not supported.", Builtin::Buffer);
    if (like->ndim < 0 || (like->ndim > 0 && like->shape == nullptr)) throw user_error("The tensor has no shape.");
    *out = lend_versioned_tensor(make_array(*dtype, {like->shape, like->shape + like->ndim}), false);
    return 0;
  } catch (const Error& error) {
    set_error(error_context, error.builtin() == Builtin::Memory ? "MemoryError" : "BufferError", error.what());
  } catch (const std::exception& error) {
    set_error(error_context, "MemoryError", error.what());
  }
  return -1;
}

int from_object(void* object, dlpack::ManagedVersioned** out) {
  return guarded([&] {
    const Array* array = checked(object);
    if (array != nullptr) *out = lend_versioned_tensor(*array, false);
    return array != nullptr;
  });
}

int to_object(dlpack::ManagedVersioned* taken, void** out) {
  return guarded([&] {
    *out = make_array_object(take_tensor(taken, give_back_tensor<dlpack::ManagedVersioned>));
    return *out != nullptr;
  });
}

int borrow(void* object, dlpack::Tensor* out) {
  return guarded([&] {
    const Array* array = checked(object);
    if (array == nullptr) return false;
    if (!array->writable)
      throw user_error("A read-only array is not lent without a flag that tells; take it with its owner.",
                       Builtin::Buffer);
    const int64_t* strides = element_strides_of(static_cast<PyObject*>(object));
    if (strides == nullptr)
      throw user_error("DLPack cannot express strides that are no multiple of the item size; pass a .copy().",
                       Builtin::Buffer);
    *out = {array->data,
            {dlpack::kCpu, 0},
            array->rank(),
            data_type_of(array->dtype),
            const_cast<int64_t*>(array->shape.data()),
            const_cast<int64_t*>(strides),
            0};
    return true;
  });
}

int current_stream(int32_t device_type, int32_t, void** out) {
  *out = nullptr;
  if (device_type == dlpack::kCpu) return 0;
  PyErr_SetString(PyExc_BufferError, "Arrays are in memory of the host, which has no streams.");
  return -1;
}

constexpr dlpack::Exchange kTable = {
    {{dlpack::kMajor, dlpack::kMinor}, nullptr}, allocate, from_object, to_object, borrow, current_stream};

}  // namespace

PyObject* exchange_capsule() {
  return PyCapsule_New(const_cast<dlpack::Exchange*>(&kTable), "dlpack_exchange_api", nullptr);
}

}  // namespace ferrule::python

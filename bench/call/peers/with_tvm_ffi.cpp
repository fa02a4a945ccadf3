// apache-tvm-ffi's TensorView, of which the bodies check device, dtype, rank, layout and extents.
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/container/tuple.h>
#include <tvm/ffi/extra/c_env_api.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/optional.h>

#include <memory>
#include <utility>

namespace ffi = tvm::ffi;

static double* data(const ffi::TensorView& t, int64_t extent, DLDataTypeCode code = kDLFloat, int bits = 64) {
  const DLDataType type = t.dtype();
  if (t.device().device_type != kDLCPU || type.code != code || type.bits != bits || type.lanes != 1 || t.ndim() != 1 ||
      !t.IsContiguous())
    TVM_FFI_THROW(TypeError) << "The tensor does not fit.";
  if (extent >= 0 && t.size(0) != extent) TVM_FFI_THROW(ValueError) << "The extents differ.";
  return reinterpret_cast<double*>(static_cast<char*>(t.data_ptr()) + t.byte_offset());
}

template <size_t>
using View = ffi::TensorView;

template <class Indices>
struct Calls;
template <size_t... I>
struct Calls<std::index_sequence<I...>> {
  static void call(View<I>... in, ffi::TensorView out) {
    double* to = data(out, -1);
    const int64_t n = out.size(0);
    (data(in, n), ...);
    to[0] = double(n);
  }
};
template <size_t N>
constexpr auto call = Calls<std::make_index_sequence<N - 1>>::call;

static void scalars(ffi::TensorView a, ffi::TensorView b, ffi::TensorView out, double x, int64_t k, bool t) {
  double* to = data(out, -1);
  data(a, out.size(0)), data(b, out.size(0));
  to[0] = x + double(k) + t;
}

static double scalar_result(ffi::TensorView a) { return data(a, -1)[0]; }

static void nested(ffi::TensorView out, ffi::Tuple<ffi::Any, ffi::Tuple<ffi::Tensor, ffi::Tensor>> rest) {
  double* to = data(out, -1);
  if (rest.get<0>() != nullptr) TVM_FFI_THROW(TypeError) << "None is expected.";
  const auto inner = rest.get<1>();
  const ffi::Tensor a = inner.get<0>(), b = inner.get<1>();
  data(a, out.size(0)), data(b, out.size(0));
  to[0] = double(out.size(0));
}

struct OwnMemory {
  void AllocData(DLTensor* t) { t->data = new double[size_t(t->shape[0])]; }
  void FreeData(DLTensor* t) { delete[] static_cast<double*>(t->data); }
};

static ffi::Tensor filled(ffi::Tensor made) {
  static_cast<double*>(made.data_ptr())[0] = double(made.size(0));
  return made;
}

static ffi::Tensor fresh_array(ffi::TensorView a) {
  data(a, -1);
  return filled(ffi::Tensor::FromNDAlloc(OwnMemory(), a.shape(), a.dtype(), a.device()));
}

// By the allocator of the caller's framework.
static ffi::Tensor fresh_tensor(ffi::TensorView a) {
  data(a, -1);
  return filled(ffi::Tensor::FromEnvAlloc(TVMFFIEnvTensorAlloc, a.shape(), a.dtype(), a.device()));
}

static void workspace(ffi::TensorView a, ffi::TensorView w) {
  double* to = data(a, -1);
  char* memory = reinterpret_cast<char*>(data(w, -1, kDLUInt, 8));
  if (w.size(0) < 8 * a.size(0) || reinterpret_cast<uintptr_t>(memory) % 64)
    TVM_FFI_THROW(ValueError) << "The workspace does not fit.";
  memory[0] = 1;
  to[0] = double(a.size(0));
}

static ffi::Function counter() {
  auto calls = std::make_shared<int64_t>(0);
  return ffi::Function::FromTyped([calls](ffi::TensorView a) { data(a, -1)[0] = double(++*calls); });
}

static double callback(ffi::Function g, double x) { return g(x).cast<double>(); }

TVM_FFI_DLL_EXPORT_TYPED_FUNC(call1, call<1>);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(call3, call<3>);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(call10, call<10>);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(call30, call<30>);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(scalars, scalars);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(nested, nested);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(scalar_result, scalar_result);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(fresh_array, fresh_array);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(fresh_tensor, fresh_tensor);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(workspace, workspace);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(counter, counter);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(callback, callback);

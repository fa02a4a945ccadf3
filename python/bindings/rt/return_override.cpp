#include "return_override.h"

#include <fmt/format.h>

#include "advice.h"
#include "call/refuse.h"
#include "element_types.h"
#include "foreign_array.h"

namespace ferrule::python {
namespace {

bool refuse_override(const Target& target, size_t index, Builtin builtin, const std::string& text) {
  refuse({target.plan().module->name, target.plan().returns[index].declared->name, true}, builtin, text);
  return false;
}

Strided strided(PyArrayObject* array) {
  return {PyArray_BYTES(array), PyArray_ITEMSIZE(array), PyArray_NDIM(array), shape_of(array), strides_of(array)};
}

bool meet(const Strided& a, const Strided& b) { return ranges_meet(range_of(a), range_of(b)) && may_share_bytes(a, b); }

bool check_elements(const Target& target, size_t index, PyArrayObject* array) {
  PyArray_Descr* descr = PyArray_DESCR(array);
  PyArray_Descr* expected = target.return_descrs[index];
  if (descr == expected || PyArray_EquivTypes(descr, expected)) return true;
  return refuse_override(target, index, Builtin::Type,
                         fmt::format("has dtype {}, but {} is expected; give an array of that dtype.",
                                     dtype_text(descr), dtype_text(expected)));
}

bool check_shape(const Target& target, size_t index, PyArrayObject* array, const Frame& frame) {
  const ReturnPlan& r = target.plan().returns[index];
  const int64_t* expected = frame.extents() + r.first_extent;
  const int rank = PyArray_NDIM(array);
  bool same = rank == r.rank;
  for (int axis = 0; same && axis < rank; ++axis) same = shape_of(array)[axis] == expected[axis];
  return same || refuse_override(target, index, Builtin::Value,
                                 fmt::format("has shape {}, but {} is expected.", tuple_text(shape_of(array), rank),
                                             tuple_text(expected, r.rank)));
}

bool check_memory(const Target& target, size_t index, PyArrayObject* array) {
  if (PyArray_SIZE(array) == 0) return true;
  if (!PyArray_ISWRITEABLE(array))
    return refuse_override(target, index, Builtin::Value, "is read-only, but the result is written to it.");
  if (!PyArray_IS_C_CONTIGUOUS(array))
    return refuse_override(target, index, Builtin::Value,
                           fmt::format("must be contiguous in C order to take a result, but its strides are {} bytes.",
                                       tuple_text(strides_of(array), PyArray_NDIM(array))));
  return PyArray_ISALIGNED(array) || refuse_override(target, index, Builtin::Value,
                                                     "is not aligned to its elements, as memory for a result must be.");
}

bool check_overlap(const Target& target, size_t index, PyArrayObject* array, Attempt& attempt) {
  const CallPlan& plan = target.plan();
  const Strided own = strided(array);
  const auto shared = [&](const char* other) {
    return refuse_override(target, index, Builtin::Value,
                           fmt::format("takes a result and shares memory with '{}'; give memory of its own.", other));
  };
  for (size_t other = 0; other < index; ++other)
    if (PyObject* given = override_of(attempt, other))
      if (meet(own, strided(reinterpret_cast<PyArrayObject*>(given))))
        return shared(plan.returns[other].declared->name);
  if ((plan.module->flags & FR_MODULE_ALIAS_SAFE) != 0 && plan.module->n_alias != 0) return true;
  for (const ArgPlan& arg : plan.args) {
    if (!is_given_array(arg, attempt.frame)) continue;
    const BoundArray& bound = attempt.frame.arrays[arg.index];
    const Strided of_argument{static_cast<const char*>(attempt.frame.pointers[arg.index]), arg.item, arg.rank,
                              bound.shape, bound.byte_strides};
    if (meet(own, of_argument)) return shared(arg.declared->name);
  }
  return true;
}

}  // namespace

std::optional<Outcome> take_override(const Target& target, PyObject* name, PyObject* value, Attempt& attempt) {
  size_t index = 0;
  const auto& names = target.return_names;
  while (index < names.size() && names[index] != name && PyUnicode_Compare(names[index], name) != 0) ++index;
  if (index == names.size()) return std::nullopt;
  const ReturnPlan& r = target.plan().returns[index];
  if (!target.plan().return_override) {
    refuse_override(target, index, Builtin::Type,
                    "is a result; declare allow_return_override=True to let callers give its memory.");
    return Outcome::Raised;
  }
  if (value == Py_None) return Outcome::Done;  // as if it were not given
  if (r.kind != FR_RETURN_ARRAY || r.dtype == DType::Object) {
    refuse_override(target, index, Builtin::Type,
                    "is a result whose memory cannot be given: only arrays of numbers are.");
    return Outcome::Raised;
  }
  if (!PyArray_Check(value)) {
    refuse_override(target, index, Builtin::Type,
                    fmt::format("is {}, but a numpy.ndarray is expected to take the result.", kind_of_object(value)));
    return Outcome::Raised;
  }
  const int masked = is_masked_array(value);
  if (masked > 0)
    refuse_override(target, index, Builtin::Type,
                    "is a masked array, but a result has no mask; give a plain numpy.ndarray.");
  if (masked != 0) return Outcome::Raised;
  attempt.borrowed().set_override(index, value);
  return Outcome::Done;
}

PyObject* override_of(Attempt& attempt, size_t index) {
  return attempt.problem.borrows ? attempt.borrowed().override_of(index) : nullptr;
}

bool check_override(const Target& target, size_t index, Attempt& attempt) {
  auto* array = reinterpret_cast<PyArrayObject*>(override_of(attempt, index));
  return check_elements(target, index, array) && check_shape(target, index, array, attempt.frame) &&
         check_memory(target, index, array) && check_overlap(target, index, array, attempt);
}

}  // namespace ferrule::python

#include "type_facts.h"

#include <cstring>

#include "numpy_api.h"

namespace ferrule::python {
namespace {

// A borrowed attribute of the class itself, not of its metaclass; null, without an error, where there is none.
PyObject* class_attribute(PyTypeObject* type, const char* name) {
  PyObject* text = PyUnicode_InternFromString(name);
  if (text == nullptr) {
    PyErr_Clear();
    return nullptr;
  }
  PyObject* value = _PyType_Lookup(type, text);
  Py_DECREF(text);
  return value;
}

// Whether instances could have an attribute that the class does not have.
bool has_own_attributes(const PyTypeObject* type) {
  return type->tp_dictoffset != 0 || type->tp_getattro != PyObject_GenericGetAttr;
}

bool may_have(PyTypeObject* type, const char* name) {
  return class_attribute(type, name) != nullptr || has_own_attributes(type);
}

const dlpack::Exchange* usable_table(PyObject* capsule) {
  if (capsule == nullptr || !PyCapsule_IsValid(capsule, "dlpack_exchange_api")) return nullptr;
  const auto* header = static_cast<const dlpack::ExchangeHeader*>(PyCapsule_GetPointer(capsule, "dlpack_exchange_api"));
  while (header != nullptr && header->version.major != dlpack::kMajor) header = header->previous;
  const auto* table = reinterpret_cast<const dlpack::Exchange*>(header);
  return table != nullptr && table->from_object != nullptr ? table : nullptr;
}

// A derived class inherits the attribute, but its instances may be wrappers whose memory is not theirs. Its objects are
// what the table's functions know only if it exports them as its base does.
const dlpack::Exchange* exchange_of(PyTypeObject* type) {
  PyObject* capsule = class_attribute(type, "__dlpack_c_exchange_api__");
  if (capsule == nullptr) return nullptr;
  PyTypeObject* base = type->tp_base;
  while (base != nullptr && class_attribute(base, "__dlpack_c_exchange_api__") == capsule) {
    for (const char* name : {"__dlpack__", "__torch_dispatch__"})
      if (class_attribute(base, name) != class_attribute(type, name)) return nullptr;
    base = base->tp_base;
  }
  return usable_table(capsule);
}

bool is_no_array_type(PyTypeObject* type) {
  if (PyType_IsSubtype(type, &PyGenericArrType_Type) != 0) return true;
  constexpr unsigned long kBuiltin = Py_TPFLAGS_LONG_SUBCLASS | Py_TPFLAGS_UNICODE_SUBCLASS | Py_TPFLAGS_DICT_SUBCLASS |
                                     Py_TPFLAGS_LIST_SUBCLASS | Py_TPFLAGS_TUPLE_SUBCLASS | Py_TPFLAGS_TYPE_SUBCLASS;
  return (type->tp_flags & kBuiltin) != 0 || PyType_IsSubtype(type, &PyFloat_Type) != 0 ||
         PyType_IsSubtype(type, &PyComplex_Type) != 0;
}

// Whether the class that brought the table is torch.Tensor, which has no read-only objects.
bool has_torch_table(PyTypeObject* type) {
  PyObject* capsule = class_attribute(type, "__dlpack_c_exchange_api__");
  while (type->tp_base != nullptr && class_attribute(type->tp_base, "__dlpack_c_exchange_api__") == capsule)
    type = type->tp_base;
  PyObject* module = class_attribute(type, "__module__");
  return module != nullptr && PyUnicode_Check(module) && PyUnicode_CompareWithASCIIString(module, "torch") == 0;
}

// Before Python 3.12 only native code has the buffer protocol.
bool has_python_buffer(PyTypeObject* type) {
  PyObject* method = class_attribute(type, "__buffer__");
  return method != nullptr && !Py_IS_TYPE(method, &PyWrapperDescr_Type);
}

TypeFacts find_facts(PyTypeObject* type) {
  TypeFacts facts;
  facts.no_array = is_no_array_type(type);
  if (facts.no_array) return facts;
  facts.exchange = exchange_of(type);
  facts.dlpack = may_have(type, "__dlpack__");
  facts.buffer = type->tp_as_buffer != nullptr && type->tp_as_buffer->bf_getbuffer != nullptr;
  facts.python_buffer = facts.buffer && has_python_buffer(type);
  facts.always_writable = facts.exchange != nullptr && has_torch_table(type);
  facts.interface = may_have(type, "__array_interface__");
  if (facts.exchange != nullptr || facts.dlpack) {
    facts.is_conj = Question(type, "is_conj");
    facts.is_neg = Question(type, "is_neg");
    facts.requires_grad = Question(type, "requires_grad");
  }
  return facts;
}

struct Entry {
  PyTypeObject* type = nullptr;
  unsigned int version = 0;
  TypeFacts facts;
};

// CPython numbers the versions of all classes: a number is used once, and a class that changes, also through a base,
// loses its number. So an entry cannot outlive what it tells, though it holds no reference.
constexpr size_t kEntries = 64;
Entry entries[kEntries];

unsigned int version_of(const PyTypeObject* type) {
#if PY_VERSION_HEX < 0x030C0000
  if ((type->tp_flags & Py_TPFLAGS_VALID_VERSION_TAG) == 0) return 0;
#endif
  return type->tp_version_tag;
}

}  // namespace

Question::Question(PyTypeObject* type, const char* name) {
  PyObject* found = class_attribute(type, name);
  if (found == nullptr) return;
  if (Py_IS_TYPE(found, &PyGetSetDescr_Type)) {
    const PyGetSetDef* definition = reinterpret_cast<PyGetSetDescrObject*>(found)->d_getset;
    getter_ = definition->get;
    closure_ = definition->closure;
  } else if (Py_IS_TYPE(found, &PyMethodDescr_Type) &&
             reinterpret_cast<PyMethodDescrObject*>(found)->d_method->ml_flags == METH_NOARGS) {
    method_ = reinterpret_cast<PyMethodDescrObject*>(found)->d_method->ml_meth;
  } else {
    name_ = name;
  }
}

int Question::answer(PyObject* result) {
  if (result == nullptr) return -1;
  const int truth = result == Py_False ? 0 : result == Py_True ? 1 : PyObject_IsTrue(result);
  Py_DECREF(result);
  return truth;
}

int Question::ask_by_name(PyObject* object) const {
  PyObject* value = PyObject_GetAttrString(object, name_);
  if (value == nullptr || PyCallable_Check(value) == 0) return answer(value);
  PyObject* result = PyObject_CallNoArgs(value);
  Py_DECREF(value);
  return answer(result);
}

TypeFacts facts_of(PyTypeObject* type) {
  Entry& entry = entries[reinterpret_cast<uintptr_t>(type) / alignof(PyTypeObject) / 8 % kEntries];
  const unsigned int version = version_of(type);
  if (version != 0 && entry.type == type && entry.version == version) return entry.facts;
  const TypeFacts facts = find_facts(type);
  entry = {type, version_of(type), facts};  // looking up attributes gives the class a number
  return facts;
}

}  // namespace ferrule::python

// Arrays through __dlpack__ and its capsules.
#include <fmt/format.h>

#include "../common/errors.h"
#include "advice.h"
#include "array/tensor.h"
#include "foreign_array.h"

namespace ferrule::python {
namespace {

// The text of an error of src/array, which says what the tensor is, with function and argument before.
void refuse(const Asked& asked, const Error& error) { python::refuse(asked, error.builtin(), error.what()); }

template <class Tensor>
bool take_managed(PyObject* capsule, const char* name, const char* used, const Asked& asked, Array& array,
                  uint64_t& flags) {
  auto* managed = static_cast<Tensor*>(PyCapsule_GetPointer(capsule, name));
  // The tensor is ours from the moment of the renaming: nothing that could fail may come before it is held.
  const bool ours = managed != nullptr && PyCapsule_SetName(capsule, used) == 0;
  Py_DECREF(capsule);
  if (!ours) return false;
  try {
    if constexpr (std::is_same_v<Tensor, dlpack::ManagedVersioned>)
      flags = managed->version.major == dlpack::kMajor ? managed->flags : 0;
    array = take_tensor(managed, give_back_tensor<Tensor>);
    return true;
  } catch (const Error& error) {
    refuse(asked, error);
  } catch (...) {
    raise_current_exception();
  }
  return false;
}

// False with the refusal set, also where the exporter cannot tell its device.
bool is_on_host(PyObject* object, const Asked& asked) {
  PyObject* method = PyObject_GetAttrString(object, "__dlpack_device__");
  if (method == nullptr && PyErr_ExceptionMatches(PyExc_AttributeError)) {
    PyErr_Clear();  // the tensor itself tells
    return true;
  }
  PyObject* device = method == nullptr ? nullptr : PyObject_CallNoArgs(method);
  Py_XDECREF(method);
  int type = 0, id = 0;
  bool known = device != nullptr;
  if (known && (!PyTuple_Check(device) || PyArg_ParseTuple(device, "ii", &type, &id) == 0)) {
    PyErr_Format(PyExc_TypeError, "__dlpack_device__() gave %R, but a tuple of two ints is expected", device);
    known = false;
  }
  Py_XDECREF(device);
  if (!known) {
    refuse_with_reason(asked, "DLPack");
    return false;
  }
  if (is_host_device(type)) return true;
  python::refuse(asked, Builtin::Buffer,
                 fmt::format("is on {}, but memory of the host is expected.", name_of_device({type, id})));
  return false;
}

// A capsule from the exporter; keywords that it does not know are left out.
PyObject* ask_for_capsule(PyObject* object, PyObject* copy) {
  PyObject* method = PyObject_GetAttrString(object, "__dlpack__");
  PyObject* keywords =
      method == nullptr ? nullptr : Py_BuildValue("{s(ii)}", "max_version", int{dlpack::kMajor}, int{dlpack::kMinor});
  PyObject* none = keywords == nullptr ? nullptr : PyTuple_New(0);
  PyObject* capsule = nullptr;
  if (none != nullptr && (copy == nullptr || PyDict_SetItemString(keywords, "copy", copy) == 0)) {
    capsule = PyObject_Call(method, none, keywords);
    if (capsule == nullptr && PyErr_ExceptionMatches(PyExc_TypeError)) {
      PyErr_Clear();
      capsule = PyObject_CallNoArgs(method);
    }
  }
  Py_XDECREF(none);
  Py_XDECREF(keywords);
  Py_XDECREF(method);
  return capsule;
}

// What an exporter does not check by itself. 1: its memory is not what it shows.
int hides_values(PyObject* object, const TypeFacts& facts, const Asked& asked) {
  const int conjugated = facts.is_conj.ask(object), negated = facts.is_neg.ask(object);
  const int recorded = asked.written ? facts.requires_grad.ask(object) : 0;
  if (conjugated < 0 || negated < 0 || recorded < 0) {
    refuse_with_reason(asked, "DLPack");
    return -1;
  }
  if (conjugated != 0 || negated != 0)
    python::refuse(
        asked, Builtin::Buffer,
        fmt::format("is to be {} when it is read, which its memory does not show; pass {}.resolve_{}().",
                    conjugated != 0 ? "conjugated" : "negated", asked.argument, conjugated != 0 ? "conj" : "neg"));
  else if (recorded != 0)
    python::refuse(
        asked, Builtin::Buffer,
        fmt::format("requires gradients, which a program that writes it would leave wrong; pass {}.detach().",
                    asked.argument));
  return conjugated != 0 || negated != 0 || recorded != 0;
}

}  // namespace

bool take_capsule(PyObject* capsule, const Asked& asked, DlpackRequest& request, Array& array) {
  uint64_t flags = 0;
  bool taken = false;
  if (PyCapsule_IsValid(capsule, "dltensor_versioned")) {
    taken = take_managed<dlpack::ManagedVersioned>(capsule, "dltensor_versioned", "used_dltensor_versioned", asked,
                                                   array, flags);
  } else if (PyCapsule_IsValid(capsule, "dltensor")) {
    taken = take_managed<dlpack::Managed>(capsule, "dltensor", "used_dltensor", asked, array, flags);
  } else if (!PyCapsule_CheckExact(capsule)) {
    refuse(asked, Builtin::Buffer,
           fmt::format("gave {}, but a capsule of DLPack is expected.", kind_of_object(capsule)));
    Py_DECREF(capsule);
  } else {
    const char* name = PyCapsule_GetName(capsule);
    const std::string_view text = name != nullptr ? name : "";
    refuse(asked, Builtin::Buffer,
           text.starts_with("used_dltensor")
               ? fmt::format("gave a capsule that was used already ('{}').", text)
               : fmt::format("gave a capsule named '{}', but 'dltensor' or 'dltensor_versioned' is expected.", text));
    Py_DECREF(capsule);
  }
  request.copied = (flags & dlpack::kIsCopied) != 0;
  return taken;
}

bool take_through_table(PyObject* object, const TypeFacts& facts, const Asked& asked, Array& array) {
  dlpack::ManagedVersioned* managed = nullptr;
  if (facts.exchange->from_object(object, &managed) != 0 || managed == nullptr) {
    if (PyErr_Occurred() != nullptr)
      refuse_with_reason(asked, "its C exchange table");
    else
      refuse(asked, Builtin::Buffer, "is refused by its own C exchange table.");
    return false;
  }
  try {
    array = take_tensor(managed, give_back_tensor<dlpack::ManagedVersioned>);
    return hides_values(object, facts, asked) == 0;
  } catch (const Error& error) {
    refuse(asked, error);
  } catch (...) {
    raise_current_exception();
  }
  return false;
}

bool take_through_dlpack(PyObject* object, const TypeFacts& facts, const Asked& asked, DlpackRequest& request,
                         Array& array) {
  if (!is_on_host(object, asked)) return false;
  PyObject* capsule = ask_for_capsule(object, request.copy);
  if (capsule == nullptr) {
    refuse_with_reason(asked, "DLPack");
    return false;
  }
  if (!take_capsule(capsule, asked, request, array)) return false;
  if (!request.copied) return hides_values(object, facts, asked) == 0;
  if (!asked.written) return true;
  refuse(asked, Builtin::Buffer, "was copied by its exporter, so what the program writes would be lost.");
  return false;
}

}  // namespace ferrule::python

// The stages from Program to source text for Python; building and storing is _rt's, so that both modules share one
// path.
#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/set.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include "compiler.h"
#include "schedule/schedule.h"

namespace nb = nanobind;

namespace ferrule {

void bind_compile(nb::module_& m);

namespace {

nb::dict to_python(const EmittedSource& emitted) {
  nb::dict out;
  out["source"] = emitted.source;
  nb::list ingredients;
  for (const Ingredient& i : emitted.ingredients) ingredients.append(nb::make_tuple(i.name, i.value));
  out["ingredients"] = ingredients;
  nb::dict times;
  for (const StageTime& t : emitted.times) times[t.stage.c_str()] = t.seconds;
  out["times"] = times;
  nb::dict text;
  for (const auto& [stage, printed] : emitted.text) text[stage.c_str()] = printed;
  out["text"] = text;
  return out;
}

// Those of the environment. Throws user_error for names of stages and passes that there are not.
PassOptions checked_options() {
  PassOptions options = pass_options_from_environment();
  for (const std::string& name : options.off) require_optional_pass(name);
  for (const std::string& name : options.dump)
    if (name != "all") require_stage(name);
  return options;
}

nb::dict emit_for_python(const Program& program, bool strict_scalars, bool alias_version, bool reference,
                         bool keep_text, std::set<std::string> off) {
  EmitRequest request{strict_scalars, alias_version, reference, checked_options()};
  request.passes.keep_text = keep_text;
  for (const std::string& name : off) require_optional_pass(name);
  request.passes.off.merge(off);
  EmittedSource emitted;
  {
    nb::gil_scoped_release unlocked;
    emitted = emit_source(program, request);
  }
  return to_python(emitted);
}

nb::dict emit_source_kernel_for_python(const std::string& signature, const std::string& author_text) {
  const PassOptions options = checked_options();
  EmittedSource emitted;
  {
    nb::gil_scoped_release unlocked;
    emitted = emit_source(complete(signature_from_json(signature)), author_text, options);
  }
  return to_python(emitted);
}

}  // namespace

void bind_compile(nb::module_& m) {
  m.def("emit_source", &emit_for_python, nb::arg("program"), nb::kw_only(), nb::arg("strict_scalars") = false,
        nb::arg("alias_version") = false, nb::arg("reference") = false, nb::arg("keep_text") = false,
        nb::arg("off") = std::set<std::string>{},
        "Run the stages up to C++ text: {source, ingredients, times by stage, text by stage}. FERRULE_DUMP and "
        "FERRULE_PASSES_OFF apply.");
  m.def("emit_source_kernel", &emit_source_kernel_for_python, nb::arg("signature"), nb::arg("author_text"),
        "The author's text with the frame that a signature (JSON) asks for: {source, ingredients, times, text}.");
  m.def(
      "complete_signature", [](const std::string& json) { return to_json(complete(signature_from_json(json))); },
      nb::arg("json"), "The canonical JSON of a signature with all that it leaves open filled in, checked.");
  m.def("stage_names", &stage_names);
  m.def("compiler_digest", &compiler_digest);
  m.def(
      "schedule_passes",
      [] {
        nb::list out;
        for (const SchedulePass& pass : schedule_passes())
          out.append(nb::make_tuple(pass.name, pass.what, pass.required));
        return out;
      },
      "The passes of schedule in order: (name, what, required).");
}

}  // namespace ferrule

// What C++ applications need to load and call what was compiled elsewhere: libferrule_rt.
//
// Artifact, open_artifact  a compiled program, as Python's Artifact.save writes it
// Store, load_bytes        the compiled programs of a folder; verified bytes of a module
// load_module, load_file   a module mapped into the process
// Handle, invoke           a callable of its own, and its call
// compile_source           C++ text with a frame; see ferrule.h for what makes one
//
// Failures are exceptions of type Error, with one sentence.
#pragma once

#include "array/array.h"
#include "artifact/artifact.h"
#include "artifact/compile.h"
#include "artifact/store.h"
#include "artifact/store_root.h"
#include "base/error.h"
#include "call/invoke.h"
#include "ferrule/abi.h"
#include "load/module.h"

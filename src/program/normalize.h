// The normal form of a finished Program: no dead operations, closed may_be lists, argument flags, one numbering.
#pragma once

#include "program/program.h"

namespace ferrule {

// Replaces every Carried and Alias buffer in may_be lists by the buffers with memory of their own behind it.
void close_may_be(Program& program);
// The buffers with memory of their own (Argument, Constant, Transient) that an access to `buffer` may reach; needs
// closed may_be lists.
std::vector<BufferId> roots_of(const Program& program, BufferId buffer);
// Removes operations without effect whose results nothing uses.
void remove_dead(Program& program);
// Argument::read and written from the loads and stores that may reach each argument.
void set_access_flags(Program& program);
// Rewrites expressions with the equalities of the guards, except those of arguments' buffers, guards and sources.
void canonicalize_sizes(Program& program);
// Numbers values, buffers and symbols in order of appearance and drops unused ones; symbols that no caller sees get
// names that depend on the order alone.
void renumber(Program& program);

}  // namespace ferrule

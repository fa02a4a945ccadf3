/* What a generated module exports and what it may import: the only contract between emitted code and its host.

   Plain C, version 1. Every struct that a module hands out begins with `uint32_t size` and is append-only; the loader
   needs the magic, an equal major version and size >= the minimum that it knows. A module links against nothing but
   libc and libm, keeps all state in `state` (owned by the handle), and reaches everything else through FrHost.

   Integers in strides are counted in elements, never in bytes, unless a name says so. */
#ifndef FERRULE_ABI_H
#define FERRULE_ABI_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FR_ABI_MAGIC 0x31304c5552524546ull /* "FERRUL01" */
#define FR_ABI_MAJOR 1u
#define FR_ABI_MINOR 2u
#define FR_MAX_RANK 32

/* Element types. Values are part of the ABI. */
enum FrDType {
  FR_BOOL = 0,
  FR_I8 = 1,
  FR_I16 = 2,
  FR_I32 = 3,
  FR_I64 = 4,
  FR_U8 = 5,
  FR_U16 = 6,
  FR_U32 = 7,
  FR_U64 = 8,
  FR_F16 = 9,
  FR_BF16 = 10,
  FR_F32 = 11,
  FR_F64 = 12,
  FR_C64 = 13,
  FR_C128 = 14,
  /* Storage alone: nothing computes with them. */
  FR_F8_E4M3FN = 15,
  FR_F8_E5M2 = 16,
  FR_RECORD = 17, /* elements are structs: FrArg::record */
  FR_OBJECT = 18  /* elements are opaque handles of Python objects */
};

/* Result of init, run, run_alias, take_error and exit. Negative codes are the program's own, and those from
   FR_STATUS_USER on: its status plus FR_STATUS_USER. */
enum FrStatus {
  FR_OK = 0,
  FR_STATUS_ERROR = 1,    /* recorded by FrHost::set_error */
  FR_STATUS_CALLBACK = 2, /* a callback failed */
  FR_STATUS_NO_STATE = 3, /* init had no state to give */
  FR_STATUS_USER = 16     /* from take_error: an error with a text alone */
};

/* Codes of errors that a module records through FrHost::set_error, with the meaning of values[0..3]. */
enum FrErrorCode {
  FR_ERR_INDEX = 1,         /* index out of bounds: index, axis or -1, extent or -1 (then the index is not shown) */
  FR_ERR_SHAPE = 2,         /* extents that must be equal differ: left, right, axis */
  FR_ERR_DOMAIN = 3,        /* value outside an operation's domain (integer to a negative power): value */
  FR_ERR_ASSERT = 4,        /* an assert of the program, or a raise of AssertionError */
  FR_ERR_MEMORY = 5,        /* allocation failed: bytes; 0 if unknown, -1 for more than fit */
  FR_ERR_VALUE = 6,         /* other ValueError, the site tells which */
  FR_ERR_UNDEFINED = 7,     /* a name read before it was assigned */
  FR_ERR_OVERFLOW = 8,      /* a Python int that 64 bits do not hold */
  FR_ERR_ZERO_DIVISION = 9, /* a Python number divided by zero */
  FR_ERR_TYPE = 10,         /* a raise of TypeError by the program */
  FR_ERR_RAISE = 11         /* a raise of the program of a kind that has no code of its own */
};

/* An integer expression over the call's symbols in postfix form: `count` words at `code`.
   A word is an opcode in its low 8 bits; FR_X_CONST is followed by one word (the value), FR_X_SYMBOL by one word (the
   index of the symbol). Comparisons give 0 or 1. Division and remainder are floored; by zero they give 0. */
typedef struct {
  const int64_t* code;
  uint32_t count;
} FrExpr;

enum FrExprOp {
  FR_X_CONST = 0,
  FR_X_SYMBOL = 1,
  FR_X_ADD = 2,
  FR_X_SUB = 3,
  FR_X_MUL = 4,
  FR_X_FLOORDIV = 5,
  FR_X_MOD = 6,
  FR_X_MIN = 7,
  FR_X_MAX = 8,
  FR_X_NEG = 9,
  FR_X_EQ = 10,
  FR_X_NE = 11,
  FR_X_LT = 12,
  FR_X_LE = 13,
  FR_X_AND = 14,
  FR_X_OR = 15,
  FR_X_NOT = 16,
  FR_X_POW = 17,    /* non-negative exponent; negative gives 0 */
  FR_X_SELECT = 18, /* c a b: c != 0 ? a : b */
  /* Doubles travel as their 64 bits. */
  FR_X_FCONST = 32,
  FR_X_FARG = 33, /* followed by one word: an argument's index, its scalar value as double */
  FR_X_FLT = 34,
  FR_X_FLE = 35,
  FR_X_FEQ = 36,
  FR_X_FFROMI = 37,
  FR_X_FADD = 38,
  FR_X_FSUB = 39,
  FR_X_FMUL = 40,
  FR_X_FDIV = 41
};

enum FrArgKind {
  FR_ARG_ARRAY = 0,
  FR_ARG_SCALAR = 1,
  FR_ARG_STATIC = 2, /* a Python value fixed by this specialisation; compared by the host, not passed */
  /* FrCall::args holds for each: */
  FR_ARG_RECORD = 3,   /* a struct by value: the address of FrArg::record->bytes bytes */
  FR_ARG_STRING = 4,   /* UTF-8 text or bytes: the address of an FrString */
  FR_ARG_OBJECT = 5,   /* a Python object: an opaque handle, alive during the call */
  FR_ARG_CALLBACK = 6, /* a Python callable: NULL or not, called by FrHost::callback with the argument's index */
  FR_ARG_POINTERS = 7  /* arrays of one dtype: the address of an FrPointers */
};

typedef struct {
  const char* data; /* not NULL; ends with a NUL that `length` does not count */
  int64_t length;   /* bytes */
} FrString;

typedef struct {
  void* const* data; /* first elements, in logical order */
  int64_t length;
} FrPointers;

/* One field of a struct; nested structs are flattened by name ("a.b"). */
typedef struct {
  uint32_t size;
  uint32_t offset; /* bytes from the beginning of the struct */
  const char* name;
  uint8_t dtype; /* FrDType */
  uint8_t reserved[3];
  uint32_t count; /* elements: 1, or those of an array field in C order */
} FrField;

typedef struct {
  uint32_t size;
  uint32_t bytes;
  const char* name;
  uint32_t n_fields;
  uint32_t alignment;
  const FrField* fields;
  const char* literal; /* the struct as Python text that numpy.dtype() takes */
} FrRecord;

/* What FrHost::callback passes for a callable: `n_params` values, scalars by address, arrays as pointers, objects as
   handles; extents of array parameters over the call's symbols. */
typedef struct FrCallback FrCallback;

enum FrIntent { FR_IN = 1, FR_OUT = 2, FR_INOUT = 3 };

/* Layout classes, most specific first where they overlap. A plan accepts by test; extents <= 1 satisfy every class. */
enum FrLayout { FR_LAYOUT_C = 0, FR_LAYOUT_F = 1, FR_LAYOUT_INNER = 2, FR_LAYOUT_ANY = 3 };

enum FrArgFlags {
  FR_ARG_OPTIONAL = 1, /* None is allowed and arrives as NULL */
  FR_ARG_WEAK = 2,     /* a scalar that came as Python int or float; an int is also symbol `symbol` */
  FR_ARG_KEYWORD_ONLY = 4,
  FR_ARG_HIDDEN = 8 /* a global array, fetched by the host at the call; never given by the caller */
};

typedef struct {
  uint32_t size;
  uint32_t flags;     /* FrArgFlags */
  const char* name;   /* UTF-8, as the user wrote it */
  uint8_t kind;       /* FrArgKind */
  uint8_t dtype;      /* FrDType */
  uint8_t rank;       /* 0 for scalars */
  uint8_t intent;     /* FrIntent */
  uint8_t layout;     /* FrLayout */
  uint8_t space;      /* 0 host memory */
  uint8_t inner_axis; /* FR_LAYOUT_INNER: the axis of unit stride */
  uint8_t reserved;
  const FrExpr* extents; /* rank of them */
  const FrExpr* strides; /* rank of them, in elements, for INNER and ANY; NULL otherwise (then dense in C or F order) */
  int32_t symbol;        /* weak integer scalars: the symbol that holds the value; -1 otherwise */
  int32_t reserved2;
  const char* default_text;   /* Python literal of the default, NULL when required */
  const FrRecord* record;     /* FR_ARG_RECORD, and arrays of FR_RECORD */
  const FrCallback* callback; /* FR_ARG_CALLBACK */
} FrArg;

struct FrCallback {
  uint32_t size;
  uint32_t n_params;
  const FrArg* params; /* kinds FR_ARG_SCALAR, FR_ARG_ARRAY (C order) and FR_ARG_OBJECT */
  uint8_t has_result;  /* 1: a scalar of `result_dtype`, or an object for FR_OBJECT, is stored at `result` */
  uint8_t result_dtype;
  uint16_t reserved;
};

enum FrSymbolSource {
  FR_SYMBOL_EXTENT = 0,   /* args[arg].shape[axis] solves it */
  FR_SYMBOL_STRIDE = 1,   /* args[arg].strides[axis] solves it */
  FR_SYMBOL_SCALAR = 2,   /* the value of scalar argument `arg` */
  FR_SYMBOL_EXPLICIT = 3, /* only by keyword */
  FR_SYMBOL_DERIVED = 4   /* `solve` over the symbols before it */
};

typedef struct {
  uint32_t size;
  uint32_t flags;   /* 1: may be negative */
  const char* name; /* as messages print it: "N", "a.shape[0]" */
  uint8_t source;   /* FrSymbolSource */
  uint8_t axis;
  uint16_t reserved;
  int32_t arg;
  FrExpr solve; /* FR_X_SYMBOL 0 is the source's value here: e.g. value // 2. count == 0: the value itself.
                   FR_SYMBOL_DERIVED: FR_X_SYMBOL i is symbol i */
} FrSymbol;

enum FrReturnKind {
  FR_RETURN_ARRAY =
      0, /* fresh, C order, extents known before the run: the host passes its pointer after the arguments */
  FR_RETURN_SCALAR = 1,   /* the host passes the address of 16 zeroed bytes */
  FR_RETURN_ARGUMENT = 2, /* the very object of argument `arg` */
  FR_RETURN_VIEW = 3,     /* a view of an argument; the module calls view_return */
  FR_RETURN_DYNAMIC = 4,  /* fresh, size known only at run time; the module calls alloc_return */
  FR_RETURN_NONE = 5      /* Python's None in this place */
};

enum FrReturnFlags {
  FR_RETURN_WEAK = 1 /* a scalar that is a Python int, float or bool, not a NumPy scalar */
};

typedef struct {
  uint32_t size;
  uint32_t flags; /* FrReturnFlags */
  const char* name;
  uint8_t kind; /* FrReturnKind */
  uint8_t dtype;
  uint8_t rank;
  uint8_t reserved;
  int32_t arg;            /* FR_RETURN_ARGUMENT, FR_RETURN_VIEW */
  const FrExpr* extents;  /* FR_RETURN_ARRAY: rank of them */
  const FrRecord* record; /* dtype FR_RECORD */
} FrReturn;

typedef struct {
  FrExpr condition; /* nonzero: holds */
  const char* text; /* with the user's names: "a.shape[0] == b.shape[0]" */
  uint32_t flags;   /* 1: compares two sources (left == right), reported as a shape disagreement */
  uint32_t reserved;
} FrGuard;

/* For a written argument and another argument: what overlap `run` allows. */
enum FrAliasClass { FR_ALIAS_DISJOINT = 0, FR_ALIAS_IDENTICAL = 1, FR_ALIAS_ANY = 2 };

typedef struct {
  uint16_t written;
  uint16_t other;
  uint32_t allowed; /* FrAliasClass */
} FrAliasPair;

/* Memory that the caller gives by Kernel.set_workspace and that stays with the handle. */
typedef struct {
  uint32_t size;
  uint32_t alignment; /* bytes, a power of two */
  const char* name;
  FrExpr bytes; /* over the call's symbols */
} FrWorkspace;

/* Words of FrModule::user_args besides the indices of arguments. */
enum FrUserArg { FR_USER_IGNORED = -1, FR_USER_OPEN = -2, FR_USER_CLOSE = -3 };

typedef struct FrCallCtx FrCallCtx; /* the host's; one per call */
typedef struct FrHost FrHost;       /* below */

typedef struct {
  uint32_t size;
  uint32_t flags;
  void* const* args;      /* n_args data pointers in descriptor order, then n_returns: arrays by data pointer (first
                             element in logical order), scalars by address, NULL for None and for returns that the
                             module makes itself */
  const int64_t* symbols; /* in descriptor order */
  void* arena;            /* arena_bytes(symbols) bytes, 64-byte aligned, contents undefined; NULL if 0 */
  FrCallCtx* ctx;         /* error slot, returns, pending Python exception: per call, never per handle */
  void* stream;
  int32_t num_threads; /* 0: the host decides */
  int32_t reserved;
  const FrHost* host;      /* the table that init gets too: stateless modules reach it here */
  void* const* workspaces; /* one per FrModule::workspaces */
} FrCall;

/* A program in its text form, for the host to evaluate operation by operation. */
typedef struct {
  uint32_t size;
  uint32_t n_sites;
  const char* text;
  int64_t length;       /* bytes of it */
  const int32_t* sites; /* FrHost::set_error's `site` of each check, in the order of the text */
} FrProgram;

typedef int32_t (*FrBody)(void* closure, int64_t lo, int64_t hi, int32_t worker);

struct FrHost {
  uint32_t size;
  uint32_t version; /* FR_ABI_MAJOR << 16 | FR_ABI_MINOR */
  /* Records an error in ctx unless one is there; `site` indexes the site table kept outside the module (-1: none). */
  void (*set_error)(FrCallCtx* ctx, int32_t code, int32_t site, const int64_t values[4]);
  /* Fresh C-ordered memory for return `ret`; NULL when out of memory (the error is recorded). Asked again for the same
     return, by this or view_return, the last answer counts. */
  void* (*alloc_return)(FrCallCtx* ctx, int32_t ret, int32_t rank, const int64_t* shape);
  /* Return `ret` is a view of argument `arg`; byte_offset from the pointer passed for it, strides in elements. */
  int32_t (*view_return)(FrCallCtx* ctx, int32_t ret, int32_t arg, int64_t byte_offset, int32_t rank,
                         const int64_t* shape, const int64_t* strides);
  /* Runs body over [0, n) in chunks of about `grain`; returns FR_OK or the status of the lowest failing chunk. A body
     returns a status and throws nothing; errors it records are kept by lowest iteration. */
  int32_t (*parallel_for)(FrCallCtx* ctx, int64_t n, int64_t grain, FrBody body, void* closure);
  /* Calls back into the host: callback argument `arg` with `n` argument addresses. FR_OK or FR_STATUS_CALLBACK. */
  int32_t (*callback)(FrCallCtx* ctx, int32_t arg, int32_t n, void* const* values, void* result);
  const void* blas;       /* reserved: table of BLAS and LAPACK entries */
  int64_t (*timer)(void); /* monotonic nanoseconds */
  /* Scratch whose size is known only in the middle of a run; freed by the host when the call ends. */
  void* (*alloc_scratch)(FrCallCtx* ctx, int64_t bytes);
  /* What `run` of a module for target 'reference' does: evaluates the program on the call's arguments, symbols and
     results. */
  int32_t (*evaluate)(const FrCall* call, const FrProgram* program);
};

typedef int32_t (*FrInit)(void** state, const FrHost* host, const int64_t* persistent_symbols);
typedef int32_t (*FrRun)(void* state, const FrCall* call);
typedef int32_t (*FrExit)(void* state);
/* Takes what the program has recorded of its own errors, so that the next call does not find it. Called after init, run
   and exit with their status (FR_OK or the program's own); `state` is NULL after init and exit. Gives that status, or
   an own one where it was FR_OK and an error was recorded; `text` may be set to what is to be said of it, valid until
   the thread's next call of the module. */
typedef int32_t (*FrTakeError)(void* state, int32_t status, const char** text);

typedef struct {
  const char* key;
  const char* value;
} FrFact;

/* What a status of the author's function means. */
typedef struct {
  int64_t status;
  const char* text;
} FrStatusText;

enum FrModuleFlags {
  FR_MODULE_ALIAS_SAFE = 1,    /* `run` is right for every overlap of arguments: the host skips the test */
  FR_MODULE_STATELESS = 2,     /* init and exit do nothing; no handle state */
  FR_MODULE_RETURNS_TUPLE = 4, /* even one return comes in a tuple */
  FR_MODULE_BOUNDS_CHECKED = 8,
  FR_MODULE_STRICT_SCALARS = 16,
  FR_MODULE_ARENA_FOR_ALIAS = 32, /* only `run_alias` uses the arena: `run` gets NULL */
  FR_MODULE_RETURN_OVERRIDE = 64, /* callers may give the memory of a returned array, by its name */
  FR_MODULE_COERCE = 128,         /* lists and tuples are copied to arrays that are only read */
  FR_MODULE_UNCHECKED = 256,      /* the program's own errors are left alone unless the caller asks */
  FR_MODULE_RELEASES_GIL = 512,   /* every run lets other Python threads in; without either flag long ones do */
  FR_MODULE_KEEPS_GIL = 1024      /* no run does */
};

typedef struct {
  uint64_t magic; /* FR_ABI_MAGIC */
  uint32_t size;
  uint16_t major, minor;
  uint32_t flags; /* FrModuleFlags */
  const char* name;
  const char* digest; /* L1: hex digest of the canonical program, signature, options and compiler */
  uint32_t n_args, n_symbols, n_returns, n_guards, n_alias, n_facts;
  const FrArg* args;
  const FrSymbol* symbols;
  const FrReturn* returns;
  const FrGuard* guards;
  const FrAliasPair* alias;
  const FrFact* facts; /* compiler, flags, target, CPU features used ("features": comma-separated) */
  FrExpr arena_bytes;
  FrExpr work; /* estimated scalar operations of a run */
  FrInit init; /* NULL when stateless */
  FrRun run;
  FrRun run_alias;       /* right for every overlap; NULL where it is absent or the same as run */
  FrExit exit;           /* NULL when stateless */
  uint32_t n_positional; /* leading arguments that may be given by position */
  uint32_t reserved;
  uint32_t n_workspaces, n_persistent, n_user_args, n_statuses;
  const FrWorkspace* workspaces;
  const int32_t* persistent; /* symbols that `init` was given and that keep their value until `exit` */
  const int32_t*
      user_args; /* the layout of Kernel.user_call: indices of arguments, FrUserArg; one level is not enclosed */
  const FrStatusText* statuses;
  FrTakeError take_error; /* NULL where the program records none */
} FrModule;

/* The one data symbol that a module exports. */
#define FR_MODULE_SYMBOL "ferrule_module_v1"

#ifdef __cplusplus
}
#endif
#endif

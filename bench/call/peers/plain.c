/* For ctypes: plain C functions over pointers. */
#include <stdint.h>

void call1(double* out, int64_t n) { *out = (double)n; }
void call3(const double* a, const double* b, double* out, int64_t n) {
  (void)a, (void)b;
  *out = (double)n;
}
void call10(const double* a0, const double* a1, const double* a2, const double* a3, const double* a4, const double* a5,
            const double* a6, const double* a7, const double* a8, double* out, int64_t n) {
  (void)a0, (void)a1, (void)a2, (void)a3, (void)a4, (void)a5, (void)a6, (void)a7, (void)a8;
  *out = (double)n;
}

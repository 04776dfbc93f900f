// expect: a guard acts until its scope ends: give it a name
#include <xgrad/xgrad.hpp>

#pragma GCC diagnostic error "-Wunused-result"
#pragma GCC diagnostic error "-Wunused-value"

int main() {
#ifdef MISTAKE
    xgrad::NoGradGuard();
#else
    xgrad::NoGradGuard guard;
#endif
}

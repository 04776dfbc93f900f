// expect: from_blob: no tensor has elements of this type: cast the pointer to that of a number
#include <xgrad/xgrad.hpp>

int main() {
    alignas(8) unsigned char bytes[16] = {};
#ifdef MISTAKE
    xgrad::from_blob(bytes, {2});
#else
    xgrad::from_blob(reinterpret_cast<double*>(bytes), {2});
#endif
}

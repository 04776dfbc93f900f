// What is the same for all files of a program: see XGRAD_SEPARATE_COMPILATION in base/config.hpp.
#define XGRAD_SOURCE
#include <xgrad/xgrad.hpp>

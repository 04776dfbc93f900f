// What is the same for all files of a program: see XGRAD_SEPARATE_COMPILATION in base/config.hpp.
#define XGRAD_SOURCE
#include <xgrad/data.hpp>
#include <xgrad/linalg.hpp>
#include <xgrad/nn.hpp>
#include <xgrad/optim.hpp>
#include <xgrad/xgrad.hpp>

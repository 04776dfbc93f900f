#include <xgrad/data.hpp>
#include <xgrad/nn.hpp>
#include <xgrad/xgrad.hpp>

#define XGRAD_IMPLEMENTATION
#include <xgrad/package.hpp>

// Modules, layers, activations and losses. Not part of xgrad.hpp, which a program without them compiles faster.
#pragma once

#include <xgrad/nn/module.hpp>
#include <xgrad/nn/module_list.hpp>
#include <xgrad/xgrad.hpp>

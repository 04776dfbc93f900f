// expect: conversion from '.*Expression<.*Tensor<double>.*'\)? to .*Tensor<float>'
#include <xgrad/xgrad.hpp>

int main() {
    xgrad::Tensor<double> const x({1., 2.});
#ifdef MISTAKE
    xgrad::Tensor<float> const y = x * x;
#else
    xgrad::Tensor<float> const y = xgrad::cast<float>(x * x);
#endif
    return y.dim() != 1;
}

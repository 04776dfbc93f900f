#include <xgrad/xgrad.hpp>

#include <xgrad/impl/instances.ipp>

// The bodies of xgrad.hpp: see core/config.hpp. The other files here have those of the other
// headers. The instances of templates take most of the time: in a file of their own, they do not
// stand in the way of an edit of a body.
#define XGRAD_IMPLEMENTATION
#define XGRAD_INSTANCES_ELSEWHERE
#include <xgrad/xgrad.hpp>

// Empty: CMake makes a precompiled header only for a target that has a source which uses it.

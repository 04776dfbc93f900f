// Never built: CMake writes down how it would be, and the tests that call the compiler themselves
// read that.

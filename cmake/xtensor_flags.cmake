# Sets `result` to the compiler options that an xtensor of this version needs in C++20. Used by the build and by the
# installed package, because the xtensor of the two may differ.
#
# Before 0.26 xtensor guards a specialisation with `__cplusplus == 201703L`. g++ in C++20 then takes the shape type of a
# dynamic array for that of a fixed one, and writes through an uninitialised shape; clang from 19 on finds it ambiguous.
# A header of ours mends it as well (core/xtensor.hpp), but only where it is included before any header of xtensor.
function(xgrad_xtensor_flags result version)
    if(NOT version)
        # The target came from the program around us: the layout of the headers tells the version.
        get_target_property(directories xtensor INTERFACE_INCLUDE_DIRECTORIES)
        set(version 0.25)
        foreach(directory IN LISTS directories)
            string(REGEX REPLACE "^\\$<BUILD_INTERFACE:(.*)>$" "\\1" directory "${directory}")
            if(EXISTS "${directory}/xtensor/core/xtensor_config.hpp")
                set(version 0.26)
            endif()
        endforeach()
    endif()
    set(flags "")
    if(version VERSION_LESS 0.26)
        set(relax "-fno-relaxed-template-template-args;-Wno-deprecated-no-relaxed-template-template-args")
        set(new_clang "$<VERSION_GREATER_EQUAL:$<CXX_COMPILER_VERSION>,19>")
        set(new_apple "$<VERSION_GREATER_EQUAL:$<CXX_COMPILER_VERSION>,17>")
        list(APPEND flags
            "$<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fno-new-ttp-matching>"
            "$<$<AND:$<COMPILE_LANG_AND_ID:CXX,Clang>,${new_clang}>:${relax}>"
            "$<$<AND:$<COMPILE_LANG_AND_ID:CXX,AppleClang>,${new_apple}>:${relax}>")
    endif()
    set(${result} "${flags}" PARENT_SCOPE)
endfunction()

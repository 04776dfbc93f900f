# Tests need tools that a machine may lack. Such a test is on the list of tests everywhere: where one of its tools is missing, it is skipped and says so.

# Says of a tool that tests need whether it was found, and the sentence for where it was not.
function(xgrad_set_tool name found sentence)
    if(found)
        set(sentence "")
    endif()
    set(xgrad_missing_${name} "${sentence}" CACHE INTERNAL "")
endfunction()

# Sets `result` to what is missing of these tools: sentences, or nothing.
function(xgrad_missing_tools result)
    set(sentences "")
    foreach(name IN LISTS ARGN)
        if(NOT DEFINED xgrad_missing_${name})
            message(FATAL_ERROR "xgrad: a test needs ${name}, and nobody looks for it")
        endif()
        list(APPEND sentences ${xgrad_missing_${name}})
    endforeach()
    list(JOIN sentences ", " sentences)
    set(${result} "${sentences}" PARENT_SCOPE)
endfunction()

# Sets `result` to those of these tools that a source or a document asks for by what it includes.
set(xgrad_includes_of_mpi "<xgrad[/_]distributed")
set(xgrad_includes_of_lapack "<xgrad/(linalg|manifold)")
set(xgrad_includes_of_eigen "<Eigen/")
set(xgrad_includes_of_dlpack "<dlpack/")
function(xgrad_needs_of result source)
    set(needs "")
    foreach(tool IN LISTS ARGN)
        file(STRINGS "${source}" includes REGEX "^[ ]*#[ ]*include[ ]*${xgrad_includes_of_${tool}}")
        if(includes)
            list(APPEND needs ${tool})
        endif()
    endforeach()
    set(${result} "${needs}" PARENT_SCOPE)
endfunction()

function(xgrad_add_skipped_test name label sentences)
    add_test(NAME ${name} COMMAND "${CMAKE_COMMAND}" -E echo "skipped: ${sentences}")
    set_tests_properties(${name} PROPERTIES LABELS "${label};skipped" SKIP_REGULAR_EXPRESSION "^skipped: ")
endfunction()

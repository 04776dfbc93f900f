# Compiles other_platform.cpp with another compiler, for headers in folders of their own, and runs it.
#
# cmake -DCOMMAND=compiler|option|... -DEMULATOR=program|option|... -DHEADERS=xtensor=folder|... -DTESTS=folder -DSCRATCH=folder -P other_platform.cmake

file(MAKE_DIRECTORY "${SCRATCH}/headers")
string(REPLACE "|" ";" command "${COMMAND}")
string(REPLACE "|" ";" emulator "${EMULATOR}")
string(REPLACE "|" ";" headers "${HEADERS}")
foreach(header IN LISTS headers)        # links, since the folder that has them has the C library of this machine, too
    string(REGEX MATCH "^(.*)=(.*)$" matched "${header}")
    file(CREATE_LINK "${CMAKE_MATCH_2}/${CMAKE_MATCH_1}" "${SCRATCH}/headers/${CMAKE_MATCH_1}" SYMBOLIC)
endforeach()
execute_process(COMMAND ${command} -std=c++20 -O0 -Wall -Wextra -Werror "-I${TESTS}/../include" "-I${TESTS}" -isystem "${SCRATCH}/headers"
    "${TESTS}/headers/other_platform.cpp" -o "${SCRATCH}/other_platform" -pthread COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${emulator} "${SCRATCH}/other_platform" COMMAND_ERROR_IS_FATAL ANY)

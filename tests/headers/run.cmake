# Compiles a program of this folder, which has to say nothing, and runs it.
#
# cmake -DCOMMAND=compiler|option|... -DNAME=fast_math -DTESTS=folder -DSCRATCH=folder -P run.cmake

file(MAKE_DIRECTORY "${SCRATCH}")
string(REPLACE "|" ";" command "${COMMAND}")
execute_process(COMMAND ${command} -std=c++20 "-I${TESTS}/../include" "${TESTS}/headers/${NAME}.cpp" -o "${SCRATCH}/${NAME}" -pthread
    OUTPUT_VARIABLE said ERROR_VARIABLE said COMMAND_ERROR_IS_FATAL ANY)
if(said)
    message(FATAL_ERROR "the compiler says:\n${said}")
endif()
execute_process(COMMAND "${SCRATCH}/${NAME}" COMMAND_ERROR_IS_FATAL ANY)

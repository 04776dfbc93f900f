# shellcheck shell=bash
# Sourced by tools/demo and tools/test.

# Ninja where there is one; an existing build directory keeps the generator that it began with.
if [[ -z ${CMAKE_GENERATOR:-} ]] && command -v ninja > /dev/null 2>&1; then
    export CMAKE_GENERATOR=Ninja
fi

# All cores, but a compiler full of templates takes up to two gigabytes, and swapping costs more than waiting.
build_jobs() {
    local jobs memory
    jobs=$(getconf _NPROCESSORS_ONLN 2> /dev/null || echo 2)
    if [[ -r /proc/meminfo ]]; then
        memory=$(awk '/^MemAvailable:/ { print int($2 / 2097152) }' /proc/meminfo)
        if [[ -n $memory ]] && ((memory < jobs)); then jobs=$memory; fi
    fi
    if ((jobs < 1)); then jobs=1; fi
    echo "$jobs"
}

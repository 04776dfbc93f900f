// Which ranks are processes of this machine, and whether they still run. MPI does not tell where a
// process was killed; the system does.
#pragma once

#include <cstdint>
#include <string>

#ifdef __linux__
#    include <cerrno>
#    include <csignal>
#    include <fstream>
#    include <unistd.h>
#endif

namespace xgrad::distributed::detail {

/// A process, and where its number is valid: `machine` identifies a kernel that runs and a
/// namespace of process numbers. It is 0 where the system does not tell.
struct Process {
    std::uint64_t machine = 0;
    std::int64_t number = 0;

    static Process of_this() {
        Process p;
#ifdef __linux__
        std::string boot;
        std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot);
        char numbers[64];
        auto const length = ::readlink("/proc/self/ns/pid", numbers, sizeof numbers);
        if (boot.empty() || length <= 0) return p;
        boot.append(numbers, static_cast<std::size_t>(length));
        p.machine = 0xcbf29ce484222325u; // FNV-1a
        for (char const c : boot)
            p.machine = (p.machine ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
        p.number = ::getpid();
#endif
        return p;
    }
    /// True for a process of the same machine as `own` that has ended. False where that cannot be
    /// known.
    bool has_ended([[maybe_unused]] Process const& own) const noexcept {
#ifdef __linux__
        return machine != 0 && machine == own.machine &&
               ::kill(static_cast<pid_t>(number), 0) != 0 && errno == ESRCH;
#else
        return false;
#endif
    }
};

} // namespace xgrad::distributed::detail

#!/usr/bin/env python3
"""Runs faults.cpp with each scenario: all ranks that are left get a clear error, soon.

usage: faults.py PROGRAM MPIEXEC [ARGUMENT...]"""

import re
import subprocess
import sys

RANKS = 4
LIMIT = 1.5         # seconds, as in faults.cpp
# the scenario, and how many ranks are left to tell of it
SCENARIOS = {
    "killed": 3, "killed_in_backward": 3, "exits": 3, "stops_coming": 4, "never_comes": 4,
    "other_shapes": 4, "other_order": 4, "hook_throws": 4, "tensor_hook_throws": 4, "throws_in_forward": 4,
    "killed_long_limit": 3, "leaves_main": 4, "another_group_fails": 4,
}


def main():
    program, *mpiexec = sys.argv[1:]
    version = subprocess.run([mpiexec[0], "--version"], capture_output=True, encoding="utf-8").stdout
    # mpiexec kills all ranks when one dies, unless it is told that the others know what to do.
    recovers = []
    is_hydra = "HYDRA" in version           # of MPICH
    if "Open MPI" in version or "OpenRTE" in version:
        recovers = ["--enable-recovery"]
    elif is_hydra:
        recovers = ["-disable-auto-cleanup"]
    wrong = 0
    for scenario, left, thread in [(s, n, t) for t in ([], ["thread"]) for s, n in SCENARIOS.items()]:
        if is_hydra and scenario.startswith("killed"):
            continue                        # it fails itself when a process is killed, and ends all the others
        command = [*mpiexec, *recovers, "-n", str(RANKS), program, scenario, *thread]
        try:
            run = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=60)
            output = run.stdout
        except subprocess.TimeoutExpired as error:
            output = "hangs\n" + (error.stdout or b"").decode()
        times = [float(t) for t in re.findall(r"as expected after ([0-9.]+) s", output)]
        slowest = sorted(times)[:RANKS - 1][-1] if times else 0     # the one that slept comes last
        good = len(times) == left and slowest < LIMIT + 5           # what starting takes on a busy machine
        wrong += not good
        print(f"{'good' if good else 'WRONG'}: {' with a '.join([scenario, *thread])}: {len(times)} of {left} ranks have the error, after {slowest} s")
        print(output.strip(), flush=True)
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main())

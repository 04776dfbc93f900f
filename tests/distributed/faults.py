#!/usr/bin/env python3
"""Runs faults.cpp with each scenario: all ranks that are left get a clear error, soon. Two run at once, since they wait most of the time.

usage: faults.py PROGRAM MPIEXEC [ARGUMENT...]"""

import concurrent.futures
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

    def run(case):
        """Whether a scenario goes well, and what is to be told of it."""
        scenario, left, thread = case
        command = [*mpiexec, *recovers, "-n", str(RANKS), program, scenario, *thread]
        try:
            output = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=60).stdout
        except subprocess.TimeoutExpired as error:
            output = "hangs\n" + (error.stdout or b"").decode()
        times = [float(t) for t in re.findall(r"as expected after ([0-9.]+) s", output)]
        slowest = sorted(times)[:RANKS - 1][-1] if times else 0     # the one that slept comes last
        good = len(times) == left and slowest < LIMIT + 5           # what starting takes on a busy machine
        said = f"{'good' if good else 'WRONG'}: {' with a '.join([scenario, *thread])}: {len(times)} of {left} ranks have the error, after {slowest} s"
        return good, f"{said}\n{output.strip()}"

    # MPICH's mpiexec fails itself when a process is killed, and ends all the others.
    cases = [(s, n, t) for t in ([], ["thread"]) for s, n in SCENARIOS.items() if not (is_hydra and s.startswith("killed"))]
    wrong = 0
    with concurrent.futures.ThreadPoolExecutor(2) as two:
        for good, said in two.map(run, cases):
            wrong += not good
            print(said, flush=True)
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main())

# shellcheck shell=bash
# What ./validate and ./run-tests share: where things are, what the machine lacks, and how it comes.
# Sourced with CHECKOUT set. Nothing here starts a program when nothing has changed since the last run.

STATE=${NEARFAR_STATE:-$CHECKOUT}
LOGS=$STATE/build/logs
export NEARFAR_CUDA=${NEARFAR_CUDA:-auto}

# For the tests of this file alone: another machine's os-release, user id, architecture.
OS_RELEASE=${NEARFAR_TEST_OS_RELEASE:-/etc/os-release}
USER_ID=${NEARFAR_TEST_UID:-$EUID}
MACHINE=${NEARFAR_TEST_MACHINE:-$HOSTTYPE}

say() { printf 'nearfar: %s\n' "$*" >&2; }

finish() { # a user's error: one line, exit 2
    say "$@"
    exit 2
}

have() { type -P "$1" >/dev/null; }

# --- what is needed -------------------------------------------------------------------------------------------------
# One line a need: name | what it is | apt | dnf | zypper | spack. The probe is the function need_NAME (true: it is there).
NEEDS='
python|Python 3.9 or newer with venv|python3 python3-venv|python3.11|python311|python py-pip
compiler|a C++17 compiler|g++|gcc-c++|gcc12-c++|gcc
make|make or ninja|make|make|make|gmake
cmake|CMake 3.20 or newer|cmake|cmake|cmake|cmake
pkg_config|pkg-config|pkg-config|pkgconf-pkg-config|pkg-config|pkgconf
lstopo|hwloc 2 (lstopo)|hwloc libhwloc-plugins|hwloc|hwloc|hwloc
hwloc_headers|headers of hwloc 2|libhwloc-dev|hwloc-devel|hwloc-devel|hwloc
'
# Brought along where that is easy, never waited for: without MPI its programs are left out, and their checks say so.
WANTED='
mpi|an MPI|openmpi-bin libopenmpi-dev|openmpi-devel|openmpi4-devel|openmpi
numactl|numactl|numactl|numactl|numactl|numactl
'
# What only the tests use.
NEEDED_BY_TESTS='
gtest|GoogleTest|libgtest-dev|gtest-devel|gtest|googletest
'
WANTED_BY_TESTS='
qemu|QEMU for the guests|qemu-system-x86 seabios ipxe-qemu|||
busybox|busybox for the guests|busybox-static|||
mpich|MPICH, a second MPI to build and launch with|mpich libmpich-dev|||
slurm|Slurm, for a private one of one node|slurmctld slurmd slurm-client munge|||
'

find_python() { # prints the first Python 3.9 or newer; with the argument venv, one that can make a virtual environment
    local name path code='import sys; sys.exit(sys.version_info < (3, 9))'
    [[ ${1-} == venv ]] && code="$code or __import__('venv') and __import__('ensurepip') and 0"
    for name in python3 python3.{14,13,12,11,10,9}; do
        path=$(type -P "$name") && "$path" -c "$code" 2>/dev/null && printf '%s\n' "$path" && return
    done
    return 1
}

need_python() { usable_python >/dev/null || find_python venv >/dev/null; }
need_compiler() { probe_python && "$PROBE" "$CHECKOUT/setup/toolchain.py"; }
need_make() { have ninja || have make; }
need_cmake() {
    local version
    version=$(cmake --version 2>/dev/null) || return
    [[ $version =~ ([0-9]+)\.([0-9]+) ]] && ((BASH_REMATCH[1] * 100 + BASH_REMATCH[2] >= 320))
}
need_lstopo() {
    local version
    version=$(lstopo-no-graphics --version 2>/dev/null || lstopo --version 2>/dev/null) || return
    [[ $version =~ \ ([0-9]+)\. ]] && ((BASH_REMATCH[1] >= 2))
}
need_pkg_config() { have pkg-config; }
need_hwloc_headers() { pkg-config --atleast-version=2.0 hwloc; }
need_gtest() { pkg-config --exists gtest; }
need_mpi() { have mpicxx && have mpirun; }
need_numactl() { have numactl; }
need_qemu() { have qemu-system-x86_64; }
need_busybox() { have busybox; }
need_mpich() { have mpiexec.mpich && mpicc.mpich -E -x c - <<<'#include <mpi.h>'; }
need_slurm() { have slurmd && have srun && have munged; }

probe_python() { # a Python for the probes, once
    [[ -n ${PROBE-} ]] || PROBE=$(usable_python || find_python)
}

what_is_missing() { # sets MISSING to those lines of the table $1 whose probe fails
    local line
    MISSING=()
    while IFS= read -r line; do
        [[ -z $line ]] || "need_${line%%|*}" >/dev/null 2>&1 || MISSING+=("$line")
    done <<<"$1"
}

column() { # the words of column $1 (3 apt, 4 dnf, 5 zypper, 6 spack) of the lines that follow, each word once
    local field=$1 line word fields words=()
    shift
    for line in "$@"; do
        read -ra fields <<<"$(cut -d'|' -f"$field" <<<"$line")"
        for word in ${fields[@]+"${fields[@]}"}; do
            [[ " ${words[*]-} " == *" $word "* ]] || words+=("$word")
        done
    done
    printf '%s' "${words[*]-}"
}

read_system() { # sets FAMILY (debian, rhel, suse or other) and SYSTEM (its own name for itself)
    local ID='' ID_LIKE='' PRETTY_NAME=''
    # shellcheck disable=SC1090
    [[ -r $OS_RELEASE ]] && . "$OS_RELEASE"
    SYSTEM="${PRETTY_NAME:-an unknown system} ($MACHINE)"
    case " $ID $ID_LIKE " in
    *' debian '* | *' ubuntu '*) FAMILY=debian ;;
    *' rhel '* | *' fedora '* | *' centos '*) FAMILY=rhel ;;
    *' suse '* | *' sles '*) FAMILY=suse ;;
    *) FAMILY=other ;;
    esac
}

can_install() { [[ $FAMILY == debian && $USER_ID == 0 && $MACHINE == x86_64 ]] && have apt-get; }

# --- getting it -----------------------------------------------------------------------------------------------------

apt_install() { # the packages that are given, after saying so; true when they came
    mkdir -p "$LOGS"
    say "installing Debian packages: $*   (log: $LOGS/apt.log)"
    local options=(-q -y --no-install-recommends -o DPkg::Lock::Timeout=300 -o Acquire::Retries=2)
    export DEBIAN_FRONTEND=noninteractive
    {
        printf '$ apt-get install %s\n' "$*"
        # Package lists may be absent (a container's image) or too old to fetch from.
        { compgen -G '/var/lib/apt/lists/*_Packages*' >/dev/null && apt-get install "${options[@]}" "$@"; } ||
            { apt-get update -q && apt-get install "${options[@]}" "$@"; }
    } >>"$LOGS/apt.log" 2>&1 </dev/null
}

list_missing() { # tells what is missing and every line that brings it, exit 2
    local line why='is missing'
    read_system
    [[ $FAMILY != debian || $USER_ID == 0 ]] || why='is missing, and installing it needs root'
    {
        printf 'nearfar: on %s this %s:\n' "$SYSTEM" "$why"
        for line in "${MISSING[@]}"; do printf '  - %s\n' "$(cut -d'|' -f2 <<<"$line")"; done
        printf 'What brings it:\n'
        printf '  Debian, Ubuntu   apt-get install %s\n' "$(column 3 "${MISSING[@]}")"
        printf '  RHEL 8, 9        dnf install %s' "$(column 4 "${MISSING[@]}")"
        [[ ${MISSING[*]} == *hwloc-devel* ]] && printf '   # hwloc-devel: CodeReady Builder (CRB, PowerTools)'
        printf '\n  SLES 15          zypper install %s\n' "$(column 5 "${MISSING[@]}")"
        printf '  Spack            spack install --add %s   # in an environment, then: spack env activate\n' "$(column 6 "${MISSING[@]}")"
        printf 'Or activate what the site has (module load, spack env activate, a virtual environment), then run this again.\n'
    } >&2
    exit 2
}

system_needs() { # what must be there: brought by apt-get, or listed
    local packages needs=$NEEDS
    read_system
    [[ $LEVEL == test ]] && needs+=$NEEDED_BY_TESTS
    what_is_missing "$needs"
    if ((${#MISSING[@]})); then
        can_install || list_missing
        local missing=("${MISSING[@]}")
        what_is_missing "$WANTED"
        packages=$(column 3 "${missing[@]}" ${MISSING[@]+"${MISSING[@]}"})
        # shellcheck disable=SC2086
        apt_install $packages || say "apt-get failed; the end of its log: $(tail -n 1 "$LOGS/apt.log")"
        hash -r
        what_is_missing "$needs"
        ((${#MISSING[@]} == 0)) || list_missing
    fi
    wanted "$WANTED"
}

wanted() { # brings the lines of table $1 that are missing, once, where apt-get can; goes on without them otherwise
    local packages
    read_system
    what_is_missing "$1"
    ((${#MISSING[@]})) || return 0
    packages=$(column 3 "${MISSING[@]}")
    can_install || return 0
    # shellcheck disable=SC2086
    apt_install $packages || say "going on without: $packages"
}

# --- Python ---------------------------------------------------------------------------------------------------------

venv_folder() { # the checkout's .venv, or the state folder's when the checkout is read-only
    if [[ -x $CHECKOUT/.venv/bin/python || -w $CHECKOUT ]]; then printf '%s' "$CHECKOUT/.venv"; else printf '%s' "$STATE/.venv"; fi
}

satisfies() { # has this Python all that nearfar imports, in the right versions? $2: test, for what the tests import too
    [[ -x $1 ]] && "$1" "$CHECKOUT/setup/python_needs.py" --check ${2:+--$2} 2>/dev/null
}

stamp_text() { cat "$CHECKOUT/pyproject.toml" "$CHECKOUT/setup/constraints.txt"; }

venv_is_current() { # $1: base or test
    local venv
    venv=$(venv_folder)
    [[ -x $venv/bin/python && -x $venv/bin/nearfar ]] && stamp_text | cmp -s - "$venv/nearfar-$1.stamp"
}

# The Python that is used as it is: the one that the user names, an active environment that has everything, our own .venv when it is
# current, and otherwise python3 on PATH when it has everything (modules, a Spack view). Fails when there is none.
usable_python() {
    local level=${LEVEL:-base} extra='' venv path
    [[ $level == test ]] && extra="test"
    venv=$(venv_folder)
    for path in "${NEARFAR_PYTHON-}" ${VIRTUAL_ENV:+"$VIRTUAL_ENV/bin/python"}; do
        [[ -n $path && $path != "$venv/bin/python" ]] && satisfies "$path" $extra && printf '%s\n' "$path" && return
    done
    venv_is_current "$level" && printf '%s\n' "$venv/bin/python" && return
    [[ ! -e $venv ]] && path=$(type -P python3) && satisfies "$path" $extra && printf '%s\n' "$path"
}

make_venv() { # creates or completes .venv for LEVEL (base or test), prints nothing but its progress
    local venv python extra=() requirements
    venv=$(venv_folder)
    [[ $LEVEL == test ]] && extra=(--test)
    mkdir -p "$LOGS"
    : >"$LOGS/pip.log"
    if [[ ! -x $venv/bin/python ]]; then
        python=$(find_python venv) || finish 'no Python 3.9 with venv found'
        say "making a virtual environment: $venv   (log: $LOGS/pip.log)"
        "$python" -m venv "$venv" >>"$LOGS/pip.log" 2>&1 || finish "python -m venv failed: $(tail -n 1 "$LOGS/pip.log")"
    fi
    mapfile -t requirements < <("$venv/bin/python" "$CHECKOUT/setup/python_needs.py" --list "${extra[@]}")
    say "installing Python packages: ${requirements[*]%%[<>=]*}   (log: $LOGS/pip.log)"
    "$venv/bin/python" -m pip install -q --disable-pip-version-check --no-input -c "$CHECKOUT/setup/constraints.txt" \
        "${requirements[@]}" >>"$LOGS/pip.log" 2>&1 </dev/null ||
        finish "pip failed: $(grep -m 1 -E 'connection broken|ERROR' "$LOGS/pip.log" | cut -c 1-200)   (log: $LOGS/pip.log)"
    "$venv/bin/python" "$CHECKOUT/setup/python_needs.py" --install-checkout
    stamp_text >"$venv/nearfar-$LEVEL.stamp"
    [[ $LEVEL == base ]] || stamp_text >"$venv/nearfar-base.stamp"
}

one_at_a_time() { # a second set-up of the same folder waits for the first
    have flock || return 0
    exec 9>"$STATE/build/setup.lock"
    flock -n 9 && return
    say 'another set-up is under way here; waiting for it'
    flock 9
}

# --- all of it ------------------------------------------------------------------------------------------------------

system_key() { # everything that the answer of system_needs hangs on; bash alone
    local tool driver=''
    for tool in python3 c++ g++ make ninja cmake pkg-config lstopo lstopo-no-graphics mpicxx mpirun numactl nvcc; do type -P "$tool" || printf -- '-\n'; done
    [[ -e /proc/driver/nvidia/version ]] && driver=$(</proc/driver/nvidia/version)
    for tool in /usr/include/hwloc.h /usr/include/gtest/gtest.h; do [[ -e $tool ]] && printf '%s\n' "$tool"; done
    printf '%s\n' "$PATH" "$USER_ID" "$MACHINE" "${CXX-}" "${CMAKE_PREFIX_PATH-}" "${PKG_CONFIG_PATH-}" "${CUDACXX-}" "${CUDA_HOME-}" "${MPICXX-}" \
        "$NEARFAR_CUDA" "$driver" "$(<"$OS_RELEASE")" "$(<"$CHECKOUT/setup/common.sh")"
}

set_up() { # $1: base or test. Afterwards PYTHON and BIN (the programs' folder; none where WAY is spack) are set
    LEVEL=$1
    local key stamp=$STATE/build/setup-$1.stamp to_compile='' tests=''
    [[ $LEVEL == base ]] || to_compile=--to-compile tests=--tests
    [[ ${WAY-} != spack ]] || stamp=$STATE/build/setup-spack.stamp # says nothing of CMake's CUDA
    mkdir -p "$STATE/build" 2>/dev/null && [[ -w $STATE/build ]] ||
        finish "cannot write $STATE/build: NEARFAR_STATE=/a/folder moves the builds and reports there"
    if [[ -n ${NEARFAR_PYTHON-} ]]; then
        "$NEARFAR_PYTHON" "$CHECKOUT/setup/python_needs.py" --check ${tests:+--test} >&2 ||
            finish "NEARFAR_PYTHON=$NEARFAR_PYTHON lacks what is needed"
    fi
    key=$(system_key)
    if [[ ! -e $stamp || $(<"$stamp") != "$key" ]]; then
        one_at_a_time
        system_needs
        [[ $LEVEL == base ]] || wanted "$WANTED_BY_TESTS"
        key=$(system_key)
        SYSTEM_CHANGED=yes
    fi
    PYTHON=$(usable_python) || {
        one_at_a_time
        venv_is_current "$LEVEL" || make_venv
        PYTHON=$(venv_folder)/bin/python
    }
    if [[ ${WAY-} == spack ]]; then
        printf '%s\n' "$key" >"$stamp"
        exec 9>&-
        return
    fi
    if [[ -n ${SYSTEM_CHANGED-} || $NEARFAR_CUDA == wheels ]]; then
        # The tests compile the GPU programs on any machine.
        "$PYTHON" "$CHECKOUT/setup/cuda_wheels.py" --cuda "$NEARFAR_CUDA" --log "$LOGS/pip.log" $to_compile \
            >"$STATE/build/left-out" || exit 2
    fi
    [[ ! -s $STATE/build/left-out ]] || say "$(<"$STATE/build/left-out")" # at every run, not only the first
    BIN=$("$PYTHON" "$CHECKOUT/setup/build" --print $tests) || exit 2
    printf '%s\n' "$key" >"$stamp"
    exec 9>&-
    export BIN
}

run_nearfar() { # replaces this process by nearfar
    if [[ -x ${PYTHON%/*}/nearfar && $PYTHON == "$(venv_folder)/bin/python" ]]; then exec "${PYTHON%/*}/nearfar" "$@"; fi
    PYTHONPATH=$CHECKOUT${PYTHONPATH:+:$PYTHONPATH} exec "$PYTHON" "$CHECKOUT/setup/run_nearfar.py" "$@"
}

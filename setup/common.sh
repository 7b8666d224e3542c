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

# Ctrl-C ends this, whatever the program that ran had made of it; said where the user looks, though what ran was written to a log.
exec 8>&2
trap 'say "interrupted; the next set-up goes on from here" 2>&8; exit 130' INT

refuse_path() { # ReFrame splits paths at white space, compilers stumble over quotes: $1 is what the folder is, $2 its path
    local odd=$'[] \t\n\'"`$\\\\&;|<>(){}*?![#:]'
    [[ $2 != *$odd* ]] || finish "$1: its path has a character that ReFrame or the compilers cannot take ($(printf '%q' "$2")): $3"
}

have() { type -P "$1" >/dev/null; }

# --- what is needed -------------------------------------------------------------------------------------------------
OLDEST_PYTHON=3.10
# One line a need: name | what it is | apt | dnf | zypper | spack. The probe is the function need_NAME (true: it is there).
NEEDS="
python|Python $OLDEST_PYTHON or newer with venv|python3 python3-venv|python3.12|python312|python py-pip
compiler|a C++17 compiler|g++|gcc-c++|gcc12-c++|gcc
make|make or ninja|make|make|make|gmake
cmake|CMake 3.20 or newer|cmake|cmake|cmake|cmake
pkg_config|pkg-config|pkg-config|pkgconf-pkg-config|pkg-config|pkgconf
lstopo|hwloc 2 (lstopo)|hwloc libhwloc-plugins|hwloc|hwloc|hwloc
hwloc_headers|headers of hwloc 2|libhwloc-dev|hwloc-devel|hwloc-devel|hwloc
"
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

version_of() { # prints the version of the Python $1 (3.12.1), where it can import the modules $2; fails otherwise
    local import=${2:+import $2; }
    "$1" -c "${import}import sys; print('%d.%d.%d' % sys.version_info[:3])" 2>/dev/null </dev/null
}

number() { # prints a version as a number: 312 of 3.12.1
    [[ $1 =~ ^([0-9]+)\.([0-9]+) ]] && printf '%d' $((BASH_REMATCH[1] * 100 + BASH_REMATCH[2]))
}

new_enough() { (($(number "$1") >= $(number "$OLDEST_PYTHON"))); }

# Prints the newest Python of PATH that is new enough and not of our own environment; with the argument venv, of those that can
# make a virtual environment. Fails when there is none.
find_python() {
    local path version best='' newest=0 modules=''
    [[ ${1-} == venv ]] && modules='venv, ensurepip'
    while read -r path; do
        [[ $path == "$(venv_folder)"/* ]] && continue
        version=$(version_of "$path" "$modules") || continue
        new_enough "$version" || continue
        (($(number "$version") <= newest)) || best=$path newest=$(number "$version")
    done < <(type -aP python3 python3.{10..14})
    [[ -n $best ]] && printf '%s\n' "$best"
}

python_at_hand() { # what the plain python3 lacks, in brackets; nothing where there is none
    local version
    version=$(version_of "$(type -P python3)") || return 0
    new_enough "$version" && version+=', without venv'
    printf ' (python3 here is %s)' "$version"
}

need_python() { usable_python >/dev/null || find_python venv >/dev/null; }
need_compiler() { # whether it knows C++17 is asked once there is a Python
    if probe_python; then "$PROBE" "$CHECKOUT/setup/toolchain.py"; else have c++ || have g++ || have clang++; fi
}
need_make() { have ninja || have make; }
need_cmake() { have cmake; } # one that is too old is replaced by PyPI's
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
    [[ -n ${PROBE-} ]] || PROBE=$(usable_python || find_python || type -P python3)
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

apt_packages() { # the Debian packages of the lines that follow, without a Python that is too old
    local line lines=()
    for line in "$@"; do [[ -n $OLD_PYTHON && $line == python\|* ]] || lines+=("$line"); done
    column 3 ${lines[@]+"${lines[@]}"}
}

read_system() { # sets FAMILY (debian, rhel, suse or other), SYSTEM (its own name for itself) and OLD_PYTHON (yes: apt has none new enough)
    local ID='' ID_LIKE='' PRETTY_NAME='' VERSION_ID=''
    # shellcheck disable=SC1090
    [[ -r $OS_RELEASE ]] && . "$OS_RELEASE"
    SYSTEM="${PRETTY_NAME:-an unknown system} ($MACHINE)"
    case " $ID $ID_LIKE " in
    *' debian '* | *' ubuntu '*) FAMILY=debian ;;
    *' rhel '* | *' fedora '* | *' centos '*) FAMILY=rhel ;;
    *' suse '* | *' sles '*) FAMILY=suse ;;
    *) FAMILY=other ;;
    esac
    local release=${VERSION_ID%%.*}
    OLD_PYTHON=''
    if [[ $ID == debian && ${release:-99} -lt 12 || $ID == ubuntu && ${release:-99} -lt 22 ]]; then OLD_PYTHON=yes; fi
}

can_install() { [[ -z ${OFFLINE-} && $FAMILY == debian && $USER_ID == 0 && $MACHINE == x86_64 ]] && have apt-get; }

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

what_brings_it() { # the lines that bring what is MISSING to the families of systems that are named, and Spack's
    local family packages
    for family in "$@"; do
        case $family in
        debian)
            packages=$(apt_packages "${MISSING[@]}")
            [[ -z $packages ]] || printf '  Debian, Ubuntu   apt-get install %s\n' "$packages"
            [[ -z $OLD_PYTHON || ${MISSING[*]} != *'|Python '* ]] ||
                printf '  Python           uv python install 3.12   # apt has no newer one here; python3 -m pip install uv\n'
            ;;
        rhel)
            printf '  RHEL 8, 9        dnf install %s' "$(column 4 "${MISSING[@]}")"
            [[ ${MISSING[*]} == *hwloc-devel* ]] && printf '   # hwloc-devel: CodeReady Builder (CRB, PowerTools)'
            printf '\n'
            ;;
        suse) printf '  SLES 15          zypper install %s\n' "$(column 5 "${MISSING[@]}")" ;;
        esac
    done
    printf '  Spack            spack install --add %s   # in an environment, then: spack env activate\n' "$(column 6 "${MISSING[@]}")"
}

list_missing() { # tells what is missing and the line that brings it to this distribution (on another, each one's), exit 2
    local line why='is missing'
    read_system
    [[ $FAMILY != debian || $USER_ID == 0 ]] || why='is missing, and installing it needs root'
    {
        printf 'nearfar: on %s this %s:\n' "$SYSTEM" "$why"
        for line in "${MISSING[@]}"; do
            printf '  - %s' "$(cut -d'|' -f2 <<<"$line")"
            [[ $line != python\|* ]] || python_at_hand
            printf '\n'
        done
        printf 'What brings it:\n'
        if [[ $FAMILY == other ]]; then what_brings_it debian rhel suse; else what_brings_it "$FAMILY"; fi
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
        packages=$(apt_packages "${missing[@]}" ${MISSING[@]+"${MISSING[@]}"})
        # shellcheck disable=SC2086
        [[ -z $packages ]] || apt_install $packages || say "apt-get failed; the end of its log: $(tail -n 1 "$LOGS/apt.log")"
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

stamp_text() { # of the environment $1: its interpreter (python3.12), and what is installed
    local python
    python=$(readlink -f "$1/bin/python")
    printf '%s\n' "${python##*/}"
    cat "$CHECKOUT/pyproject.toml" "$CHECKOUT/setup/constraints.txt"
}

venv_flaw() { # why the environment $1 is of no use any more; nothing where it is, or where there is none
    local version
    [[ -e $1/pyvenv.cfg ]] || return 0
    if ! version=$(version_of "$1/bin/python"); then
        printf 'its Python is gone'
    elif ! new_enough "$version"; then
        printf 'its Python %s is older than %s' "$version" "$OLDEST_PYTHON"
    elif [[ ! -d $1/lib/python${version%.*} ]]; then
        printf 'it was made by another Python than its %s of today' "$version"
    fi
}

venv_is_current() { # $1: base or test
    local venv
    venv=$(venv_folder)
    [[ -x $venv/bin/python && -x $venv/bin/nearfar ]] && stamp_text "$venv" | cmp -s - "$venv/nearfar-$1.stamp"
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

pip_install() { # packages into our own environment; sets PIP_SAID
    local status=0
    PIP_SAID=$("$(venv_folder)/bin/python" -m pip install -q --disable-pip-version-check --no-input \
        -c "$CHECKOUT/setup/constraints.txt" "$@" 2>&1 </dev/null) || status=$?
    printf '$ pip install %s\n%s\n' "$*" "$PIP_SAID" >>"$LOGS/pip.log"
    return $status
}

why_pip_failed() { printf '%s   (log: %s)' "$(grep -m 1 -E 'connection broken|ERROR' <<<"$PIP_SAID" | cut -c 1-200)" "$LOGS/pip.log"; }

list_requirements() { "$(venv_folder)/bin/python" "$CHECKOUT/setup/python_needs.py" "$@"; } # one a line; options of python_needs.py

install_requirements() { # what nearfar needs, and with --test the tests; where polars has no wheel, all but that
    local needed optional
    mapfile -t needed < <(list_requirements --list "$@")
    mapfile -t optional < <(list_requirements --list-optional)
    say "installing Python packages: ${needed[*]%%[<>=]*} ${optional[*]%%[<>=]*}   (log: $LOGS/pip.log)"
    if ! pip_install --only-binary :all: "${optional[@]}"; then
        [[ $PIP_SAID != *'connection broken'* ]] || finish "pip failed: $(why_pip_failed)"
        say "going on without ${optional[*]%%[<>=]*}: no history is kept, and nearfar history and tune do not work: $(why_pip_failed)"
        # ReFrame runs without polars too, but its extra no-analytics does not keep pip from it (ReFrame's issue 3676).
        pip_install --no-deps "$(printf '%s\n' "${needed[@]}" | grep '^reframe-hpc')" || finish "pip failed: $(why_pip_failed)"
        mapfile -t needed < <(list_requirements --list --without-polars "$@")
    fi
    pip_install "${needed[@]}" || finish "pip failed: $(why_pip_failed)"
}

make_venv() { # creates or completes .venv for LEVEL (base or test), prints nothing but its progress
    local venv python flaw extra=()
    venv=$(venv_folder)
    [[ $LEVEL == test ]] && extra=(--test)
    mkdir -p "$LOGS"
    : >"$LOGS/pip.log"
    flaw=$(venv_flaw "$venv")
    if [[ -n $flaw || ! -x $venv/bin/python ]]; then
        python=$(find_python venv) || {
            what_is_missing "$(grep '^python|' <<<"$NEEDS")"
            list_missing
        }
        if [[ -n $flaw ]]; then
            say "making the virtual environment anew, because $flaw: $venv   (log: $LOGS/pip.log)"
            rm -rf "$venv" 2>/dev/null || finish "$venv cannot be removed"
        else
            say "making a virtual environment: $venv   (log: $LOGS/pip.log)"
        fi
        "$python" -m venv "$venv" >>"$LOGS/pip.log" 2>&1 || finish "$python -m venv failed: $(tail -n 1 "$LOGS/pip.log")"
    fi
    install_requirements ${extra[@]+"${extra[@]}"}
    "$venv/bin/python" "$CHECKOUT/setup/python_needs.py" --install-checkout
    stamp_text "$venv" >"$venv/nearfar-$LEVEL.stamp"
    [[ $LEVEL == base ]] || stamp_text "$venv" >"$venv/nearfar-base.stamp"
    SYSTEM_CHANGED=yes # what else was in there has to come again
}

go_offline() { # $1: an archive with wheels/ in it, or that folder. From here on pip asks no index
    [[ -n $1 ]] || finish '--offline: an archive of nearfar kit --with-pack is missing behind it'
    [[ -e $1 ]] || finish "--offline $1: no such file"
    PIP_FIND_LINKS=$1
    if [[ ! -d $1 ]]; then
        PIP_FIND_LINKS=$STATE/build/offline
        rm -rf "$PIP_FIND_LINKS" 2>/dev/null
        mkdir -p "$PIP_FIND_LINKS" || finish "cannot write $STATE/build: NEARFAR_STATE=/a/folder moves the builds and reports there"
        tar -C "$PIP_FIND_LINKS" --strip-components=1 -xzf "$1" wheels 2>/dev/null ||
            finish "--offline $1: no archive of nearfar kit --with-pack (no folder wheels/ in it, or it is damaged)"
    fi
    compgen -G "$PIP_FIND_LINKS/*.whl" >/dev/null || finish "--offline $1: there are no wheels in it"
    PIP_FIND_LINKS=$(cd -P "$PIP_FIND_LINKS" && pwd)
    export PIP_NO_INDEX=1 PIP_FIND_LINKS
}

bring_cmake() { # PyPI's CMake into our own environment, where the one of PATH is too old
    local flaw venv
    venv=$(venv_folder)
    flaw=$("$PYTHON" "$CHECKOUT/setup/toolchain.py" cmake)
    [[ -n $flaw ]] || return 0
    [[ $PYTHON == "$venv/bin/python" ]] ||
        finish "$flaw: put a newer one on PATH (pip install cmake); nothing is installed into ${PYTHON%/bin/*}, which is not nearfar's own"
    say "$flaw: installing PyPI's   (log: $LOGS/pip.log)"
    pip_install 'cmake>=3.20,<5' || finish "$flaw, and pip brings no newer one: $(why_pip_failed)"
}

one_at_a_time() { # a second set-up of the same folder waits for the first
    have flock || return 0
    exec 9>"$STATE/build/setup.lock"
    flock -n 9 && return
    say 'another set-up is under way here; waiting for it'
    flock 9
}

# --- all of it ------------------------------------------------------------------------------------------------------

system_key() { # everything that the answer of system_needs depends on; bash alone
    local tool driver=''
    for tool in python3 python3.{10..14} c++ g++ make ninja cmake pkg-config lstopo lstopo-no-graphics mpicxx mpirun numactl nvcc; do type -P "$tool" || printf -- '-\n'; done
    [[ -e /proc/driver/nvidia/version ]] && driver=$(</proc/driver/nvidia/version)
    for tool in /usr/include/hwloc.h /usr/include/gtest/gtest.h; do [[ -e $tool ]] && printf '%s\n' "$tool"; done
    printf '%s\n' "$PATH" "$USER_ID" "$MACHINE" "${CXX-}" "${CMAKE_PREFIX_PATH-}" "${PKG_CONFIG_PATH-}" "${CUDACXX-}" "${CUDA_HOME-}" "${MPICXX-}" \
        "$NEARFAR_CUDA" "$driver" "$(<"$OS_RELEASE")" "$(<"$CHECKOUT/setup/common.sh")"
}

manual_pages() { # once for each build: beside build/bin, where man finds them by PATH. Nothing else needs them
    local folder=$STATE/build/share/man
    [[ ! -e $folder/of || $(<"$folder/of") != "$BIN" ]] || return 0
    mkdir -p "$LOGS" "$folder"
    "$PYTHON" "$CHECKOUT/setup/man_pages.py" --programs "$BIN" --to "$folder" >"$LOGS/man-pages.log" 2>&1 </dev/null ||
        say "going on without manual pages   (log: $LOGS/man-pages.log)"
    printf '%s\n' "$BIN" >"$folder/of"
}

set_up() { # $1: base or test. Afterwards PYTHON and BIN (the programs' folder; none where WAY is spack) are set
    LEVEL=$1
    refuse_path 'the checkout' "$CHECKOUT" 'move it to a path of letters, digits and . _ - + @ , = ~ /'
    refuse_path 'NEARFAR_STATE' "$STATE" 'name another folder'
    local key version stamp=$STATE/build/setup-$1.stamp to_compile='' tests=''
    [[ $LEVEL == base ]] || to_compile=--to-compile tests=--tests
    [[ ${WAY-} != spack ]] || stamp=$STATE/build/setup-spack.stamp # says nothing of CMake's CUDA
    mkdir -p "$STATE/build" 2>/dev/null && [[ -w $STATE/build ]] ||
        finish "cannot write $STATE/build: NEARFAR_STATE=/a/folder moves the builds and reports there"
    if [[ -n ${NEARFAR_PYTHON-} ]]; then
        version=$(version_of "$NEARFAR_PYTHON") || finish "NEARFAR_PYTHON=$NEARFAR_PYTHON: no Python that runs"
        new_enough "$version" || finish "NEARFAR_PYTHON=$NEARFAR_PYTHON is Python $version; $OLDEST_PYTHON or newer is needed"
        NEARFAR_PYTHON=$(type -P "$NEARFAR_PYTHON")
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
    [[ -z ${SYSTEM_CHANGED-} ]] || bring_cmake
    if [[ -n ${SYSTEM_CHANGED-} || $NEARFAR_CUDA == wheels ]]; then
        # The tests compile the GPU programs on any machine.
        "$PYTHON" "$CHECKOUT/setup/cuda_wheels.py" --cuda "$NEARFAR_CUDA" --log "$LOGS/pip.log" $to_compile \
            >"$STATE/build/left-out" || exit 2
    fi
    [[ ! -s $STATE/build/left-out ]] || say "$(<"$STATE/build/left-out")" # at every run, not only the first
    BIN=$("$PYTHON" "$CHECKOUT/setup/build" --print $tests) || exit 2
    manual_pages
    printf '%s\n' "$key" >"$stamp"
    exec 9>&-
    export BIN
}

left_to_set_up() { # $1: base or test. Prints what set_up would do, and fails; true where that is nothing. Changes nothing
    local LEVEL=$1 python stamp=$STATE/build/setup-$1.stamp
    python=$(usable_python) || { printf 'no Python environment\n' && return 1; }
    [[ ${WAY-} != spack ]] || { printf 'what Spack would build is not looked at\n' && return 1; }
    "$python" "$CHECKOUT/setup/build" --is-built >/dev/null 2>&1 || { printf 'the programs are not built\n' && return 1; }
    [[ -e $stamp && $(<"$stamp") == "$(system_key)" ]] || { printf 'the system is not looked at, or has changed\n' && return 1; }
}

run_nearfar() { # replaces this process by nearfar
    if [[ -x ${PYTHON%/*}/nearfar && $PYTHON == "$(venv_folder)/bin/python" ]]; then exec "${PYTHON%/*}/nearfar" "$@" 8>&-; fi
    PYTHONPATH=$CHECKOUT${PYTHONPATH:+:$PYTHONPATH} exec "$PYTHON" "$CHECKOUT/setup/run_nearfar.py" "$@" 8>&-
}

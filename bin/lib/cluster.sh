# shellcheck shell=bash
# A throw-away PostgreSQL cluster for bin/test and bin/prepare. Sourced after setup.sh; needs need_postgres.
#
# start_cluster sets CLUSTER_DIR and CLUSTER_PORT and stops and removes the cluster when the script ends. The server is
# a child of the script and dies with it, even where the script is killed.

CLUSTER_DIR=
CLUSTER_PORT=
CLUSTER_PID=

# A folder that the server's user may enter: TMPDIR where it can be, else /tmp. A socket's path has at most 107 bytes.
make_cluster_dir() {
    local base=${TMPDIR:-/tmp}
    if [ "${#base}" -gt 60 ] || ! (as_server test -x "$base"); then base=/tmp; fi
    CLUSTER_DIR=$(mktemp -d "$base/rentroll-cluster.XXXXXX")
    chmod 755 "$CLUSTER_DIR"
    mkdir -m 700 "$CLUSTER_DIR/data" "$CLUSTER_DIR/socket"
    if is_root; then chown "$(server_user)" "$CLUSTER_DIR/data" "$CLUSTER_DIR/socket"; fi
}

# Below 32768: above it a port may belong to an outgoing connection.
free_port() {
    local port
    while :; do
        port=$((20000 + RANDOM % 12000))
        if ! (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then
            printf '%s\n' "$port"
            return
        fi
    done
}

start_cluster() {
    local locale=(--locale=C.UTF-8) attempt
    make_cluster_dir
    trap stop_cluster EXIT
    trap 'exit 129' HUP
    trap 'exit 130' INT
    trap 'exit 143' TERM
    if [ "$(pg_major "$PG_BIN")" -ge 17 ]; then
        locale=(--locale=C --locale-provider=builtin --builtin-locale=C.UTF-8)
    fi
    if ! (as_server "$PG_BIN/initdb" --pgdata="$CLUSTER_DIR/data" --username=postgres --auth=trust --encoding=UTF8 \
        "${locale[@]}" --no-sync) >"$CLUSTER_DIR/log" 2>&1; then
        cat "$CLUSTER_DIR/log" >&2
        return 1
    fi
    for attempt in 1 2 3 4 5; do
        CLUSTER_PORT=$(free_port)
        # Nothing here has to outlive the machine, so nothing waits for the disk.
        (as_server "$PG_BIN/postgres" -D "$CLUSTER_DIR/data" -p "$CLUSTER_PORT" -k "$CLUSTER_DIR/socket" \
            -c listen_addresses=127.0.0.1 -c max_connections=300 \
            -c fsync=off -c synchronous_commit=off -c full_page_writes=off) >>"$CLUSTER_DIR/log" 2>&1 </dev/null &
        CLUSTER_PID=$!
        if cluster_answers; then
            printf 'PostgreSQL %s for this run: 127.0.0.1:%s, %s\n' "$(pg_major "$PG_BIN")" "$CLUSTER_PORT" "$CLUSTER_DIR" >&2
            return 0
        fi
        printf 'the cluster did not start (attempt %s of 5)\n' "$attempt" >&2
    done
    cat "$CLUSTER_DIR/log" >&2
    return 1
}

# Waits until it takes connections; gives up where it died or a minute is over.
cluster_answers() {
    local tries
    for ((tries = 0; tries < 600; tries++)); do
        kill -0 "$CLUSTER_PID" 2>/dev/null || return 1
        # As the very server in our folder, not as somebody else's on the same port.
        cluster_sql postgres -c 'select 1' >/dev/null 2>&1 && return 0
        sleep 0.1
    done
    return 1
}

# cluster_sql DATABASE PSQL_OPTIONS…
cluster_sql() {
    local database=$1
    shift
    (as_server env -u PGOPTIONS "$PG_BIN/psql" -X -q -v ON_ERROR_STOP=1 -h "$CLUSTER_DIR/socket" -p "$CLUSTER_PORT" -U postgres \
        -d "$database" "$@")
}

stop_cluster() {
    trap - EXIT
    if [ -n "$CLUSTER_PID" ]; then
        kill -QUIT "$CLUSTER_PID" 2>/dev/null || true
        wait "$CLUSTER_PID" 2>/dev/null || true
    fi
    [ -z "$CLUSTER_DIR" ] || rm -rf "$CLUSTER_DIR"
}

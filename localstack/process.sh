# shellcheck shell=bash disable=SC2154  # settings.sh comes first.
# Starting, finding and stopping the emulators as processes of this machine. Each has a name in $run.

# Whether this process is still the one that was started: after a reboot its id may belong to another.
# The programs all run from the cache, so that its path is on their command line.
running() {
    local pid
    pid=$(cat "$run/$1.pid" 2>/dev/null) || return 1
    { tr '\0' ' ' <"/proc/$pid/cmdline" || ps -o args= -p "$pid"; } 2>/dev/null | grep --quiet --fixed-strings "$cache/"
}

# Whether the services can run in Docker, and may: an emulator of DynamoDB that is asked for by name runs without it.
docker_runs() {
    [[ -z $chosen_emulator ]] && docker info >/dev/null 2>&1 && docker compose version >/dev/null 2>&1
}

# Whether an HTTP server answers on the port, with any status.
answers() (
    exec 2>/dev/null
    exec 3<>"/dev/tcp/127.0.0.1/$1" || return 1
    printf 'GET /_localstack/health HTTP/1.0\r\n\r\n' >&3
    IFS= read -r -t 2 line <&3 && [[ $line == HTTP/* ]]
)

# free_port TAKEN…: a free port that is none of these, so that running emulators stay untouched and two test runs do not interfere.
free_port() {
    local port
    # Below the range that Linux hands out itself, which starts at 32768.
    until port=$((20000 + RANDOM % 12000)) && [[ " $* " != *" $port "* ]] && ! answers "$port"; do :; done
    echo "$port"
}

# start NAME PORT COMMAND…: in a process group of its own, which outlives this script.
start() {
    local name=$1 port=$2
    shift 2
    if running "$name"; then
        say "$name is already running on port $port"
        return
    fi
    if answers "$port"; then
        fail "port $port is taken by another program: set LOCALSTACK_PORT, DYNAMODB_PORT, STREAMS_PORT and LIMITS_PORT"
    fi
    say "starting $name on port $port"
    set -m
    nohup "$@" </dev/null >"$run/$name.log" 2>&1 &
    echo $! >"$run/$name.pid"
    disown
    set +m
}

# wait_for NAME PORT: at most 180 s. LocalStack takes 2 s on an idle machine, 17 s were seen on a busy one.
wait_for() {
    local deadline=$((SECONDS + 180)) pid
    pid=$(cat "$run/$1.pid")
    until answers "$2"; do
        if ! kill -0 "$pid" 2>/dev/null || ((SECONDS >= deadline)); then
            tail -n 20 "$run/$1.log" >&2
            fail "$1 does not answer on port $2"
        fi
        sleep 0.2
    done
}

# With SIGKILL: nothing has to be saved, and a process that a test has suspended does not react to other signals.
stop() {
    if running "$1"; then
        say "stopping $1"
        kill -KILL -- "-$(cat "$run/$1.pid")" 2>/dev/null || true
        # Its port is free when it is gone.
        while running "$1"; do sleep 0.1; done
    fi
}

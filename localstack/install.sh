# shellcheck shell=bash disable=SC2154  # settings.sh comes first.
# The programs that stand in for the container, downloaded into the cache. The public ones print their folder.

# fetch FOLDER COMMAND…: the command fills the folder that is appended to it.
# A folder gets its name only when it is complete; `fingerprint` gives it a new one when what it was made from changes.
# A registry may be away for a moment, so there are three attempts, each of which begins anew.
fetch() (
    folder=$1
    partial="$1.$$"
    shift
    if [[ ! -d $folder ]]; then
        trap 'rm -rf "$partial" "$partial.log"' EXIT
        say "downloading into $folder"
        for attempt in 1 2 3; do
            rm -rf "$partial"
            mkdir -p "$partial"
            if "$@" "$partial" >"$partial.log" 2>&1; then
                break
            fi
            grep -i error "$partial.log" | head -n 3 >&2 || true
            ((attempt < 3)) || exit 1
            sleep "$((attempt * 2))"
        done
        # Another run may have been faster.
        [[ -d $folder ]] || mv "$partial" "$folder"
    fi
    echo "$folder"
)

fingerprint() {
    cat "$@" | cksum | cut -d ' ' -f 1
}

usable_python() {
    local candidate
    for candidate in python3 python3.13 python3.12 python3.11; do
        if "$candidate" -c 'import ensurepip, sys, venv; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' 2>/dev/null; then
            echo "$candidate"
            return
        fi
    done
    return 1
}

# fill_environment PYTHON REQUIREMENTS CONSTRAINTS FOLDER
# Without compiling what is installed, which takes half of the time: of most of it nothing is ever imported.
fill_environment() {
    "$1" -m venv "$4" && "$4/bin/python" -m pip install --no-compile --requirement "$2" --constraint "$3"
}

# install_environment NAME REQUIREMENTS CONSTRAINTS
install_environment() {
    local python version
    python=$(usable_python) || return 1
    version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    fetch "$cache/$1-$(fingerprint "$2" "$3")-python$version" fill_environment "$python" "$2" "$3"
}

install_localstack() {
    install_environment localstack "$here/requirements.txt" "$here/constraints.txt"
}

# For the library that reads aggregated records. All of its versions are in one file, as are those of the next one.
install_aggregation() {
    install_environment aggregation "$here/requirements-aggregation.txt" /dev/null
}

install_ministack() {
    install_environment ministack "$here/requirements-ministack.txt" /dev/null
}

# 17 is the oldest Java that loads the classes of DynamoDB Local 3.
usable_java() {
    local major
    major=$(java --version 2>/dev/null | sed -n '1s/^[^ ]* \([0-9]*\).*/\1/p')
    ((${major:-0} >= 17))
}

fill_jars() {
    mvn --batch-mode --no-transfer-progress --file "$here/pom.xml" \
        org.apache.maven.plugins:maven-dependency-plugin:3.7.1:copy-dependencies \
        -DincludeScope=runtime "-DoutputDirectory=$1"
}

install_dynamodb_local() {
    usable_java || return 1
    fetch "$cache/dynamodb-local-$(fingerprint "$here/pom.xml")" fill_jars
}

# Without the install scripts: the store on disk comes built. The lock file names no registry, so that npm takes its own.
fill_dynalite() {
    cp "$here/dynalite/package.json" "$here/dynalite/package-lock.json" "$1" &&
        npm ci --prefix "$1" --no-audit --no-fund --ignore-scripts
}

install_dynalite() {
    command -v node >/dev/null || return 1
    fetch "$cache/dynalite-$(fingerprint "$here/dynalite/package-lock.json")" fill_dynalite
}

# The SDK for the example of throttled-aws in JavaScript.
fill_limits_javascript() {
    local folder=$here/../crates/throttled-aws/examples/javascript
    cp "$folder/package.json" "$folder/package-lock.json" "$1" &&
        npm ci --prefix "$1" --no-audit --no-fund --ignore-scripts
}

install_limits_javascript() {
    command -v node >/dev/null || return 1
    fetch "$cache/limits-$(fingerprint "$here/../crates/throttled-aws/examples/javascript/package-lock.json")" fill_limits_javascript
}

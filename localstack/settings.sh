# shellcheck shell=bash disable=SC2034  # up and down use what is set here.
# Where the emulators listen and where their files are.

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

# LocalStack's own default.
LOCALSTACK_PORT=${LOCALSTACK_PORT:-4566}
# The next one. In Docker LocalStack serves DynamoDB on its own port.
DYNAMODB_PORT=${DYNAMODB_PORT:-4567}
# In Docker LocalStack serves Kinesis and Firehose on its own port, too.
STREAMS_PORT=${STREAMS_PORT:-4568}
# throttled-aws, if it is in front of them: this port for DynamoDB, and the next two for SQS and for Kinesis.
LIMITS_PORT=${LIMITS_PORT:-4500}
export LOCALSTACK_PORT DYNAMODB_PORT STREAMS_PORT LIMITS_PORT
# What stands for DynamoDB without Docker: dynalite, or DynamoDB Local, whose licence does not allow every use.
chosen_emulator=${DYNAMODB_EMULATOR-}
DYNAMODB_EMULATOR=${DYNAMODB_EMULATOR:-dynalite}

# Downloads stay here from run to run.
cache="${XDG_CACHE_HOME:-$HOME/.cache}/aws-batch-delivery"
# Process ids, logs and working files of one pair of ports, so that two pairs can run side by side.
run="$cache/run/$LOCALSTACK_PORT-$DYNAMODB_PORT"
# There while the emulators of this run are in Docker.
in_docker="$run/docker"

compose() {
    docker compose --file "$here/compose.yaml" --project-name "aws-batch-delivery-$LOCALSTACK_PORT" "$@"
}

say() {
    printf 'localstack: %s\n' "$*" >&2
}

fail() {
    say "$*"
    exit 1
}

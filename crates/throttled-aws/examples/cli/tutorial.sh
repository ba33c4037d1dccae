#!/usr/bin/env bash
# The steps of the AWS CLI's guides for DynamoDB and SQS, through throttled-aws: each operation is printed.
#
#   tutorial.sh AWS [tables|indexes|queues]…    AWS is the command line; its endpoint is in AWS_ENDPOINT_URL
set -euo pipefail

read -ra aws <<<"$1"
# Version 1 does not take it from the environment for SQS.
aws+=(--endpoint-url "$AWS_ENDPOINT_URL" --output json)
tried=()

# call SERVICE OPERATION ARGUMENTS…: the answer is in `answer`.
call() {
    answer=$("${aws[@]}" "$@")
    tried+=("$2")
}

# expect TEXT: the answer has it.
expect() {
    [[ $answer == *"$1"* ]] || { echo "no $1 in the answer to ${tried[-1]}: $answer" >&2; exit 1; }
}

song() {
    printf '{"Artist": {"S": "%s"}, "SongTitle": {"S": "%s"}}' "$1" "$2"
}

# "Getting started with DynamoDB": the table Music.
tables() {
    call dynamodb create-table --table-name Music \
        --attribute-definitions AttributeName=Artist,AttributeType=S AttributeName=SongTitle,AttributeType=S \
        --key-schema AttributeName=Artist,KeyType=HASH AttributeName=SongTitle,KeyType=RANGE \
        --provisioned-throughput ReadCapacityUnits=5,WriteCapacityUnits=5 --table-class STANDARD
    "${aws[@]}" dynamodb wait table-exists --table-name Music
    call dynamodb describe-table --table-name Music
    expect '"TableStatus": "ACTIVE"'
    # A new table has no unused capacity.
    sleep 1
    call dynamodb put-item --table-name Music --item '{"Artist": {"S": "No One You Know"}, "SongTitle": {"S": "Call Me Today"},
        "AlbumTitle": {"S": "Somewhat Famous"}, "Awards": {"N": "1"}}'
    call dynamodb put-item --table-name Music --return-consumed-capacity TOTAL --item '{"Artist": {"S": "Acme Band"},
        "SongTitle": {"S": "Happy Day"}, "AlbumTitle": {"S": "Songs About Life"}, "Awards": {"N": "10"}}'
    expect CapacityUnits
    call dynamodb get-item --consistent-read --table-name Music --key "$(song "Acme Band" "Happy Day")"
    expect 'Songs About Life'
    call dynamodb update-item --table-name Music --key "$(song "Acme Band" "Happy Day")" --return-values ALL_NEW \
        --update-expression 'SET AlbumTitle = :newval' --expression-attribute-values '{":newval": {"S": "Updated Album Title"}}'
    expect 'Updated Album Title'
    call dynamodb query --table-name Music --key-condition-expression 'Artist = :name' \
        --expression-attribute-values '{":name": {"S": "Acme Band"}}'
    expect '"Count": 1'
    call dynamodb scan --table-name Music --filter-expression 'Awards > :few' --expression-attribute-values '{":few": {"N": "5"}}'
    expect '"ScannedCount": 2'
    call dynamodb batch-write-item --request-items "{\"Music\": [
        {\"PutRequest\": {\"Item\": $(song "Acme Band" "PartiQL Rocks")}}, {\"DeleteRequest\": {\"Key\": $(song "No One You Know" "Call Me Today")}}]}"
    expect '"UnprocessedItems": {}'
    call dynamodb batch-get-item --request-items "{\"Music\": {\"Keys\": [$(song "Acme Band" "PartiQL Rocks")]}}"
    expect 'PartiQL Rocks'
    call dynamodb delete-item --table-name Music --key "$(song "Acme Band" "Happy Day")"
    call dynamodb list-tables
    expect Music
    call dynamodb delete-table --table-name Music
    "${aws[@]}" dynamodb wait table-not-exists --table-name Music
}

# The last steps of the same guide: an index is added to a table. dynalite does not add it, and `--alone` refuses it.
indexes() {
    call dynamodb create-table --table-name Music --attribute-definitions AttributeName=Artist,AttributeType=S \
        --key-schema AttributeName=Artist,KeyType=HASH --provisioned-throughput ReadCapacityUnits=5,WriteCapacityUnits=5
    "${aws[@]}" dynamodb wait table-exists --table-name Music
    call dynamodb update-table --table-name Music --attribute-definitions AttributeName=AlbumTitle,AttributeType=S \
        --global-secondary-index-updates '[{"Create": {"IndexName": "AlbumTitle-index", "Projection": {"ProjectionType": "ALL"},
            "KeySchema": [{"AttributeName": "AlbumTitle", "KeyType": "HASH"}],
            "ProvisionedThroughput": {"ReadCapacityUnits": 10, "WriteCapacityUnits": 5}}}]'
    local tries=0
    until call dynamodb describe-table --table-name Music && [[ $answer == *'"IndexStatus": "ACTIVE"'* ]]; do
        ((++tries < 120)) || { echo "the index is not active after $tries tries: $answer" >&2; exit 1; }
        sleep 0.5
    done
    call dynamodb query --table-name Music --index-name AlbumTitle-index --key-condition-expression 'AlbumTitle = :name' \
        --expression-attribute-values '{":name": {"S": "Somewhat Famous"}}'
    expect '"Count": 0'
    call dynamodb delete-table --table-name Music
    "${aws[@]}" dynamodb wait table-not-exists --table-name Music
}

# "Using Amazon SQS with the AWS CLI".
queues() {
    call sqs create-queue --queue-name MyQueue --attributes VisibilityTimeout=30
    expect '/MyQueue"'
    call sqs get-queue-url --queue-name MyQueue
    local url=${answer#*: \"} handle
    url=${url%%\"*}
    call sqs list-queues --queue-name-prefix My
    expect "$url"
    call sqs set-queue-attributes --queue-url "$url" --attributes VisibilityTimeout=60
    call sqs get-queue-attributes --queue-url "$url" --attribute-names All
    expect '"VisibilityTimeout": "60"'
    call sqs tag-queue --queue-url "$url" --tags Priority=Highest
    call sqs list-queue-tags --queue-url "$url"
    expect Highest
    call sqs untag-queue --queue-url "$url" --tag-keys Priority
    call sqs send-message --queue-url "$url" --message-body "Information about the largest city" --delay-seconds 0 \
        --message-attributes '{"City": {"DataType": "String", "StringValue": "Any City"}}'
    expect MD5OfMessageBody
    call sqs send-message-batch --queue-url "$url" --entries '[{"Id": "1", "MessageBody": "one"}, {"Id": "2", "MessageBody": "two"}]'
    expect Successful
    call sqs receive-message --queue-url "$url" --message-attribute-names All --attribute-names All --wait-time-seconds 5
    handle=${answer#*\"ReceiptHandle\": \"}
    handle=${handle%%\"*}
    call sqs change-message-visibility --queue-url "$url" --receipt-handle "$handle" --visibility-timeout 36
    call sqs delete-message --queue-url "$url" --receipt-handle "$handle"
    call sqs purge-queue --queue-url "$url"
    call sqs delete-queue --queue-url "$url"
}

parts=("${@:2}")
for part in "${parts[@]:-tables}"; do
    "$part"
done
# As the operations are named elsewhere: CreateTable.
printf '%s\n' "${tried[@]}" | sort -u | sed -E 's/(^|-)([a-z])/\U\2/g' | paste -sd , | sed 's/,/, /g'

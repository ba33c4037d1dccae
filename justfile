# The steps of `.ci/run`, one recipe each, for use with `just`. Nothing requires it.

# Lists the recipes.
default:
    @just --list

# Every step, in order, as CI does.
ci:
    .ci/run

# The tests of all packages, and the examples' own.
test:
    .ci/run test

# The guarantees on more random loads than `cargo test` has time for.
properties:
    .ci/run properties

# All targets against a service that answers at random, and the tests of those that a plain `cargo test` does not build.
targets:
    .ci/run targets

# The library on a model checker's scheduler, in thousands of orders of its steps.
models:
    .ci/run models

format:
    .ci/run format

# The lock files of the packages outside the workspace.
locks:
    .ci/run locks

# Clippy for all targets with all features.
lint:
    .ci/run lint

# Clippy for each feature of the library alone.
features:
    .ci/run features

# Clippy for each feature of each package alone.
every_feature:
    .ci/run every_feature

# Rustdoc for each feature alone.
feature_docs:
    .ci/run feature_docs

# Rustdoc with all features.
docs:
    .ci/run docs

# The public API against its lists; `just api --write` after a change that is meant. Needs `cargo-public-api` and nightly.
api *arguments:
    .ci/api {{arguments}}

# Whether the version may have the API: against the last tag. Needs `cargo-semver-checks`.
semver:
    .ci/run semver

# Types of other crates in the API. Needs `cargo-check-external-types` and nightly.
external_types:
    .ci/run external_types

# The packages as they would be published, without building them.
package:
    .ci/run package

# The container image of the program, tried.
image:
    .ci/run image

# The wheel of the program, tried.
wheel:
    .ci/run wheel

# The archive of the program for `cargo binstall`, tried.
archive:
    .ci/run archive

# The exporters of OpenTelemetry and for Prometheus.
observability:
    .ci/run observability

# The tests against LocalStack and dynalite.
emulators:
    .ci/run emulators

# The quick start of the README.
quickstart:
    .ci/run quickstart

# The tests with fresh seeds, such as `just seeds --lib`.
seeds *arguments:
    .ci/properties {{arguments}}

# Licences, sources, duplicate versions and advisories of the dependencies, by `cargo-deny`; `just dependencies --sbom` writes
# what they are.
dependencies *arguments:
    .ci/dependencies {{arguments}}

# Fuzzes, such as `just fuzz 600 inputs`. Needs `cargo-fuzz` and nightly.
fuzz *arguments:
    .ci/fuzz {{arguments}}

# Whether a test notices one change after the other, such as `just mutants --file 'src/engine/**'`. Needs `cargo-mutants`.
mutants *arguments:
    .ci/mutants {{arguments}}

# The minimal Rust of Cargo.toml.
msrv:
    .ci/run msrv

# Builds with the lowest versions that Cargo.toml allows.
minimal:
    .ci/run minimal

# Every operation of the program on a file fails once, in each way, and each request of a worker.
failures:
    .ci/run failures

# The simulator against what others publish of DynamoDB, and against emulators of SQS and Kinesis.
parity:
    .ci/run parity

# Whole fleets of workers that are killed, frozen and cut off, each from one seed.
fleet:
    .ci/run fleet

# The protocol of workers, broken in one place after the other, which the fleets and the failures have to notice.
mutations:
    .ci/run mutations

# What `emulators` runs, with DynamoDB Local.
dynamodb_local:
    .ci/run dynamodb_local

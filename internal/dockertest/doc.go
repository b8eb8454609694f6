// Package dockertest gives tests the Docker Engines of this machine.
//
// It finds the Engines, decides whether a test without its backend is skipped
// or failed, and runs containers that are removed when the test ends. It does
// not start Engines or make images: scripts/test-env.sh does, and tells this
// package in the environment.
//
// HERMESBOX_TEST_ENGINES lists the Engines, "name=docker-host" separated by
// blanks. Unset, the Engine of DOCKER_HOST, or of the default socket, is the
// only one. HERMESBOX_TEST_BUILDKITD is the address of a buildkitd without an
// Engine. HERMESBOX_TEST_REQUIRE lists, separated by commas, the backends
// whose absence fails a test.
//
// Invariants: nothing that a test made through this package outlives it, and
// nothing else on the Engine is touched.
package dockertest

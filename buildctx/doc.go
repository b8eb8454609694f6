// Package buildctx turns a source tree, a directory or a tar, into a clean, hashed and verifiable build context.
//
// It walks the source once, leaves out macOS litter, machine-local directories and what the ignore file names,
// hashes every file, and accounts for each thing that it left out or found odd in a [Receipt]. It does not write to
// the source, does not stage copies and does not talk to any builder.
//
// Invariants:
//   - Nothing is lost silently: what cannot be carried faithfully is an error that names the path, and what is left
//     out is in the receipt.
//   - The digest depends on names, kinds, executable bits and contents alone, never on the machine, on times or owners.
//   - What [Tree.Open] hands out is byte for byte what was hashed, or the reader ends in a [ChangedError].
package buildctx

// Package redact masks secrets in everything that is printed or logged.
//
// Two rules decide. By name: a value whose name contains KEY, TOKEN, SECRET,
// PASSWORD or CREDENTIAL is not shown ([Named]). By value: what a [Redactor]
// was told of is masked in any text and stream, however it is split: raw,
// URL-encoded, JSON-escaped, quoted for a shell, and in base64, wrapped or
// not, at each of the three alignments that it can have inside a longer text.
// Userinfo in addresses goes as well.
//
// The package finds no other secrets by itself. In base64 of a longer text,
// up to four bits at either end of a secret share a character with their
// neighbours and stay. Compressed, encrypted or hashed forms are not
// recognised, nor is what a program draws on a screen in pieces.
//
// Invariants: a stream is masked as the same text in one piece would be; a
// Stream holds back at most what may be the beginning of a secret, and with
// [Kind.Patience] not for long.
package redact

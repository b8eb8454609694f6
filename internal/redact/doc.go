// Package redact masks secrets in everything that is printed or logged.
//
// Two rules decide. By name: a value whose name contains KEY, TOKEN, SECRET,
// PASSWORD or CREDENTIAL is never shown. By value: every secret that the
// program was given is masked in any text, in the encodings that secrets
// travel in.
//
// The package finds no secrets that it was not told of, apart from the
// userinfo of addresses, and it keeps none on disk.
package redact

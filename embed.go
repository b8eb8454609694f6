// Package hermesbox holds the image recipe of this repository: the embedded Dockerfile.hermes and the files it copies.
// It does nothing else; it exists because an embed cannot reach upwards.
package hermesbox

import "embed"

// Dockerfile is Dockerfile.hermes, the recipe used where no other is given.
//
//go:embed Dockerfile.hermes
var Dockerfile []byte

// Recipe holds the files that Dockerfile.hermes copies, under recipe/. They are sent beside the source as
// .hermesbox/<name>; the recipe relies on no mode bits of theirs.
//
//go:embed recipe/*
var Recipe embed.FS

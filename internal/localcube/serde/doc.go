// Package serde decodes JSON request bodies and words its refusals as CubeAPI
// does: with the texts of serde_json and serde_path_to_error, which name the
// field, the type found and the type wanted, and the line and column.
//
// It decodes into plain values (string, int32, bool, map[string]any, []any) by
// a [Shape]; it does not know Go structs. Bytes after the first JSON value are
// ignored, unknown fields are skipped except where a shape is [Closed], and a
// field given twice is refused, as measured on CubeAPI.
package serde

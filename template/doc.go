// Package template turns an image into a Cube template: it says what is wanted
// (a [Spec]), finds the template that already is it, has Cube make it where
// there is none, watches that, and judges what sandboxes of it may reach.
//
// It sends nothing itself, that is internal/cube's; it builds and pushes no
// image, and it knows no sandbox beyond counting those of a template.
//
// Invariants: a spec is checked before anything is sent; a READY template with
// the same image and spec is used again, never made twice; nothing but
// [Client.Delete] deletes a template.
package template

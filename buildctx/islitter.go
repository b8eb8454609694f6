package buildctx

// IsLitter tells whether a name is one of macOS metadata, anywhere or, where
// root is set, at the root of a tree. Only the content tells a look-alike.
func IsLitter(name string, root bool) bool {
	return mayBeAppleDouble(name) || isLitterName(name, root)
}

package buildctx

// appleAttributes is empty: Linux has no place for com.apple.* attributes.
func appleAttributes(int) []string { return nil }

package cmd

import "github.com/spf13/pflag"

// refuseEmpty refuses those of the flags that were given without a value, as
// "$UNSET" gives them: the default would be a surprise.
func refuseEmpty(flags *pflag.FlagSet, names ...string) error {
	for _, name := range names {
		if f := flags.Lookup(name); f != nil && f.Changed && f.Value.String() == "" {
			return usagef("--%s is empty", name).withHint("give it a value, or leave it away")
		}
	}
	return nil
}

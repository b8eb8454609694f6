package config_test

import (
	"testing"

	"github.com/hermesbox/hermesbox/internal/config"
)

func TestParseCIDR(t *testing.T) {
	t.Parallel()
	tests := []struct{ in, want string }{
		{"10.0.0.0/8", ""},
		{"0.0.0.0/0", ""},
		{"192.168.1.7/32", ""},
		{"10.10.0.1/16", `"10.10.0.1/16" has host bits set: write 10.10.0.0/16`},
		{"10.0.0.5", `"10.0.0.5" has no length: write 10.0.0.5/32`},
		{"010.0.0.0/8", `"010.0.0.0/8" is not written canonically: write 10.0.0.0/8`},
		{"10.0.0.0/08", `"10.0.0.0/08" is not written canonically: write 10.0.0.0/8`},
		{"010.0.0.05", `"010.0.0.05" is not written canonically: write 10.0.0.5/32`},
		{"10.000.0.1/24", `"10.000.0.1/24" is not written canonically: write 10.0.0.0/24`},
		{" 10.0.0.0/8", `" 10.0.0.0/8" is not written canonically: write 10.0.0.0/8`},
		{"::ffff:10.0.0.0/104", `"::ffff:10.0.0.0/104" is IPv4 written as IPv6: write 10.0.0.0/8`},
		{"::ffff:10.0.0.5", `"::ffff:10.0.0.5" has no length: write 10.0.0.5/32`},
		{"::ffff:10.0.0.0/64", `"::ffff:10.0.0.0/64" is IPv6, which sandboxes do not have: write an IPv4 network`},
		{"fd00::/8", `"fd00::/8" is IPv6, which sandboxes do not have: write an IPv4 network`},
		{"fd00::1", `"fd00::1" is IPv6, which sandboxes do not have: write an IPv4 network`},
		{"::/0", `"::/0" is IPv6, which sandboxes do not have: write an IPv4 network`},
		{"10.0.0.0/33", `"10.0.0.0/33" is no network: write an IPv4 network such as 10.0.0.0/16`},
		{"10.0.0/24", `"10.0.0/24" is no network: write an IPv4 network such as 10.0.0.0/16`},
		{"10.0.0.0/-1", `"10.0.0.0/-1" is no network: write an IPv4 network such as 10.0.0.0/16`},
		{"10.0.0.0/", `"10.0.0.0/" is no network: write an IPv4 network such as 10.0.0.0/16`},
		{"10.0.0.0/8/8", `"10.0.0.0/8/8" is no network: write an IPv4 network such as 10.0.0.0/16`},
		{"example.com", `"example.com" is no network: write an IPv4 network such as 10.0.0.0/16`},
		{"any", `"any" is no network: write an IPv4 network such as 10.0.0.0/16`},
		{"", `"" is no network: write an IPv4 network such as 10.0.0.0/16`},
	}
	for _, tt := range tests {
		t.Run(tt.in, func(t *testing.T) {
			t.Parallel()
			p, err := config.ParseCIDR(tt.in)
			if tt.want == "" {
				if err != nil || p.String() != tt.in {
					t.Errorf("ParseCIDR = %v, %v", p, err)
				}
				return
			}
			if err == nil || err.Error() != tt.want {
				t.Errorf("ParseCIDR = %v, %v, want %s", p, err, tt.want)
			}
		})
	}
}

// FuzzParseCIDR checks that what is accepted is in its one canonical form.
func FuzzParseCIDR(f *testing.F) {
	for _, s := range []string{"10.0.0.0/8", "010.0.0.0/8", "::ffff:10.0.0.0/104", "10.0.0.5", "/"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p, err := config.ParseCIDR(s)
		if err == nil && (p.String() != s || !p.Addr().Is4() || p.Masked() != p) {
			t.Errorf("ParseCIDR(%q) = %v", s, p)
		}
	})
}

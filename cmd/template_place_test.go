package cmd

import (
	"net"
	"testing"

	"github.com/hermesbox/hermesbox/internal/config"
	"github.com/hermesbox/hermesbox/template"
)

// TestPlaceOf tells where Cube finds the Engine's images.
func TestPlaceOf(t *testing.T) {
	t.Parallel()
	const socket = "unix:///var/run/docker.sock"
	tests := map[string]struct {
		local                   bool
		builder, master, engine string
		want                    template.Place
	}{
		"local Cube":                  {true, "docker", "", socket, template.LocalCube},
		"local Cube, another builder": {true, "ssh://build@10.0.0.5", "", "ssh://build@10.0.0.5", template.Elsewhere},
		"through CubeAPI":             {false, "docker", "", socket, template.Elsewhere},
		"this machine":                {false, "docker", "127.0.0.1:8089", socket, template.OwnEngine},
		"this machine by name":        {false, "docker", "http://localhost:8089", socket, template.OwnEngine},
		"this machine by address":     {false, "docker", ownAddress(t) + ":8089", socket, template.OwnEngine},
		"another machine":             {false, "docker", "192.0.2.1:8089", socket, template.Elsewhere},
		"another machine's Engine":    {false, "ssh://root@192.0.2.1:22", "192.0.2.1:8089", "ssh://root@192.0.2.1:22", template.OwnEngine},
		"two other machines":          {false, "ssh://root@192.0.2.2", "192.0.2.1:8089", "ssh://root@192.0.2.2", template.Elsewhere},
		"an Engine over TCP":          {false, "docker", "cube.example.com:8089", "tcp://cube.example.com:2376", template.OwnEngine},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := config.Config{Image: config.Image{Builder: tt.builder}, Cube: config.Cube{MasterAddr: tt.master}}
			if got := placeOf(cfg, tt.local, tt.engine); got != tt.want {
				t.Errorf("got %d, want %d", got, tt.want)
			}
		})
	}
}

// ownAddress is an address of this machine that is not a loopback one, if it has any.
func ownAddress(t *testing.T) string {
	t.Helper()
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addresses {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil && !n.IP.IsLoopback() {
			return n.IP.String()
		}
	}
	return "127.0.0.1"
}

package localcube_test

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/hermesbox/hermesbox/internal/dockertest"
)

// onEach are the tests that are run with every Engine, not just the default one.
const onEach = "Outbound|OutboundMerged|OutboundRestarted|OutboundRoot|Names|NamesOfTemplate|ImageStays|ImageKept|ImageSettled|" +
	"Killed|Helper|Proxy|CubeSandboxClient"

// TestEngines runs them again in the network of each other Engine, as the only
// one there: its containers and the ports that it publishes cannot be reached from this one.
func TestEngines(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes minutes")
	}
	first := dockertest.Default(t)
	dockertest.Each(t, func(t *testing.T, engine dockertest.Engine) {
		if engine.Name == first.Name {
			return // by the tests themselves
		}
		nsenter, err := exec.LookPath("nsenter")
		if err != nil {
			dockertest.Missing(t, "root", err)
		}
		cmd := exec.CommandContext(t.Context(), nsenter, "--net="+netnsOf(t, engine), os.Args[0], "-test.run=^Test("+onEach+")$", "-test.v", "-test.count=1")
		cmd.Env = append(os.Environ(), dockertest.EnginesVar+"="+engine.Name+"="+engine.Host, "DOCKER_HOST="+engine.Host)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		verdicts := regexp.MustCompile(`(?m)^--- (PASS|SKIP): Test(\w+)`).FindAllStringSubmatch(string(out), -1)
		if want := strings.Count(onEach, "|") + 1; len(verdicts) != want {
			t.Errorf("%d tests ran, want %d:\n%s", len(verdicts), want, out)
		}
		for _, v := range verdicts {
			t.Log(v[0])
		}
	})
}

package cmd

import (
	"time"

	"github.com/spf13/pflag"

	"github.com/hermesbox/hermesbox/internal/config"
	"github.com/hermesbox/hermesbox/sandbox"
)

// sandboxOptions are the flags that create and rebuild share.
type sandboxOptions struct {
	envOptions
	template  string
	timeout   string
	onTimeout string
	noWebUI   bool
	shareHome bool
	given     func(flag string) bool
}

func (o *sandboxOptions) AddFlags(flags *pflag.FlagSet) {
	o.given = flags.Changed
	o.envOptions.AddFlags(flags)
	flags.StringVar(&o.template, "template", "", "`template` to make it from, an id or a name (default: CUBE_TEMPLATE_ID, else the newest READY one of template.name)")
	flags.StringVar(&o.timeout, "timeout", "", "idle `time` after which --on-timeout happens (default sandbox.timeout)")
	flags.StringVar(&o.onTimeout, "on-timeout", "", "`what` happens to an idle sandbox: pause or kill (default sandbox.on_timeout)")
	flags.BoolVar(&o.noWebUI, "no-web-ui", false, "leave the Web UI to be started by you")
	flags.BoolVar(&o.shareHome, "share-home", false, "allow a home that another sandbox holds; two writers on one SQLite file lose data")
}

func (o *sandboxOptions) overrides() []config.Override {
	return plainOverrides(map[string][2]string{
		"--timeout":    {"sandbox.timeout", o.timeout},
		"--on-timeout": {"sandbox.on_timeout", o.onTimeout},
	})
}

// spec is what flags and configuration say of a sandbox.
func (o *sandboxOptions) spec(app *app, cfg config.Sandbox) (sandbox.Spec, error) {
	env, err := app.overridesOf(cfg.Env, o.envOptions)
	if err != nil {
		return sandbox.Spec{}, err
	}
	return sandbox.Spec{
		Env: env, Timeout: time.Duration(cfg.Timeout), OnTimeout: cfg.OnTimeout, AutoResume: cfg.AutoResume,
		ShareHome: o.shareHome, NoWebUI: o.noWebUI, Chosen: o.chosen(cfg),
	}, nil
}

// chosen is what flags say.
func (o *sandboxOptions) chosen(cfg config.Sandbox) sandbox.Chosen {
	c := sandbox.Chosen{OnTimeout: o.onTimeout}
	if o.timeout != "" {
		c.Timeout = cfg.Timeout.String()
	}
	if o.given("no-web-ui") {
		c.WebUI = sandbox.WebUIYes
		if o.noWebUI {
			c.WebUI = sandbox.WebUINo
		}
	}
	return c
}

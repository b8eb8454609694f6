package cmd

import (
	"strconv"

	"github.com/spf13/pflag"

	"github.com/hermesbox/hermesbox/internal/config"
	"github.com/hermesbox/hermesbox/internal/cube"
	"github.com/hermesbox/hermesbox/template"
)

// templateOptions are the flags that say what a template is; those of
// cubemastercli keep its spelling.
type templateOptions struct {
	name      string
	internet  bool
	allow     []string
	deny      []string
	ports     []string
	probe     int
	probePath string
	cpu       string
	memory    string
	size      string
	nodes     []string
	cmd       []string
	args      []string
	dns       []string

	flags *pflag.FlagSet
}

// The ports of the image that hermesbox builds: its Web UI, and the command
// service of the sandbox base, which answers once the sandbox is up.
const (
	webUIPort   = 9000
	commandPort = 49983
)

// AddFlags declares the flags.
func (o *templateOptions) AddFlags(flags *pflag.FlagSet) {
	o.addEgress(flags)
	flags.StringVar(&o.name, "name", "", "`name` of the template (default template.name)")
	flags.StringArrayVar(&o.ports, "expose-port", []string{strconv.Itoa(webUIPort), strconv.Itoa(commandPort)}, "`port` that is reached from outside (repeatable)")
	flags.IntVar(&o.probe, "probe", commandPort, "`port` that must answer before the template is READY; 0 probes nothing")
	flags.StringVar(&o.probePath, "probe-path", "/health", "`path` that the probe asks for")
	flags.StringVar(&o.cpu, "cpu", "", "thousandths of a core (default template.cpu)")
	flags.StringVar(&o.memory, "memory", "", "MiB (default template.memory)")
	flags.StringVar(&o.size, "writable-layer-size", "", "`size` of what a sandbox may write, such as 20Gi (default template.writable_layer_size)")
	flags.StringArrayVar(&o.nodes, "node", nil, "`node` that gets the template, an id or an address (repeatable; default all)")
	flags.StringArrayVar(&o.cmd, "cmd", nil, "`word` of the entrypoint in place of the image's (repeatable)")
	flags.StringArrayVar(&o.args, "arg", nil, "`word` of the command in place of the image's (repeatable)")
}

// addEgress declares what lint knows too.
func (o *templateOptions) addEgress(flags *pflag.FlagSet) {
	flags.BoolVar(&o.internet, "allow-internet-access", true, "open the public internet; never the LAN")
	flags.StringArrayVar(&o.allow, "allow-out-cidr", nil, "`network` that is open, whatever is denied (repeatable)")
	flags.StringArrayVar(&o.deny, "deny-out-cidr", nil, "`network` that is closed where it is not allowed (repeatable)")
	flags.StringArrayVar(&o.dns, "dns", nil, "`address` of a resolver (repeatable)")
	o.flags = flags
}

// overrides are the flags that stand for configuration keys.
func (o *templateOptions) overrides() []config.Override {
	set := plainOverrides(map[string][2]string{
		"--name":                {"template.name", o.name},
		"--cpu":                 {"template.cpu", o.cpu},
		"--memory":              {"template.memory", o.memory},
		"--writable-layer-size": {"template.writable_layer_size", o.size},
	})
	if o.flags.Changed("allow-internet-access") {
		set = append(set, config.Override{Key: "template.egress.internet", Value: strconv.FormatBool(o.internet), Flag: "--allow-internet-access"})
	}
	for _, list := range []config.Override{
		{Key: "template.egress.allow", Values: o.allow, Flag: "--allow-out-cidr"},
		{Key: "template.egress.deny", Values: o.deny, Flag: "--deny-out-cidr"},
		{Key: "template.nodes", Values: o.nodes, Flag: "--node"},
		{Key: "template.dns", Values: o.dns, Flag: "--dns"},
	} {
		if len(list.Values) > 0 {
			set = append(set, list)
		}
	}
	return set
}

// spec is the template that is wanted, but for its image.
func (o *templateOptions) spec(loaded *config.Loaded) (template.Spec, error) {
	cfg := loaded.Config.Template
	if err := refuseEmpty(o.flags, "name", "cpu", "memory", "writable-layer-size"); err != nil {
		return template.Spec{}, err
	}
	egress, err := egressOf(loaded)
	if err != nil {
		return template.Spec{}, err
	}
	s := template.Spec{
		Name: cfg.Name, Egress: egress, CPU: cfg.CPU, Memory: cfg.Memory, WritableLayerSize: cfg.WritableLayerSize,
		Nodes: cfg.Nodes, DNS: cfg.DNS, Command: o.cmd, Args: o.args,
	}
	for _, text := range o.ports {
		port, err := strconv.Atoi(text)
		if err != nil {
			return s, usagef("--expose-port %q is no port", text).withHint("write one number, and the flag again for another port")
		}
		s.Ports = append(s.Ports, port)
	}
	if o.probe != 0 {
		s.Probe = &cube.Probe{Port: o.probe, Path: o.probePath}
	}
	return s, nil
}

// egressOf is the outbound policy of the configuration. The switch goes to
// Cube only where somebody set it.
func egressOf(loaded *config.Loaded) (e template.Egress, err error) {
	cfg := loaded.Config.Template.Egress
	if loaded.Origin["template.egress.internet"] != "default" {
		e.Switch = &cfg.Internet
	}
	if e.Allow, err = template.ParseNetworks(cfg.Allow); err != nil {
		return e, usagef("template.egress.allow: %w", err)
	}
	if e.Deny, err = template.ParseNetworks(cfg.Deny); err != nil {
		return e, usagef("template.egress.deny: %w", err)
	}
	return e, nil
}

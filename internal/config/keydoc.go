package config

// keyDoc says about a key what its type does not.
type keyDoc struct {
	text string
	// pattern and values are for editors; check has the last word.
	pattern string
	values  []string
}

// keyDocs describes every key, entries of nodes as "nodes.name". The schema
// and the reference are made from it.
func keyDocs() map[string]keyDoc {
	return map[string]keyDoc{
		"source":                       {text: "Hermes Agent checkout."},
		"context":                      {text: "What of the source is sent to the builder."},
		"context.keep":                 {text: "Paths to send although a built-in rule leaves them out, such as look-alikes of macOS metadata, .git or .venv."},
		"context.exclude":              {text: "Ignore patterns, applied after those of the ignore file."},
		"image":                        {text: "The image that is built."},
		"image.name":                   {text: "Repository to tag and push.", pattern: reference.String()},
		"image.base":                   {text: "Image that the Dockerfile's ARG BASE receives."},
		"image.dockerfile":             {text: "Recipe to build by; empty is the embedded one."},
		"image.platform":               {text: "Platform of the image, os/arch.", pattern: platform.String()},
		"image.builder":                {text: "Who builds: docker, a remote Engine as ssh://[user@]host[:port], or a buildkitd as tcp://host:port or unix:///path, which needs image.push."},
		"image.push":                   {text: "Push the image after the build."},
		"image.build_args":             {text: "Build arguments by name."},
		"image.ca_bundle":              {text: "PEM bundle of a TLS-inspecting proxy, given to the build as a secret and never put into the image."},
		"image.hermes_extras":          {text: "Extras that Hermes Agent is installed with."},
		"image.web_ui":                 {text: "The hermes-web-ui package."},
		"image.web_ui.version":         {text: "Version to install.", pattern: version.String()},
		"image.web_ui.package":         {text: "Local tarball to install instead of the npm registry's package."},
		"cube":                         {text: "How Cube is reached."},
		"cube.engine":                  {text: "local for the embedded Cube, empty for a cluster.", values: []string{"", "local"}},
		"cube.api_url":                 {text: "Address of CubeAPI, http or https, without user and password."},
		"cube.master_addr":             {text: "Address of CubeMaster, host:port or http://host:port; empty registers templates through CubeAPI."},
		"cube.domain":                  {text: "Domain that sandbox host names end in; empty takes the one that CubeAPI names."},
		"cube.version":                 {text: "Version of the cluster; empty asks it.", pattern: "^$|" + cubeVersion.String()},
		"cube.ca_file":                 {text: "PEM bundle to trust besides the system's."},
		"cube.proxy":                   {text: "Where sandboxes are reached when their host names do not resolve."},
		"cube.proxy.ip":                {text: "Address of the node that runs CubeProxy; empty resolves the sandbox's host name."},
		"cube.proxy.port":              {text: "Port of CubeProxy; 0 is the scheme's own."},
		"cube.proxy.scheme":            {text: "Scheme of CubeProxy; empty is https at port 443, else http.", values: []string{"", "http", "https"}},
		"template":                     {text: "The template that the image is registered as."},
		"template.name":                {text: "Name of the template.", pattern: alias.String()},
		"template.cpu":                 {text: "Thousandths of a core."},
		"template.memory":              {text: "Memory in MiB."},
		"template.writable_layer_size": {text: "Size of the writable layer, a Kubernetes quantity.", pattern: quantity.String()},
		"template.nodes":               {text: "Nodes that get the template; none means all."},
		"template.dns":                 {text: "Addresses of the resolvers inside the sandbox; none means the node's default."},
		"template.egress":              {text: "What a sandbox may reach."},
		"template.egress.internet":     {text: "Reach public addresses. This opens no private network."},
		"template.egress.allow":        {text: "IPv4 networks to reach, in canonical CIDR form."},
		"template.egress.deny":         {text: "IPv4 networks not to reach, in canonical CIDR form; allow wins over it."},
		"nodes":                        {text: "Nodes whose directories are mounted. None means no access: the directories must exist."},
		"nodes.name":                   {text: "Name for messages and arguments.", pattern: nodeName.String()},
		"nodes.ssh":                    {text: "[user@]host[:port].", pattern: sshHost.String()},
		"nodes.become":                 {text: "Prefix of commands that need root, such as sudo -n."},
		"shared_root":                  {text: "Directory on the nodes that homes, workspaces and skills lie in.", pattern: "^/."},
		"sandbox":                      {text: "What a new sandbox gets."},
		"sandbox.home":                 {text: "Id of the home.", pattern: "^$|" + id.String()},
		"sandbox.workspace":            {text: "Id of the workspace.", pattern: "^$|" + id.String()},
		"sandbox.timeout":              {text: "Idle time, in whole seconds, after which on_timeout happens."},
		"sandbox.on_timeout":           {text: "What happens to an idle sandbox.", values: []string{"pause", "kill"}},
		"sandbox.auto_resume":          {text: "Resume a paused sandbox on access."},
		"sandbox.env":                  {text: "Environment variables by name. Values of names that look like a secret's are never shown."},
		"sandbox.model_endpoints":      {text: "Addresses of model servers that verify tries to reach, http or https."},
		"skills":                       {text: "Public skills."},
		"skills.source":                {text: "Directory of the skills to deploy."},
	}
}

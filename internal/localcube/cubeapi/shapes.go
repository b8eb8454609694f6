package cubeapi

import "github.com/hermesbox/hermesbox/internal/localcube/serde"

// anything is a body of which nothing is read.
var anything = serde.Struct("Body")

var networkFields = []serde.Field{
	serde.Optional(serde.Bool(), "allowPublicTraffic"),
	serde.Optional(serde.Seq(serde.String()), "allowOut", "allow_out"),
	serde.Optional(serde.Seq(serde.String()), "denyOut", "deny_out"),
	serde.Optional(serde.String(), "maskRequestHost"),
	serde.Optional(serde.Any(), "rules"),
}

var newSandbox = serde.Struct("NewSandbox",
	serde.Required(serde.String(), "templateID"),
	serde.Field{Names: []string{"timeout"}, Shape: serde.I32()},
	serde.Optional(serde.Struct("SandboxLifecycle",
		serde.Optional(serde.String(), "onTimeout", "on_timeout"), serde.Optional(serde.Bool(), "autoResume", "auto_resume")), "lifecycle"),
	serde.Optional(serde.Bool(), "autoPause", "auto_pause"),
	serde.Optional(serde.Either(serde.Bool(), serde.Struct("SandboxAutoResumeConfig", serde.Required(serde.Bool(), "enabled"))), "autoResume", "auto_resume"),
	serde.Optional(serde.Bool(), "secure"),
	serde.Optional(serde.Bool(), "allow_internet_access"),
	serde.Optional(serde.Struct("SandboxNetworkConfig", networkFields...), "network"),
	serde.Optional(serde.Map(serde.String()), "metadata"),
	serde.Optional(serde.Map(serde.String()), "envVars"),
	serde.Optional(serde.Map(serde.String()), "envs"),
	serde.Optional(serde.Seq(serde.String()), "distributionScope", "distribution_scope"),
	serde.Optional(serde.Seq(serde.Struct("VolumeMount",
		serde.Required(serde.String(), "name"), serde.Required(serde.String(), "path"), serde.Optional(serde.Bool(), "readOnly"))), "volumeMounts"),
	serde.Optional(serde.Any(), "mcp"),
	serde.Optional(serde.String(), "backend"),
)

var resumeBody = serde.Struct("ResumeSandbox", serde.Optional(serde.I32(), "timeout"), serde.Optional(serde.Bool(), "autoPause"))

// connectBody: the timeout may be left out since 0.5.
var connectBody = serde.Struct("ConnectSandbox", serde.Field{Names: []string{"timeout"}, Shape: serde.I32()})

var timeoutBody = serde.Struct("SandboxTimeout", serde.Required(serde.I32(), "timeout"))

var refreshBody = serde.Struct("SandboxRefresh", serde.Optional(serde.I32(), "duration"))

// networkBody has both spellings of each name, since E2B's client mixes them, and
// no other names: a policy that was misspelt must not pass for one that closes
// nothing.
var networkBody = serde.Closed(serde.Struct("SandboxNetworkUpdate",
	serde.Optional(serde.Bool(), "allowInternetAccess", "allow_internet_access"),
	serde.Optional(serde.Bool(), "allowPublicTraffic", "allow_public_traffic"),
	serde.Optional(serde.Seq(serde.String()), "allowOut", "allow_out"),
	serde.Optional(serde.Seq(serde.String()), "denyOut", "deny_out"),
	serde.Optional(serde.String(), "maskRequestHost", "mask_request_host"),
	serde.Optional(serde.Any(), "rules"),
))

var aliasBody = serde.Struct("TemplateAlias", serde.Optional(serde.String(), "alias"))

// newTemplate has four fields under the later and the earlier name; a client that does not know the version sends both.
var newTemplate = serde.Struct("NewTemplate",
	serde.Optional(serde.String(), "templateID"),
	serde.Required(serde.String(), "image"),
	serde.Optional(serde.String(), "name"), serde.Optional(serde.String(), "alias"),
	serde.Optional(serde.String(), "instanceType"), serde.Optional(serde.String(), "instance_type"),
	serde.Optional(serde.String(), "networkType"), serde.Optional(serde.String(), "network_type"),
	serde.Optional(serde.String(), "writableLayerSize"), serde.Optional(serde.String(), "writable_layer_size"),
	serde.Optional(serde.Seq(serde.I32()), "exposedPorts"), serde.Optional(serde.Seq(serde.I32()), "exposed_ports"),
	serde.Optional(serde.I32(), "probePort"), serde.Optional(serde.String(), "probePath"),
	serde.Optional(serde.I32(), "cpu"), serde.Optional(serde.I32(), "memory"),
	serde.Optional(serde.Seq(serde.String()), "env"), serde.Optional(serde.Seq(serde.String()), "command"),
	serde.Optional(serde.Seq(serde.String()), "args"), serde.Optional(serde.Seq(serde.String()), "dns"),
	serde.Optional(serde.Bool(), "allowInternetAccess"),
	serde.Optional(serde.Seq(serde.String()), "allowOut"), serde.Optional(serde.Seq(serde.String()), "denyOut"),
	serde.Optional(serde.Seq(serde.String()), "nodes"),
	serde.Optional(serde.String(), "registryUsername"), serde.Optional(serde.String(), "registryPassword"),
)

var redoBody = serde.Struct("RebuildTemplate",
	serde.Optional(serde.Seq(serde.String()), "nodes", "distribution_scope"), serde.Optional(serde.Bool(), "failedOnly", "failed_only"))
